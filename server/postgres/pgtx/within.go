package pgtx

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Within runs work in a new transaction and commits what it wrote, queued writes
// included. After an error nothing is kept.
func Within(ctx context.Context, pool *pgxpool.Pool, work func(*Tx) error) error {
	return Begin(pool).Do(ctx, work)
}

// Do runs work in t and commits it, or rolls it back. A panic becomes an error.
func (t *Tx) Do(ctx context.Context, work func(*Tx) error) (err error) {
	defer t.Rollback()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("pgtx: the work of a transaction panicked: %v\n%s", v, debug.Stack())
		}
	}()
	if err := work(t); err != nil {
		return err
	}
	return t.Commit(ctx)
}

// Unhurried sets the timeouts of a transaction's statements, and of the work between
// them, to two minutes instead of a request's few seconds, and allows sequential scans.
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
