package list

import (
	"context"
	"math"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// A list is counted row by row up to fewRows. A total costs the same for any length, but more than
// the rows of a short list.
const (
	fewRows = 5000
	allRows = math.MaxInt32
)

// Counted is a list that can be counted with its filters, such as db.SaleList.
type Counted interface {
	// Count counts row by row, up to most if the list has a total.
	Count(ctx context.Context, tx db.DBTX, in db.Scope, most int32) (int64, error)
	// Total returns the query that counts a long list, or nil.
	Total() *db.Total
}

// Count is the exact number of rows of a list. A short list is counted row by row
// in one read; a long one is read from the tallies or the report sums in a second.
type Count struct {
	list  Counted
	in    db.Scope
	total *db.Total
	rows  int64
	long  bool
}

// NewCount returns the count of a list in a scope.
func NewCount(list Counted, in db.Scope) *Count {
	return &Count{list: list, in: in, total: list.Total()}
}

// First is the first read.
func (c *Count) First(ctx context.Context) pgtx.Read {
	return func(tx pgtx.DBTX) (err error) {
		switch {
		case c.total == nil:
			c.rows, err = c.list.Count(ctx, tx, c.in, allRows)
		case c.total.Picky:
			c.rows, err = c.total.Of(ctx, tx, c.in)
		default:
			c.rows, err = c.list.Count(ctx, tx, c.in, fewRows)
			c.long = c.rows >= fewRows
		}
		return err
	}
}

// Rest reads the total of a long list, in a second round trip.
func (c *Count) Rest(ctx context.Context, u *work.Unit) error {
	if !c.long {
		return nil
	}
	return u.Together(ctx,
		func(tx pgtx.DBTX) error { return queries.PlanForValues(ctx, tx) },
		func(tx pgtx.DBTX) (err error) { c.rows, err = c.total.Of(ctx, tx, c.in); return err })
}

// Rows returns the number of objects after the reads have run.
func (c *Count) Rows() int64 { return c.rows }

// CountBy returns how many rows of a list each owner in one program has, from the
// tallies. An owner without rows may be absent from the map.
func CountBy(ctx context.Context, tx pgtx.DBTX, list string, in db.Scope, owners []string) (map[string]int64, error) {
	rows, err := queries.TallyOwners(ctx, tx, db.TallyOwnersParams{
		ProgramID: in.ProgramID, OrgID: in.OrgID, List: list, OwnerIds: owners,
	})
	counts := make(map[string]int64, len(rows))
	for _, r := range rows {
		counts[r.OwnerID] = r.Total
	}
	return counts, err
}
