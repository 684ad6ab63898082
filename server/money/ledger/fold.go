package ledger

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
)

// foldPageSize is the number of entries that one statement reads.
const foldPageSize = 1000

// markInterval is the number of entries that a new process may read again.
const markInterval = 10_000

// Folder moves finished ledger entries into the balances, so that a reader has few entries to add. Balances read
// the same before and after. Folders may run concurrently; one Folder is used by one goroutine.
type Folder struct {
	pool       *pgxpool.Pool
	begun      bool
	after      int64             // every entry up to here is folded
	storedMark int64             // the value of after in the database
	nextMark   *db.LedgerMarkRow // the next value of after
}

// NewFolder returns a folder that starts at the stored mark.
func NewFolder(pool *pgxpool.Pool) *Folder { return &Folder{pool: pool} }

// Fold folds balances that have entries of finished transactions. Each balance is a separate statement, so no
// lock is held for long.
func (f *Folder) Fold(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	m, err := queries.LedgerMark(ctx, f.pool)
	if err != nil {
		return err
	}
	if f.nextMark == nil {
		f.nextMark = &m
	}
	for at := f.after; at < m.ID; {
		if at, err = f.foldPage(ctx, at); err != nil {
			return err
		}
	}
	f.advance(m.Horizon)
	return f.storeMark(ctx)
}

// begin reads the stored mark, once.
func (f *Folder) begin(ctx context.Context) (err error) {
	if !f.begun {
		f.storedMark, err = queries.LedgerFolded(ctx, f.pool)
		f.after, f.begun = f.storedMark, err == nil
	}
	return err
}

// storeMark stores how far the ledger is folded, after every markInterval entries. A new process starts there; a
// mark that is too low only costs time.
func (f *Folder) storeMark(ctx context.Context) error {
	if f.after < f.storedMark+markInterval {
		return nil
	}
	f.storedMark = f.after
	return queries.LedgerSetFolded(ctx, f.pool, f.after)
}

// foldPage folds the balances with entries after an id, and returns the id of the last entry it read.
func (f *Folder) foldPage(ctx context.Context, after int64) (int64, error) {
	rows, err := queries.BalancesStale(ctx, f.pool, db.BalancesStaleParams{AfterID: after, Lim: foldPageSize})
	if err != nil {
		return 0, err
	}
	last := after
	for _, row := range rows {
		// The row without a balance has the end of the page.
		if row.BalanceID == "" {
			last = row.LastID
		} else if err := queries.BalanceFold(ctx, f.pool, row.BalanceID); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// advance moves after to the mark once every transaction that ran when the mark was taken had ended before this
// round. Entries get their ids before they are committed, so an entry below the highest id may become visible
// later.
func (f *Folder) advance(horizon uint64) {
	if horizon >= f.nextMark.Xid {
		f.after, f.nextMark = f.nextMark.ID, nil
	}
}

// Unfold must run once before balances are read by a new process: after a
// logical restore, rows folded by the old cluster carry transaction numbers
// that mean nothing in the new one.
func Unfold(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := queries.BalancesUnfold(ctx, pool)
	return err
}
