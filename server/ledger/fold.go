package ledger

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
)

// stretch is how many entries are looked at in one statement.
const stretch = 1000

// Folder moves finished entries of the ledger into the balances, so that a
// reader has few entries to add. Balances read the same before and after. Any
// number of folders may run at once; a Folder itself is used by one goroutine.
type Folder struct {
	pool  *pgxpool.Pool
	after int64             // every entry up to here is folded
	mark  *db.LedgerMarkRow // where after goes next
}

// NewFolder returns a folder that begins with the first entry of the ledger.
func NewFolder(pool *pgxpool.Pool) *Folder { return &Folder{pool: pool} }

// Fold folds the balances whose newer entries are of finished transactions.
// Each balance is a statement of its own, so no lock is held for long.
func (f *Folder) Fold(ctx context.Context) error {
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
	return nil
}

// stretch folds what a stretch of entries after one calls for and returns the
// last entry that it looked at.
func (f *Folder) stretch(ctx context.Context, after int64) (int64, error) {
	rows, err := queries.BalancesStale(ctx, f.pool, db.BalancesStaleParams{AfterID: after, Lim: stretch})
	if err != nil {
		return 0, err
	}
	last := after
	for _, row := range rows {
		if row.BalanceID == "" {
			last = row.LastID
		} else if err := queries.BalanceFold(ctx, f.pool, row.BalanceID); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// advance passes the mark once every transaction that ran when it was taken was
// over before this round: entries get their numbers before they are committed,
// so one below the highest may show up later.
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
