package pgtx

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Within runs work in a transaction of its own and commits what it wrote, writes
// that wait included; after an error nothing is kept.
func Within(ctx context.Context, pool *pgxpool.Pool, work func(*Tx) error) error {
	tx := Begin(pool)
	return end(ctx, tx, func() error { return work(tx) })
}

// Unhurried gives the statements of a transaction, and the work between them, two
// minutes each instead of a request's few seconds, and lets them read whole tables.
const Unhurried = "SELECT set_config('statement_timeout', '2min', true), set_config('enable_seqscan', 'on', true), " +
	"set_config('idle_in_transaction_session_timeout', '2min', true)"

// WithinUnhurried is Within for jobs: its statements may take two minutes.
func WithinUnhurried(ctx context.Context, pool *pgxpool.Pool, work func(*Tx) error) error {
	return Within(ctx, pool, func(tx *Tx) error {
		if _, err := tx.Later().Exec(ctx, Unhurried); err != nil {
			return err
		}
		return work(tx)
	})
}
