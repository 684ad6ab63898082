package pgtx

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// unreplicated is the mark of a connection whose commit did not wait for a standby.
const unreplicated = "rail.unreplicated"

// NoteReplication marks a connection when PostgreSQL gives up waiting for a synchronous
// standby, as pg_cancel_backend makes it do. It then commits, with a warning and no error,
// what a fail-over would lose. The routine tells the warning in any language (lc_messages).
func NoteReplication(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.CustomData()[unreplicated] = true
	}
}

// replicated fails where the commit that just ended may be lost by a fail-over: nobody must
// be told that it is done. The connection is of no further use.
func (t *Tx) replicated(ctx context.Context) error {
	c := t.conn.Conn().PgConn()
	if t.outer != nil || c.CustomData()[unreplicated] == nil {
		return nil
	}
	_ = c.Close(ctx) // the pool replaces a closed connection
	return &pgconn.PgError{
		Severity: "ERROR", Code: "08007", Message: "no synchronous standby has confirmed the commit",
	}
}
