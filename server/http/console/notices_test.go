package console_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/wait"
	"rail/server/team"
)

// TestNotices checks that Home shows problems of the service, and the operator's problems only to owners.
func TestNotices(t *testing.T) {
	t.Parallel()
	server := apitest.New(t, func(c *config.Config) {
		c.DataDir = filepath.Join(c.DataDir, "missing") // a server without a data folder reports no full disk of the machine
	})
	s := newSiteOf(server, server.Program())
	viewer := s.person(s.Org, team.Viewer)
	require.NotContains(t, s.owner.page(s.at), "Problems with the service")
	now := s.Clock.Now()
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, attempts, next_attempt_at, created_at)
		VALUES ('mail_1', $1, 'x', 'x', 'a@b.example', '', '', 'queued', 2, $2, $3)`, s.Org, now.Plus(time.Hour), now.Plus(-25*time.Minute))
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), "UPDATE organizations SET created_at = $1", now.Plus(-72*time.Hour))
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), "INSERT INTO audit_mark (audited_at, whole_at, after_id) VALUES ($1, $1, 0)", now.Plus(-50*time.Hour))
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), `INSERT INTO payout_rails (id, org_id, program_id, kind, livemode, status, methods, credentials,
			last_error, without_funds_at, url, created_at, updated_at)
		SELECT 'prl_' || kind, $1, $2, kind, true, 'active', '{paypal}', '', 'x', poor::timestamptz, url, $3::timestamptz, $4
		FROM (VALUES ('paypal', NULL, NULL), ('webhook', '2026-08-01', 'https://pay.example')) v (kind, poor, url)`,
		s.Org, s.program, now.Plus(-time.Hour), now)
	require.NoError(t, err)
	wait.Until(t, func() bool { // the state is cached for five seconds
		return strings.Contains(s.owner.page(s.at), "The mail server has accepted no mail for 25 minutes; emails are waiting.")
	})
	seen := s.owner.page(s.at)
	require.Contains(t, seen, "There is no backup yet: run rail backup.")
	require.Contains(t, seen, "The last audit without findings was 2 days ago.")
	require.Contains(t, seen, "PayPal fails: payouts wait until it works again")
	require.Contains(t, seen, "The webhook for payouts lacks funds: payouts wait until you add some")
	require.Contains(t, seen, s.at+"/payouts/rails")
	seen = viewer.page(s.at)
	require.NotContains(t, seen, "PayPal fails")
	require.Contains(t, seen, "The mail server has accepted no mail")
	require.NotContains(t, seen, "backup")
	_, err = s.Pool.Exec(t.Context(), "INSERT INTO organizations (id, name, created_at) VALUES ('org_other', 'Other', now())")
	require.NoError(t, err)
	require.NotContains(t, s.owner.page(s.at), "backup", "with several organizations the operator is somebody else")
}
