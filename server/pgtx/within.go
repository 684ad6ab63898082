package pgtx

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Within runs work in a transaction of its own and commits what it wrote, put-off
// writes included; an error undoes everything.
func Within(ctx context.Context, pool *pgxpool.Pool, work func(*Tx) error) error {
	tx, err := Begin(ctx, pool)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
