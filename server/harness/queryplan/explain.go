package queryplan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
)

// ErrCaptured is the error of each call of a Capture.
var ErrCaptured = errors.New("captured")

// Capture is a db.DBTX that keeps the statement of a generated query instead of executing it.
type Capture struct {
	SQL  string
	Args []any
}

// Exec keeps the statement and returns ErrCaptured.
func (c *Capture) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	c.SQL, c.Args = sql, args
	return pgconn.CommandTag{}, ErrCaptured
}

// Query keeps the statement and returns ErrCaptured.
func (c *Capture) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.SQL, c.Args = sql, args
	return nil, ErrCaptured
}

// QueryRow keeps the statement and returns a row whose Scan returns ErrCaptured.
func (c *Capture) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	c.SQL, c.Args = sql, args
	return none{}
}

type none struct{}

func (none) Scan(...any) error { return ErrCaptured }

// Explain executes the captured statement and returns its plan.
func (c *Capture) Explain(t testing.TB, conn db.DBTX) Node {
	t.Helper()
	return Explained(t, conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "+c.SQL, c.Args...))
}

// CachedPlans returns how often a session has executed a generated query by its cached plan.
func CachedPlans(t testing.TB, conn db.DBTX, query string) (n int) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT coalesce(sum(generic_plans), 0) FROM pg_prepared_statements
		WHERE statement LIKE '-- name: ' || $1 || ' %'`, query).Scan(&n))
	return n
}

// Explained returns the plan of an EXPLAIN (FORMAT JSON).
func Explained(t testing.TB, row pgx.Row) Node {
	t.Helper()
	var raw string
	require.NoError(t, row.Scan(&raw))
	var plans []struct{ Plan Node }
	require.NoError(t, json.Unmarshal([]byte(raw), &plans))
	return plans[0].Plan
}

// Node is a node of a plan. Its rows are the average of its loops.
type Node struct {
	Type      string  `json:"Node Type"`
	Table     string  `json:"Relation Name"`
	Index     string  `json:"Index Name"`
	Rows      float64 `json:"Actual Rows"`
	Loops     float64 `json:"Actual Loops"`
	Filtered  float64 `json:"Rows Removed by Filter"`
	Rechecked float64 `json:"Rows Removed by Index Recheck"`
	Unjoined  float64 `json:"Rows Removed by Join Filter"`
	Plans     []Node  `json:"Plans"`
}

// Walk visits the nodes of a plan from the top.
func (n Node) Walk(visit func(Node)) {
	visit(n)
	for _, p := range n.Plans {
		p.Walk(visit)
	}
}

// Examined returns the number of rows that the scans of a plan read.
func (n Node) Examined() (sum float64) {
	n.Walk(func(n Node) {
		if strings.HasSuffix(n.Type, "Scan") && n.Type != "Bitmap Heap Scan" && n.Type != "Subquery Scan" {
			sum += (n.Rows + n.Filtered + n.Rechecked) * n.Loops
		}
	})
	return sum
}

// Shape returns a short form of the plan for a failure's message.
func (n Node) Shape() string {
	var b strings.Builder
	n.Walk(func(n Node) {
		fmt.Fprintf(&b, "  %s %s %s: %g rows, %g filtered, %g not joined, %g loops\n", n.Type, n.Table, n.Index, n.Rows,
			n.Filtered, n.Unjoined, n.Loops)
	})
	return b.String()
}
