package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
)

// TestPagesAfterAForm checks that the page after a form shows the change, even from a server whose standby lags.
func TestPagesAfterAForm(t *testing.T) {
	t.Parallel()
	dsn, standby := pgtest.Replicated(t)
	with := func(c *config.Config) { c.ReadURL = standby.DSN() }
	s := apitest.On(t, dsn, clock.NewManual(apitest.Start), with)
	owner := newSiteOf(s, s.Program())
	second := apitest.On(t, dsn, s.Clock, with)
	for _, one := range []*apitest.Server{s, second} {
		wait.Until(t, func() bool {
			one.Must(200, one.Get("/v1/programs"))
			return strings.Contains(one.Log(), "standby=true")
		})
	}
	standby.Pause()
	p := owner.owner
	answer := p.Must(303, p.send("/groups", "name", "Late arrivals"))
	session := cookieName + "=" + p.token
	page := func(cookies string) string {
		return string(second.Must(200, second.Do("GET", owner.at+"/groups", "", nil, "Cookie", cookies)).Raw)
	}
	require.NotContains(t, page(session), "Late arrivals", "at the standby")
	for _, c := range (&http.Response{Header: answer.Header}).Cookies() {
		if c.Name == "__Host-rail_console_position" {
			require.Contains(t, page(session+"; "+c.Name+"="+c.Value), "Late arrivals")
			require.NotContains(t, page(session+"; "+c.Name+"=junk"), "Late arrivals", "what is no position is not sent on")
			return
		}
	}
	t.Fatal("no position")
}
