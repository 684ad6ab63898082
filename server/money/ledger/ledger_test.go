package ledger

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/ident"
	"rail/server/postgres/pgtx"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	orgID     = "org_ledger"
	programID = "prg_ledger"
)

var partnerIDs = []string{"part_a", "part_b", "part_c"}

// sums compares each balance with the whole ledger of its partner and currency.
const sums = `
SELECT l.partner_id, l.currency,
    sum(CASE 'pending' WHEN to_bucket THEN amount_minor WHEN from_bucket THEN -amount_minor ELSE 0 END)::bigint,
    sum(CASE 'due' WHEN to_bucket THEN amount_minor WHEN from_bucket THEN -amount_minor ELSE 0 END)::bigint,
    sum(CASE 'paid' WHEN to_bucket THEN amount_minor WHEN from_bucket THEN -amount_minor ELSE 0 END)::bigint
FROM ledger_entries l GROUP BY 1, 2`

type triple struct{ pending, due, paid int64 }

func setup(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	exec(t, pool, `INSERT INTO organizations VALUES ($1, 'Ledger', NULL, now())`, orgID)
	exec(t, pool,
		`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params,
		commission_on_net_revenue, holding_period_days, min_payout_minor, payout_term, payout_methods, block_self_referrals,
		blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
		VALUES ($1, $2, 'P', 'P', 'https://p.example', 'USD', 'active', 'p', 30, '{ref}', false, 30, 0, 'net_30', '{}', true, '{}', false, false, now(), now())`,
		programID, orgID)
	for _, id := range partnerIDs {
		exec(t, pool, `INSERT INTO partners (id, org_id, program_id, email, handle, status, created_at, updated_at)
			VALUES ($1, $2, $3, $1 || '@example.com', translate($1, '_', '-'), 'active', now(), now())`, id, orgID, programID)
	}
	return pool
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// ofLedger returns the expected sums, from the whole ledger, by balance id.
func ofLedger(ctx context.Context, tx pgtx.DBTX) (map[string]triple, error) {
	rows, err := tx.Query(ctx, sums)
	if err != nil {
		return nil, err
	}
	out := map[string]triple{}
	var partner, currency string
	var x triple
	_, err = pgx.ForEachRow(rows, []any{&partner, &currency, &x.pending, &x.due, &x.paid}, func() error {
		out[ident.BalanceID(partner, currency)] = x
		return nil
	})
	return out, err
}

// asRead returns the balances as the API shows them.
func asRead(ctx context.Context, tx pgtx.DBTX) (map[string]triple, error) {
	rows, err := queries.BalancePage(ctx, tx, db.BalancePageParams{ProgramID: programID, OrgID: orgID, Lim: 100})
	out := map[string]triple{}
	for _, r := range rows {
		out[r.ID] = triple{r.PendingMinor, r.DueMinor, r.PaidMinor}
	}
	return out, err
}

// stored returns the rows of the balances.
func stored(t *testing.T, pool *pgxpool.Pool) map[string]triple {
	t.Helper()
	rows, err := pool.Query(t.Context(), "SELECT id, pending_minor, due_minor, paid_minor FROM balances")
	require.NoError(t, err)
	out := map[string]triple{}
	var id string
	var x triple
	_, err = pgx.ForEachRow(rows, []any{&id, &x.pending, &x.due, &x.paid}, func() error {
		out[id] = x
		return nil
	})
	require.NoError(t, err)
	return out
}

func commission(i int, status db.CommissionStatus) Commission {
	return Commission{
		OrgID: orgID, ProgramID: programID, PartnerID: partnerIDs[i%len(partnerIDs)], ID: ident.New(ident.Commission),
		Currency: []string{"USD", "EUR"}[i%2], Status: status, AmountMinor: int64(i%97 + 1), At: clock.System{}.Now(),
	}
}

func TestBucket(t *testing.T) {
	for status, want := range map[db.CommissionStatus]string{
		"pending": Pending, "approved": Pending, "due": Due, "paid": Paid, "rejected": Sink, "voided": Sink,
	} {
		require.Equal(t, want, Bucket(status), status)
	}
}

func TestMoves(t *testing.T) {
	pool := setup(t)
	k := Commission{
		OrgID: orgID, ProgramID: programID, PartnerID: "part_a", ID: "com_1", Currency: "USD", Status: "pending",
		AmountMinor: 500, At: clock.System{}.Now(),
	}
	require.NoError(t, Earn(t.Context(), pool, k))
	expect := func(want triple) {
		t.Helper()
		read, err := asRead(t.Context(), pool)
		require.NoError(t, err)
		require.Equal(t, map[string]triple{"bal_a_usd": want}, read)
	}
	expect(triple{pending: 500})
	for _, step := range []struct {
		status db.CommissionStatus
		want   triple
	}{
		{"approved", triple{pending: 500}}, {"due", triple{due: 500}}, {"paid", triple{paid: 500}}, {"due", triple{due: 500}},
		{"voided", triple{}},
	} {
		from := k.Status
		k.Status = step.status
		require.NoError(t, Move(t.Context(), pool, from, k))
		expect(step.want)
	}
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM ledger_entries").Scan(&n))
	require.Equal(t, 5, n, "approving moves no money")
	k.Status, k.AmountMinor = "due", 300
	require.NoError(t, Move(t.Context(), pool, "voided", Commission{
		OrgID: orgID, ProgramID: programID, PartnerID: "part_a", ID: "com_1", Currency: "USD", Status: "due",
		AmountMinor: 500, At: k.At,
	}))
	require.NoError(t, Correct(t.Context(), pool, k, 500))
	expect(triple{due: 300})
	require.NoError(t, Remove(t.Context(), pool, orgID, k.At, []string{k.ID}))
	expect(triple{})
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT sum(CASE WHEN to_bucket = 'removed' THEN amount_minor ELSE 0 END)
		FROM ledger_entries WHERE commission_id = 'com_1'`).Scan(&n))
	require.Equal(t, 500, n, "the corrected part is removed from the sink")
}

// Balances are exact while writers commit, roll back and use savepoints, and while folders fold.
func TestReadsAreExact(t *testing.T) {
	pool := setup(t)
	var written atomic.Int64
	writers, ctx := errgroup.WithContext(t.Context())
	for w := range 8 {
		writers.Go(func() error { return write(ctx, pool, w, 120, &written) })
	}
	watching, stop := context.WithCancel(t.Context())
	watchers := new(errgroup.Group)
	for range 2 {
		f := NewFolder(pool)
		watchers.Go(func() error { return until(watching, func() error { return f.Fold(t.Context()) }) })
	}
	watchers.Go(func() error { return until(watching, func() error { return compare(t.Context(), pool) }) })
	err := writers.Wait()
	stop()
	require.NoError(t, err)
	require.NoError(t, watchers.Wait())
	require.Positive(t, written.Load())
	want, err := ofLedger(t.Context(), pool)
	require.NoError(t, err)
	require.Len(t, want, 6)
	foldUntil(t, NewFolder(pool), func() bool { return maps.Equal(want, stored(t, pool)) }) // nothing to add
}

func until(ctx context.Context, f func() error) error {
	for {
		if err := f(); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// compare compares both sides in one snapshot.
func compare(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			want, err := ofLedger(ctx, tx)
			if err != nil {
				return err
			}
			got, err := asRead(ctx, tx)
			if err == nil && fmt.Sprint(want) != fmt.Sprint(got) {
				return fmt.Errorf("read %v, ledger %v", got, want)
			}
			return err
		})
}

// write runs transactions of every kind; some stay open for a while, so that later ones end first.
func write(ctx context.Context, pool *pgxpool.Pool, w, n int, written *atomic.Int64) error {
	rnd := rand.New(rand.NewPCG(uint64(w), 7))
	for i := range n {
		tx := pgtx.Begin(pool)
		if err := one(ctx, tx, commission(w*n+i, "pending"), rnd); err != nil {
			tx.Rollback()
			return err
		}
		if rnd.IntN(5) == 0 {
			tx.Rollback()
			continue
		}
		if err := tx.Commit(ctx); err != nil {
			return err
		}
		written.Add(1)
	}
	return nil
}

func one(ctx context.Context, tx *pgtx.Tx, k Commission, rnd *rand.Rand) error {
	if err := Earn(ctx, tx, k); err != nil {
		return err
	}
	if rnd.IntN(8) == 0 {
		<-time.After(time.Duration(rnd.IntN(15)) * time.Millisecond)
	}
	if rnd.IntN(3) == 0 { // rolled back before the commit
		tx.Savepoint()
		lost := k
		lost.ID, lost.AmountMinor = "com_lost", 1_000_000
		if err := Append(ctx, tx, lost.entry(Source, Paid)); err != nil {
			return err
		}
		tx.Undo()
	}
	k.Status = []db.CommissionStatus{"approved", "due", "voided"}[rnd.IntN(3)]
	if err := Move(ctx, tx.Later(), "pending", k); err != nil {
		return err
	}
	if k.Status != "due" {
		return nil
	}
	k.Status = "paid"
	return Move(ctx, tx.Later(), "due", k)
}

// An entry that a folder could not see or fold yet is folded later, even after the folder has passed its number.
func TestFoldComesBack(t *testing.T) {
	pool := setup(t)
	ctx, f := t.Context(), NewFolder(pool)
	open, err := pool.Begin(ctx)
	require.NoError(t, err)
	require.NoError(t, Earn(ctx, open, commission(0, "pending")))
	require.NoError(t, Earn(ctx, pool, commission(3, "pending"))) // the same partner, another currency
	require.NoError(t, f.Fold(ctx))
	require.NoError(t, compare(ctx, pool))
	require.Equal(t, map[string]triple{"bal_a_eur": {}}, stored(t, pool), "an older transaction runs")
	require.NoError(t, open.Commit(ctx))
	for range 2 {
		require.NoError(t, f.Fold(ctx))
		require.Equal(t, map[string]triple{"bal_a_usd": {pending: 1}, "bal_a_eur": {pending: 4}}, stored(t, pool))
	}
	require.Positive(t, f.after)
	require.NoError(t, compare(ctx, pool))
}

// Entries of a released savepoint count with their transaction.
func TestFoldSavepoints(t *testing.T) {
	pool := setup(t)
	ctx := t.Context()
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		require.NoError(t, pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error { return Earn(ctx, inner, commission(0, "due")) }))
		lost, err := tx.Begin(ctx)
		require.NoError(t, err)
		require.NoError(t, Earn(ctx, lost, commission(6, "due")))
		require.NoError(t, lost.Rollback(ctx))
		return NewFolder(pool).Fold(ctx)
	}))
	require.NoError(t, compare(ctx, pool))
	require.NoError(t, NewFolder(pool).Fold(ctx))
	require.Equal(t, map[string]triple{"bal_a_usd": {due: 1}}, stored(t, pool))
}

// TestUnfold: rows folded by another cluster, as after a logical restore, read right again.
func TestUnfold(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `
		SET session_replication_role = replica;
		INSERT INTO balances (id, org_id, program_id, partner_id, currency, due_minor, folded_xid, updated_at)
			VALUES ('bal_1_usd', 'org_1', 'prg_1', 'part_1', 'USD', 200, '9000000000', now());
		INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)
			VALUES ('org_1', 'prg_1', 'part_1', 'com_1', 'USD', 'source', 'due', 200, now()), ('org_1', 'prg_1', 'part_1', 'com_2', 'USD', 'source', 'due', 300, now());
		UPDATE ledger_mark SET after_id = 2;
		SET session_replication_role = DEFAULT`)
	require.NoError(t, err)
	require.NoError(t, Unfold(t.Context(), pool))
	foldUntil(t, NewFolder(pool), func() bool { return folded(t, pool) == 500 })
}

// foldUntil folds until a condition holds, which may need to wait for transactions of other tests on the server.
func foldUntil(t *testing.T, f *Folder, so func() bool) {
	t.Helper()
	wait.Until(t, func() bool { return f.Fold(t.Context()) == nil && so() })
}

// folded returns the due amount of a test's only balance.
func folded(t *testing.T, pool *pgxpool.Pool) (due int64) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT due_minor FROM balances").Scan(&due))
	return due
}

// TestFoldGoesOn: a new process does not read entries that others have folded.
func TestFoldGoesOn(t *testing.T) {
	t.Parallel()
	pool := setup(t)
	ctx := t.Context()
	many := `INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)
		SELECT $1, $2, 'part_a', 'com_' || n, 'USD', 'source', 'due', 1, now() FROM generate_series(1, $3::int) n`
	exec(t, pool,
		`INSERT INTO balances (id, org_id, program_id, partner_id, currency, updated_at) VALUES ('bal_a', $1, $2, 'part_a', 'USD', now())`, orgID, programID)
	exec(t, pool, many, orgID, programID, markInterval)
	first := NewFolder(pool)
	foldUntil(t, first, func() bool { return first.storedMark == markInterval })
	exec(t, pool, many, orgID, programID, 5)
	next := NewFolder(pool)
	require.NoError(t, next.begin(ctx))
	require.EqualValues(t, markInterval, next.after)
	foldUntil(t, next, func() bool { return folded(t, pool) == markInterval+5 })
}
