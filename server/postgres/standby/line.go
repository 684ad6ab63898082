package standby

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// line is a dedicated connection to a server, so that checks do not wait for a connection of a
// pool.
type line struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn
}

// ask runs a statement with one row. After an error it reconnects.
func (l *line) ask(ctx context.Context, sql string, dest ...any) (err error) {
	if l.conn == nil {
		if l.conn, err = pgx.ConnectConfig(ctx, l.config); err != nil {
			return err
		}
	}
	if err = l.conn.QueryRow(ctx, sql).Scan(dest...); err != nil {
		l.close()
	}
	return err
}

func (l *line) close() {
	if l.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
		defer cancel()
		_ = l.conn.Close(ctx) // it may be broken
		l.conn = nil
	}
}
