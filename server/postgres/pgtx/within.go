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

// Unhurried bounds the statements of a transaction that no request waits for.
const Unhurried = "SET LOCAL statement_timeout = '2min'"

// WithinUnhurried is Within for jobs: its statements may take two minutes.
func WithinUnhurried(ctx context.Context, pool *pgxpool.Pool, work func(*Tx) error) error {
	return Within(ctx, pool, func(tx *Tx) error {
		if _, err := tx.Later().Exec(ctx, Unhurried); err != nil {
			return err
		}
		return work(tx)
	})
}
