package ledger

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
)

// stretch is how many entries are looked at in one statement.
const stretch = 1000

// rest is how many entries a process that starts may look at again.
const rest = 10_000

// Folder moves finished entries of the ledger into the balances, so that a
// reader has few entries to add. Balances read the same before and after. Any
// number of folders may run at once; a Folder itself is used by one goroutine.
type Folder struct {
	pool  *pgxpool.Pool
	begun bool
	after int64             // every entry up to here is folded
	kept  int64             // what the database knows of after
	mark  *db.LedgerMarkRow // where after goes next
}

// NewFolder returns a folder that begins where another has come to, or a little
// before.
func NewFolder(pool *pgxpool.Pool) *Folder { return &Folder{pool: pool} }

// Fold folds the balances whose newer entries are of finished transactions.
// Each balance is a statement of its own, so no lock is held for long.
func (f *Folder) Fold(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	m, err := queries.LedgerMark(ctx, f.pool)
	if err != nil {
		return err
	}
	if f.mark == nil {
		f.mark = &m
	}
	for at := f.after; at < m.ID; {
		if at, err = f.stretch(ctx, at); err != nil {
			return err
		}
	}
	f.advance(m.Horizon)
	return f.keep(ctx)
}

// begin reads, once, how far the ledger was folded when others last stored it.
func (f *Folder) begin(ctx context.Context) (err error) {
	if !f.begun {
		f.kept, err = queries.LedgerFolded(ctx, f.pool)
		f.after, f.begun = f.kept, err == nil
	}
	return err
}

// keep stores how far the ledger is folded, once it has advanced by rest
// entries: a process that starts begins there. A lower mark costs time only.
func (f *Folder) keep(ctx context.Context) error {
	if f.after < f.kept+rest {
		return nil
	}
	f.kept = f.after
	return queries.LedgerSetFolded(ctx, f.pool, f.after)
}

// stretch folds the balances that have entries after an id, and returns the id
// of the last entry that it looked at.
func (f *Folder) stretch(ctx context.Context, after int64) (int64, error) {
	rows, err := queries.BalancesStale(ctx, f.pool, db.BalancesStaleParams{AfterID: after, Lim: stretch})
	if err != nil {
		return 0, err
	}
	last := after
	for _, row := range rows {
		// The row without a balance says how far the stretch went.
		if row.BalanceID == "" {
			last = row.LastID
		} else if err := queries.BalanceFold(ctx, f.pool, row.BalanceID); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// advance moves after to the mark once every transaction that ran when the mark
// was taken had ended before this round. Entries get their ids before they are
// committed, so that an entry below the highest id may become visible later.
func (f *Folder) advance(horizon uint64) {
	if horizon >= f.mark.Xid {
		f.after, f.mark = f.mark.ID, nil
	}
}

// Unfold must run once before balances are read by a new process: after a
// logical restore, rows folded by the old cluster carry transaction numbers
// that mean nothing in the new one.
func Unfold(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := queries.BalancesUnfold(ctx, pool)
	return err
}
