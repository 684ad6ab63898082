package jobs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/money/ledger/check"
)

// tallied are rows of one program, two partners and a link each.
var tallied = []string{
	`INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'x', now())`,
	`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params, commission_on_net_revenue, holding_period_days,
		min_payout_minor, payout_term, payout_methods, block_self_referrals, blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
		VALUES ('prg_1', 'org_1', 'x', 'x', 'https://x.example', 'USD', 'active', 'x', 30, '{ref}', false, 0, 0, 'net_15', '{}', false, '{}', false, false, now(), now())`,
	`INSERT INTO partners (id, org_id, program_id, email, handle, status, created_at, updated_at) SELECT 'part_' || n, 'org_1', 'prg_1', n || '@x.example', 'p' || n, 'active', now(), now() FROM generate_series(0, 1) n`,
	`INSERT INTO links (id, org_id, program_id, partner_id, param, value, value_key, destination_url, destination_key, short_slug, created_at, updated_at)
		SELECT 'lnk_' || n, 'org_1', 'prg_1', 'part_' || n, 'ref', 'v' || n, 'v' || n, 'https://x.example', '', 's' || n, now(), now() FROM generate_series(0, 1) n`,
}

// changes are the writers' changes; $1 is a number below 100.
var changes = []string{
	`INSERT INTO referrals (id, org_id, program_id, partner_id, link_id, visitor, tracked_by, status, expires_at, created_at, updated_at)
		SELECT 'ref_' || gen_random_uuid(), 'org_1', 'prg_1', 'part_' || $1 % 2, CASE WHEN $1 % 3 > 0 THEN 'lnk_' || $1 % 2 END, uuid_send(gen_random_uuid()), 'link', 'visit', now(), now(), now() FROM generate_series(0, $1 % 5) n`,
	`UPDATE referrals SET status = CASE status WHEN 'visit' THEN 'lead' ELSE 'visit' END WHERE id IN (SELECT id FROM referrals WHERE hashtext(id) % 100 = $1 ORDER BY id FOR UPDATE)`,
	`UPDATE referrals SET link_id = NULL WHERE id IN (SELECT id FROM referrals WHERE hashtext(id) % 100 = $1 ORDER BY id FOR UPDATE)`,
	`DELETE FROM referrals WHERE id IN (SELECT id FROM referrals WHERE hashtext(id) % 100 = $1 ORDER BY id FOR UPDATE)`,
}

// A reader gets exact totals while others write, roll back and fold.
func TestTalliesAreExact(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for _, sql := range tallied {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	group, ctx := errgroup.WithContext(t.Context())
	folding, stop := context.WithCancel(ctx)
	for range 2 {
		group.Go(func() error { return foldUntil(folding, pool) })
	}
	writers, ctx := errgroup.WithContext(ctx)
	for seed := range uint64(4) {
		writers.Go(func() error { return write(ctx, pool, rand.New(rand.NewPCG(seed, 7)), 150) })
	}
	writers.Go(func() error { return compare(ctx, pool, 100) })
	require.NoError(t, writers.Wait())
	stop()
	require.NoError(t, group.Wait())
	require.NoError(t, foldTallies(pool).Run(t.Context(), clock.Time{}))
	require.NoError(t, forgetTallies(pool).Run(t.Context(), clock.Time{}))
	var open, empty, rows int
	require.NoError(t,
		pool.QueryRow(t.Context(),
			"SELECT (SELECT count(*) FROM tally_entries), (SELECT count(*) FROM tallies WHERE total = 0), (SELECT count(*) FROM tallies)").Scan(&open, &empty, &rows))
	require.Zero(t, open, "all is folded")
	require.Zero(t, empty, "nothing is kept of what is gone")
	require.NotZero(t, rows)
	found, err := check.Run(t.Context(), pool)
	require.NoError(t, err)
	require.Empty(t, found)
}

func foldUntil(ctx context.Context, pool *pgxpool.Pool) error {
	job := foldTallies(pool)
	for ctx.Err() == nil {
		if err := job.Run(context.WithoutCancel(ctx), clock.Time{}); err != nil {
			return err
		}
	}
	return nil
}

func write(ctx context.Context, pool *pgxpool.Pool, r *rand.Rand, times int) error {
	for range times {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, changes[r.IntN(len(changes))], r.IntN(100)); err != nil {
			return err
		}
		end := tx.Commit
		if r.IntN(5) == 0 {
			end = tx.Rollback
		}
		if err := end(ctx); err != nil {
			return err
		}
	}
	return nil
}

// compare compares totals with the rows in one snapshot.
func compare(ctx context.Context, pool *pgxpool.Pool, times int) error {
	for range times {
		err := pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
			for _, owner := range []string{"", "part_0", "part_1", "lnk_1"} {
				if err := same(ctx, tx, owner); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func same(ctx context.Context, tx pgx.Tx, owner string) error {
	var want int64
	err := tx.QueryRow(ctx,
		"SELECT count(*) FROM referrals WHERE status = 'lead' AND ($1 = '' OR partner_id = $1 OR link_id = $1)",
		owner).Scan(&want)
	if err != nil {
		return err
	}
	got, err := queries.TallyTotal(ctx, tx, db.TallyTotalParams{
		ProgramID: "prg_1", OrgID: "org_1", List: "referrals", OwnerID: &owner, Statuses: []string{"lead"},
	})
	if err == nil && got != want {
		err = fmt.Errorf("%q: %d, but there are %d", owner, got, want)
	}
	return err
}

// A role that may add a list's rows counts them, and only needs to insert differences; rows changed without
// triggers can be counted again.
func TestTalliesOfOthers(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for _, sql := range append(tallied, `DO $$ BEGIN
		EXECUTE format('CREATE ROLE %I', 'clerk_' || current_database());
		EXECUTE format('GRANT INSERT ON audit_log_entries, tally_entries TO %I', 'clerk_' || current_database());
		EXECUTE format('SET ROLE %I', 'clerk_' || current_database());
		INSERT INTO audit_log_entries (id, org_id, program_id, action, target_id, created_at) VALUES ('aud_1', 'org_1', 'prg_1', 'x', 'x', now());
		RESET ROLE;
		EXECUTE format('DROP OWNED BY %I; DROP ROLE %I', 'clerk_' || current_database(), 'clerk_' || current_database());
	END $$`) {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	found, err := check.Run(t.Context(), pool)
	require.NoError(t, err)
	require.Empty(t, found)
	for _, step := range []struct {
		sql   string
		clean bool
	}{{"UPDATE tally_entries SET difference = 7", false}, {"SELECT recount_tallies()", true}} {
		_, err := pool.Exec(t.Context(), step.sql)
		require.NoError(t, err)
		found, err := check.Run(t.Context(), pool)
		require.NoError(t, err)
		require.Equal(t, step.clean, len(found) == 0, step.sql)
	}
}
