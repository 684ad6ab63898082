package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/outbound/mail"
)

// TestOwnerIsNotified: the owner of an account gets a mail for each time that an endpoint is disabled; an
// account without an owner causes none.
func TestOwnerIsNotified(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(),
		"INSERT INTO organizations (id, name, owner_email, created_at) VALUES ('org_1', 'A', 'owner@example.com', now()), ('org_2', 'B', NULL, now())")
	require.NoError(t, err)
	c := clock.NewManual(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))
	notify := notifyOwner(&mail.Outbox{Configured: true}, c)
	for range 2 {
		require.NoError(t, notify(t.Context(), pool, db.WebhookEndpoint{
			ID: "whe_1", OrgID: "org_1", URL: "https://x.example", UpdatedAt: c.Now(),
		}))
	}
	require.NoError(t, notify(t.Context(), pool, db.WebhookEndpoint{ID: "whe_2", OrgID: "org_2", UpdatedAt: c.Now()}))
	c.Advance(time.Hour)
	require.NoError(t, notify(t.Context(), pool, db.WebhookEndpoint{
		ID: "whe_1", OrgID: "org_1", URL: "https://x.example", UpdatedAt: c.Now(),
	}))
	var n int
	var to string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*), min(recipient) FROM mails").Scan(&n, &to))
	require.Equal(t, []any{2, "owner@example.com"}, []any{n, to})
}
