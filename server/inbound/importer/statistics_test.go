package importer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/inbound/importer/source"
	"rail/server/postgres/pgtx"
)

// statement explains the statement of a query.
type statement struct {
	pgx.Tx
	plan json.RawMessage
}

func (s *statement) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := s.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+sql, args...).Scan(&s.plan); err != nil {
		return nil, err
	}
	return s.Tx.Query(ctx, "SELECT WHERE false")
}

// node is a node of a plan; its rows are those of one loop.
type node struct {
	Loops   float64 `json:"Actual Loops"`
	Rows    float64 `json:"Actual Rows"`
	Removed float64 `json:"Rows Removed by Join Filter"`
	Others  float64 `json:"Rows Removed by Filter"`
	Plans   []node
}

// compared returns the number of rows that a node and those below it return or drop.
func (n node) compared() float64 {
	sum := n.Loops * (n.Rows + n.Removed + n.Others)
	for _, p := range n.Plans {
		sum += p.compared()
	}
	return sum
}

// TestStatistics: rows that were stored just now are compared in a time that grows with their number.
func TestStatistics(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var rows []source.Row
	for i := range 600 {
		id := fmt.Sprint(i)
		rows = append(rows, person(id, id+"@example.com"), earns("a"+id, id, "", "", source.Paid, 500),
			earns("b"+id, id, "", "", source.Paid, 600))
	}
	ready := d.report(rows...)
	require.Equal(t, "600", count(ready, "payouts", "new"))
	tx, err := d.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), pgtx.Unhurried)
	require.NoError(t, err)
	s := &statement{Tx: tx}
	_, err = (&db.Queries{}).ImportPaymentsEmpty(t.Context(), s, db.ImportPaymentsEmptyParams{
		ImportID: ready.String("id"), OrgID: d.Org, Kind: 7, // the payouts that an import makes
	})
	require.NoError(t, err)
	var plans []struct{ Plan node }
	require.NoError(t, json.Unmarshal(s.plan, &plans))
	require.Less(t, plans[0].Plan.compared(), 6*float64(len(rows)), "%s", s.plan)
}
