package console_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

// TestDecisionsUndone: the mails about decisions in the console wait for ten minutes, and the notice undoes the
// decisions: no applicant gets a mail. A decision over the API is mailed at once.
func TestDecisionsUndone(t *testing.T) {
	t.Parallel()
	base := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	s := newSiteOf(base, base.Program())
	applied := func(email string) apitest.Answer { return s.Must(201, apitest.Apply(s.Server, s.program, email)) }
	mails := func() (n int, wait time.Duration) {
		var at *time.Time
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*), min(next_attempt_at) FROM mails
			WHERE purpose IN ('application_approved', 'application_rejected')`).Scan(&n, &at))
		if at != nil {
			wait = at.Sub(s.Clock.Now().Time)
		}
		return n, wait
	}
	ada, bob := applied("ada@example.com"), applied("bob@example.com")
	for _, do := range []string{"approve", "reject", "approve"} {
		answer := s.owner.send("/applications", "do", do, "id", ada.String("id"), "id", bob.String("id"))
		require.Contains(t, s.owner.done(answer), "The emails wait for 10 minutes.")
		n, wait := mails()
		require.Equal(t, 2, n)
		require.Equal(t, 10*time.Minute, wait)
		path, fields := s.owner.undoing(answer)
		require.Equal(t, "2 applications wait for a decision again.", s.owner.done(s.owner.send(path, fields...)))
		n, _ = mails()
		require.Zero(t, n)
		for _, a := range []apitest.Answer{ada, bob} {
			require.Equal(t, "pending", s.Get("/v1/applications/"+a.String("id")).String("status"))
			require.Equal(t, "pending", s.Get("/v1/partners/"+a.String("partner_id")).String("status"))
		}
	}
	answer := s.owner.send("/applications", "do", "approve", "id", ada.String("id"))
	path, fields := s.owner.undoing(answer)
	s.Clock.Advance(11 * time.Minute)
	require.Equal(t, "0 applications wait for a decision again. 1 was refused: The application was decided more than 10 minutes ago.",
		s.owner.done(s.owner.send(path, fields...)))
	s.Must(200, s.Post("/v1/applications/"+bob.String("id")+"/approve", nil))
	var wait time.Duration
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT next_attempt_at - created_at FROM mails
		WHERE purpose = 'application_approved' AND recipient = 'bob@example.com'`).Scan(&wait))
	require.Zero(t, wait)
}

// TestUndoStaysWithinTheConsole: a cookie from another site of the domain makes no form that leads elsewhere, which
// would send the form's token there.
func TestUndoStaysWithinTheConsole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for path, shown := range map[string]bool{
		"/console/p/x/payouts/unmark": true, "https://evil.example/console/": false, "//evil.example/console/": false,
		"/elsewhere": false, "javascript:alert(1)": false,
	} {
		cookie := "__Host-rail_console_flash=" + base64.RawURLEncoding.EncodeToString([]byte("Done.\x00"+path+"\x00id=1"))
		page := string(s.Must(200, s.Do("GET", s.at+"/payouts", "", nil, "Cookie", cookieName+"="+s.owner.token+"; "+cookie)).Raw)
		require.Contains(t, page, "Done.")
		require.Equal(t, shown, strings.Contains(page, "Undo</button>"), path)
		require.NotContains(t, page, "evil.example")
	}
}
