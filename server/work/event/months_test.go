package event_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"rail/gen/api"
	"rail/gen/events"
	"rail/server/harness/pgtest"
	"rail/server/ident"
	"rail/server/postgres/migrate"
	"rail/server/work/event"
)

// world is a program, a partner and an endpoint that takes every event.
var world = []string{
	`INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'x', now())`,
	`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params,
		commission_on_net_revenue, holding_period_days, min_payout_minor, payout_term, payout_methods, block_self_referrals,
		blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
		VALUES ('prg_1', 'org_1', 'x', 'x', 'https://x.example', 'USD', 'active', 'x', 30, '{ref}', false, 0, 0, 'net_15',
		'{}', false, '{}', false, false, now(), now())`,
	`INSERT INTO partners (id, org_id, program_id, email, handle, status, created_at, updated_at)
		VALUES ('part_1', 'org_1', 'prg_1', 'x@x.example', 'ann', 'active', now(), now())`,
	`INSERT INTO webhook_endpoints (id, org_id, program_id, url, event_types, enabled, secret, counted_since, created_at,
		updated_at) VALUES ('whe_1', 'org_1', 'prg_1', 'https://x.example', '{}', true, '', now(), now(), now())`,
	`INSERT INTO events (id, org_id, program_id, type, subject_id, body, created_at)
		SELECT 'evt_01' || lpad(n::text, 24, '0'), 'org_1', 'prg_1', 'affiliate.deleted', 'part_1', repeat('x', 500), now()
		FROM generate_series(1, 100000) n`,
	`INSERT INTO clicks (id, org_id, program_id, partner_id, param, created_at)
		SELECT 'clk_01' || n, 'org_1', 'prg_1', 'part_1', 'ref', now() FROM generate_series(1, 100000) n`,
	`INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status, created_at)
		SELECT 'whd_01' || n, 'org_1', 'prg_1', 'whe_1', 'evt_01', 'affiliate.deleted', n, 'delivered', now()
		FROM generate_series(1, 100000) n`,
	// Of a sample program: their ids contain no time.
	`INSERT INTO clicks (id, org_id, program_id, partner_id, param, created_at)
		VALUES ('sample_clk_01', 'org_1', 'prg_1', 'part_1', 'ref', now())`,
	`INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status, next_attempt_at,
		created_at) VALUES ('sample_whd_01', 'org_1', 'prg_1', 'whe_1', 'evt_01', 'affiliate.deleted', 1, 'pending', now(), now())`,
}

// clicked records a click as the service does: with an id of its time.
func clicked(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `INSERT INTO clicks (id, org_id, program_id, partner_id, param, created_at)
		VALUES ($1, 'org_1', 'prg_1', 'part_1', 'ref', now())`, ident.New(ident.Click))
	return err
}

// TestPartitionsComeUnderLoad partitions full tables of events, clicks and deliveries while four connections
// write. No write fails, nothing is lost, and the order of events is preserved.
func TestPartitionsComeUnderLoad(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	require.NoError(t, migrate.To(t.Context(), dsn, 33))
	pool := pgtest.Pool(t, dsn+"&statement_timeout=60000&lock_timeout=60000") // the machine may be busy
	for _, sql := range world {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}

	done, stop := context.WithCancel(t.Context())
	defer stop()
	var writers errgroup.Group
	var written [4]int
	var longest [4]time.Duration
	for i := range written {
		writers.Go(func() error {
			for done.Err() == nil {
				r := event.Recorder{Now: now}
				r.Record("org_1", event.Subject{ProgramID: "prg_1", PartnerID: "part_1", ID: "part_1"},
					events.AffiliateDeleted(api.AffiliateDeletedData{PartnerID: "part_1"}))
				began := time.Now()
				if err := r.Flush(t.Context(), pool); err != nil {
					return err
				}
				if err := clicked(t.Context(), pool); err != nil {
					return err
				}
				longest[i] = max(longest[i], time.Since(began))
				written[i]++
			}
			return nil
		})
	}
	more := func(n int) {
		for goal, count := -1, 0; goal < 0 || count < goal; {
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE id >= 'evt_02'").Scan(&count))
			if goal < 0 {
				goal = count + n
			}
		}
	}
	more(200)
	require.NoError(t, migrate.Up(t.Context(), dsn))
	more(200)
	stop()
	require.NoError(t, writers.Wait())
	t.Logf("%d events of each writer, %s the longest that one took", written, longest)
	var all, numbers, astray int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*), count(DISTINCT seq),
		count(*) FILTER (WHERE tableoid <> 'events_first'::regclass) FROM events`).Scan(&all, &numbers, &astray))
	want := 100_000 + written[0] + written[1] + written[2] + written[3]
	require.Equal(t, want, all)
	for _, list := range []string{"clicks", "webhook_deliveries"} {
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+list).Scan(&n))
		require.Equal(t, want+1, n, list)
	}
	require.Equal(t, all, numbers)
	require.Zero(t, astray)
	var orderly bool
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT min(seq) FILTER (WHERE id >= 'evt_02') > max(seq) FILTER (WHERE id < 'evt_02') FROM events`).Scan(&orderly))
	require.True(t, orderly)
}
