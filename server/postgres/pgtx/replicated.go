package pgtx

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// unreplicated marks a connection whose commit did not wait for a standby.
const unreplicated = "rail.unreplicated"

// NoteReplication marks a connection when PostgreSQL stops waiting for a synchronous standby, for
// example after pg_cancel_backend. PostgreSQL then commits with only a warning, and a failover
// would lose the commit. The notice's routine identifies the warning in every language
// (lc_messages).
func NoteReplication(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.CustomData()[unreplicated] = true
	}
}

// replicated returns an error if a failover may lose the commit that just ended, so that no client
// receives a success. It closes the connection.
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
