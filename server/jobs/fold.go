package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/money/ledger"
)

// foldBalances folds ledger entries into the balances, so that a reader of a balance has few entries to add. The
// folder keeps its position between runs.
func foldBalances(pool *pgxpool.Pool) Job {
	folder := ledger.NewFolder(pool)
	return Job{
		Name: "fold-balances", About: "fold finished ledger entries into the balances", Every: time.Second, Sweeps: true,
		Run: func(ctx context.Context, _ clock.Time) error { return folder.Fold(ctx) },
	}
}
