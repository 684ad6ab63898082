package importer_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/queryplan"
	"rail/server/inbound/importer/source"
	"rail/server/postgres/pgtx"
)

// compared returns the number of rows that the nodes of a plan return or drop.
func compared(top queryplan.Node) (sum float64) {
	top.Walk(func(n queryplan.Node) { sum += n.Loops * (n.Rows + n.Unjoined + n.Filtered) })
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
	var c queryplan.Capture
	_, err = (&db.Queries{}).ImportPaymentsEmpty(t.Context(), &c, db.ImportPaymentsEmptyParams{
		ImportID: ready.String("id"), OrgID: d.Org, Kind: 7, // the payouts that an import makes
	})
	require.ErrorIs(t, err, queryplan.ErrCaptured)
	top := c.Explain(t, tx)
	require.Less(t, compared(top), 6*float64(len(rows)), "%s", top.Shape())
}
