package handlers_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
)

// TestEveryReadAtAStandby: a standby answers each GET of the description as the primary does.
func TestEveryReadAtAStandby(t *testing.T) {
	t.Parallel()
	dsn, standby := pgtest.Replicated(t)
	s := apitest.On(t, dsn, clock.NewManual(apitest.Start))
	own := populate(s, "here")
	reader := apitest.On(t, dsn, s.Clock, func(c *config.Config) { c.ReadURL = standby.DSN() })
	standby.CatchUp()
	wait.Until(t, func() bool {
		reader.Must(200, reader.Do("GET", "/v1/programs", s.Key, nil))
		return strings.Contains(reader.Log(), "standby=true")
	})
	for _, o := range operations() {
		if o.method != "GET" || !strings.HasPrefix(o.path, "/v1/") || o.id == "retrieveOpenAPIDocument" ||
			o.id == "followEvents" || o.id == "retrieveTestClock" { // it queries the primary; there is no clock
			continue
		}
		t.Run(o.id, func(t *testing.T) {
			url := o.url(own[o.prefix()]) + "?program_id=" + own["prg_"] + o.window()
			want, line := s.Get(url), regexp.MustCompile(`.*operation=`+o.id+" .*")
			require.Equal(t, 200, want.Status, "%s %s", url, want.Raw)
			wait.Until(t, func() bool { // replication may lag behind the first calls
				require.Equal(t, string(want.Raw), string(reader.Do("GET", url, s.Key, nil).Raw))
				lines := line.FindAllString(reader.Log(), -1)
				return strings.Contains(lines[len(lines)-1], "standby=true")
			}, "the standby is asked")
		})
	}
}
