package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrNotDurable means that the server may lose confirmed transactions.
var ErrNotDurable = errors.New("the database server may lose confirmed transactions")

// checkDurable reads the settings that decide whether a commit survives a crash.
func checkDurable(ctx context.Context, conn *pgx.Conn) error {
	const query = `SELECT name FROM pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off' ORDER BY name`
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return fmt.Errorf("check durability: %w", err)
	}
	off, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("check durability: %w", err)
	}
	if len(off) > 0 {
		return fmt.Errorf("%w: set %s to on", ErrNotDurable, strings.Join(off, ", "))
	}
	return nil
}
