package backlog

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/ident"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// filled returns a database with a waiting row of each kind.
func filled(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	for _, sql := range []string{
		`INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'Acme', '2026-01-01')`,
		`INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, next_attempt_at, created_at)
		SELECT 'mail_' || n, 'org_1', 'x', n, 'a@b.example', '', '', 'queued', '2026-09-01T11:00:00Z'::timestamptz
			+ n * interval '30 minutes', '2026-09-01' FROM generate_series(1, 4) n`,
		`INSERT INTO tallies (org_id, program_id, list, owner_id, status, kind, total) SELECT 'org_1', id, 'payouts', o, 'paid',
			'', 7 FROM programs, unnest(ARRAY['', 'part_1']) o`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	return pool
}

func TestRead(t *testing.T) {
	t.Parallel()
	pool := filled(t)
	r := NewReader(pool, clock.NewManual(noon))
	s, err := r.Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, s.Mails)
	require.InDelta(t, 1800, s.MailsDue, 0, "the first is due since 11:30; two are not due yet")
	require.Zero(t, s.Deliveries)
	require.Positive(t, s.Bytes)

	_, err = pool.Exec(t.Context(), "DELETE FROM mails")
	require.NoError(t, err)
	again, err := r.Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, again.Mails, "those who ask at once get one answer")
	r.at = r.at.Add(-cacheTTL - time.Second)
	s, err = r.Read(t.Context())
	require.NoError(t, err)
	require.Zero(t, s.Mails)
}

// TestFailing: the mail server counts as failing from the first failed mail until a success; an endpoint alike.
func TestFailing(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	exec := func(sql string) {
		t.Helper()
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	state := func() State {
		t.Helper()
		s, err := NewReader(pool, clock.NewManual(noon)).Read(t.Context())
		require.NoError(t, err)
		return s
	}
	mail := `INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, attempts, next_attempt_at, sent_at, created_at)
		VALUES ('mail_%[1]s', 'org_1', 'x', '%[1]s', 'a@b.example', '', '', `
	add := func(id, rest string) { exec(fmt.Sprintf(mail, id) + rest + ")") }
	exec(`INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'Acme', '2026-01-01')`)
	add("0", `'sent', 1, NULL, '2026-09-01T11:00:00Z', '2026-09-01T11:00:00Z'`)
	add("1", `'queued', 0, '2026-09-01T12:01:00Z', NULL, '2026-09-01T11:10:00Z'`)
	require.Zero(t, state().MailFailing, "nothing was tried yet")
	add("2", `'queued', 2, '2026-09-01T13:00:00Z', NULL, '2026-09-01T11:30:00Z'`)
	add("3", `'queued', 1, '2026-09-01T13:00:00Z', NULL, '2026-09-01T11:40:00Z'`)
	require.InDelta(t, 1800, state().MailFailing, 0)
	add("4", `'sent', 1, NULL, '2026-09-01T11:45:00Z', '2026-09-01T11:00:00Z'`)
	require.Zero(t, state().MailFailing, "a mailbox is full, and the server works")

	exec(`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params,
		commission_on_net_revenue, holding_period_days, min_payout_minor, payout_term, payout_methods, block_self_referrals,
		blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
		VALUES ('prg_1', 'org_1', 'P', 'P', 'https://p.example', 'USD', 'active', 'p', 30, '{ref}', false, 30, 0, 'net_30',
		'{}', true, '{}', false, false, now(), now())`)
	for _, e := range []string{"we_1", "we_2", "we_3"} {
		exec(`INSERT INTO webhook_endpoints (id, org_id, program_id, url, event_types, enabled, secret, counted_since, created_at, updated_at)
			VALUES ('` + e + `', 'org_1', 'prg_1', 'https://x.example', '{}', true, '', now(), now(), now())`)
	}
	delivery := func(id, endpoint, status, created, next, finished string) {
		t.Helper()
		_, err := pool.Exec(t.Context(), `INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type,
			event_seq, status, attempts, next_attempt_at, finished_at, created_at)
			VALUES ($1, 'org_1', 'prg_1', $2, 'evt_1', 'x', 1, $3, 1, nullif($4, '')::timestamptz, nullif($5, '')::timestamptz, $6::text::timestamptz)`,
			ident.New(ident.Delivery)+id, endpoint, status, next, finished, created)
		require.NoError(t, err)
	}
	later := "2026-09-01T13:00:00Z"
	delivery("1", "we_1", "retrying", "2026-09-01T11:50:00Z", later, "")
	delivery("2", "we_1", "retrying", "2026-09-01T11:40:00Z", later, "")
	delivery("3", "we_1", "delivered", "2026-09-01T11:00:00Z", "", "2026-09-01T11:00:00Z")
	delivery("4", "we_2", "retrying", "2026-09-01T11:00:00Z", later, "")
	delivery("5", "we_2", "delivered", "2026-09-01T11:30:00Z", "", "2026-09-01T11:30:00Z")
	delivery("6", "we_3", "pending", "2026-09-01T10:00:00Z", later, "")
	s := state()
	require.EqualValues(t, 1, s.EndpointsFailing, "one takes some, one was not tried")
	require.InDelta(t, 1200, s.EndpointFailing, 0)
	n, err := db.New().WebhookEndpointsFailing(t.Context(), pool, db.WebhookEndpointsFailingParams{
		ProgramID: "prg_1", OrgID: "org_1", Before: clock.At(noon.Add(-10 * time.Minute)),
	})
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	n, err = db.New().WebhookEndpointsFailing(t.Context(), pool, db.WebhookEndpointsFailingParams{
		ProgramID: "prg_1", OrgID: "org_2", Before: clock.At(noon),
	})
	require.NoError(t, err)
	require.Zero(t, n, "another organization's")

	require.Zero(t, s.BackupAt)
	require.NoError(t, db.New().BackupSave(t.Context(), pool, clock.At(noon)))
	require.NoError(t, db.New().BackupSave(t.Context(), pool, clock.At(noon.Add(-time.Hour))))
	require.InDelta(t, noon.Unix(), state().BackupAt, 0, "the last one")
}

// TestRails: rails that fail or lack funds are counted, and the age of the oldest payout that its rail has without an
// end or an attention.
func TestRails(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for _, sql := range []string{
		`INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'Acme', '2026-01-01')`,
		`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params,
			commission_on_net_revenue, holding_period_days, min_payout_minor, payout_term, payout_methods, block_self_referrals,
			blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
			VALUES ('prg_1', 'org_1', 'P', 'P', 'https://p.example', 'USD', 'active', 'p', 30, '{ref}', false, 30, 0, 'net_30',
			'{}', true, '{}', false, false, now(), now())`,
		`INSERT INTO payout_rails (id, org_id, program_id, kind, livemode, status, methods, credentials, last_error,
			without_funds_at, last_success_at, created_at, updated_at)
			SELECT id, 'org_1', 'prg_1', 'paypal', live, status, '{paypal}', '', error, poor::timestamptz,
				success::timestamptz, '2026-08-01', called::timestamptz
			FROM (VALUES ('prl_fails', true, 'active', '500', NULL, '2026-09-01T11:00:00Z', '2026-09-01T11:59:00Z'),
				('prl_gone', true, 'disconnected', '500', NULL, NULL, '2026-09-01T11:59:00Z'),
				('prl_stumbles', true, 'disconnected', '500', NULL, '2026-09-01T11:55:00Z', '2026-09-01T11:59:00Z'),
				('prl_quiet', true, 'disconnected', '500', NULL, '2026-08-01T11:00:00Z', '2026-08-03T11:59:00Z'),
				('prl_good', true, 'disconnected', NULL, NULL, '2026-08-01T11:00:00Z', '2026-09-01T11:59:00Z'),
				('prl_test', false, 'active', '500', NULL, NULL, '2026-09-01T11:59:00Z'),
				('prl_left', true, 'disconnected', 'poor', '2026-09-01T10:00:00Z', NULL, '2026-09-01T11:59:00Z')
			) v (id, live, status, error, poor, success, called)`,
		`INSERT INTO partners (id, org_id, program_id, email, handle, status, created_at, updated_at)
			SELECT 'part_' || n, 'org_1', 'prg_1', n || '@b.example', 'p-' || n, 'active', now(), now() FROM generate_series(1, 4) n`,
		`INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at)
			VALUES ('batch_1', 'org_1', 'prg_1', '2026-08-01', now(), now(), now())`,
		`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, period_month,
			period_end, due_at, rail, rail_id, submitted_at, attention, attention_text, attention_at, created_at, updated_at)
			SELECT 'pyt_' || n, 'org_1', 'prg_1', 'part_' || n, 'batch_1', 5, 'USD', 'processing', '2026-08-01', now(), now(),
				rail, 'prl_fails', at::timestamptz, attention, attention, CASE WHEN attention <> '' THEN now() END, now(), now()
			FROM (VALUES (1, 'paypal', '2026-09-01T11:00:00Z', NULL), (2, 'paypal', '2026-09-01T10:00:00Z', 'unclaimed'),
				(3, 'file', '2026-09-01T09:00:00Z', NULL), (4, 'paypal', NULL, 'needs_funds')) v (n, rail, at, attention)`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	s, err := NewReader(pool, clock.NewManual(noon)).Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, db.PayoutRailStateRow{Oldest: 3600, Failing: 2}, s.Rails)
	require.EqualValues(t, 1, s.Attention["unclaimed"])
	require.EqualValues(t, 1, s.Attention["needs_funds"])
	require.Contains(t, s.Attention, "reversed")
	_, err = pool.Exec(t.Context(), "UPDATE payout_rails SET without_funds_at = updated_at WHERE id = 'prl_fails'")
	require.NoError(t, err)
	s, err = NewReader(pool, clock.NewManual(noon)).Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, db.PayoutRailStateRow{Oldest: 3600, Failing: 1, Poor: 1}, s.Rails)
	troubled, err := db.New().PayoutRailsFailing(t.Context(), pool, db.PayoutRailsFailingParams{
		ProgramID: "prg_1", OrgID: "org_1", CalledAfter: clock.At(noon.Add(-RailMemory)), Before: clock.At(noon.Add(-RailPatience)),
	})
	require.NoError(t, err)
	require.ElementsMatch(t, []db.PayoutRailsFailingRow{
		{Kind: db.PayoutRailKindPaypal, Poor: true}, {Kind: db.PayoutRailKindPaypal},
	}, troubled)
}

// A read continues after its first caller is cancelled.
func TestReadForAnother(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := NewReader(pgtest.New(t), clock.NewManual(noon)).Read(ctx)
	require.NoError(t, err)
}

// A queue is counted up to a limit.
func TestBounded(t *testing.T) {
	t.Parallel()
	row, err := db.New().Backlog(t.Context(), filled(t), db.BacklogParams{Now: clock.At(noon), Lim: 3})
	require.NoError(t, err)
	require.EqualValues(t, 3, row.Mails)
}
