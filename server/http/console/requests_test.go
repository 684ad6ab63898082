package console_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requestsOf returns the log lines of the API requests that a page makes.
func (p *person) requestsOf(path string) (lines []string) {
	p.T.Helper()
	before := p.Log()
	p.page(path)
	for line := range strings.Lines(strings.TrimPrefix(p.Log(), before)) {
		if strings.Contains(line, "via=console") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestRequestsOfPages counts the API requests of a page, which the log marks and names the person in.
func TestRequestsOfPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	flow := s.Flow(s.program)
	partner := s.Partner(s.program)
	for path, want := range map[string]int{
		"/setup": 2, "/payouts": 4, "": 2, "?days=30": 6, "/partners": 5, "/reports": 5, "/rules": 2, "/rules/" + flow: 5,
		"/partners/" + partner: 7,
	} {
		lines := s.owner.requestsOf(path)
		require.Len(t, lines, want, "%s:\n%s", path, strings.Join(lines, ""))
		for _, line := range lines {
			require.Contains(t, line, " user="+s.owner.ID+" org="+s.Org)
			require.NotContains(t, line, " key=")
		}
	}
	log := s.Log()
	s.Must(200, s.Get("/v1/programs"))
	require.NotContains(t, strings.TrimPrefix(s.Log(), log), "via=", "a request from outside")
}
