package handlers

import (
	"context"

	"rail/server/clock"
	"rail/server/list"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// page is the answer to a list: the fields of api.SaleList and similar types.
type page[A any] struct {
	Data       []A
	HasMore    bool
	TotalCount int64
}

// query holds the paging parameters of a list, and the first error of its dates.
type query struct {
	list.Request
	err error
}

// newQuery returns the query of a program's list, or of the organization's for "".
func newQuery(programID string, limit *int64, startingAfter, endingBefore *string) *query {
	return &query{Request: list.In(programID, limit, startingAfter, endingBefore)}
}

// date parses a filter: an ISO date, which is its midnight in UTC, or a date-time (decisions, 29).
// The page returns the error of another text.
func (q *query) date(param string, value *string) *clock.Time {
	if value == nil {
		return nil
	}
	t, _, err := clock.ParseDate(*value)
	if err != nil && q.err == nil {
		q.err = problem.Invalid(param, "%s %s.", param, err)
	}
	return &t
}

// readPage reads a page of rows, converts them and adds the parts, in one more round trip.
func readPage[P, R, A any](
	ctx context.Context, q *query, l list.List[P, R], toAPI func(R) A, parts ...part[A],
) (page[A], error) {
	return decodePage(ctx, q, l, func(row R) (A, error) { return toAPI(row), nil }, parts...)
}

// decodePage is readPage with a conversion that may fail.
func decodePage[P, R, A any](
	ctx context.Context, q *query, l list.List[P, R], toAPI func(R) (A, error), parts ...part[A],
) (out page[A], err error) {
	if q.err != nil {
		return out, q.err
	}
	u := work.From(ctx)
	rows, err := list.Of(ctx, u, q.Request, l)
	if err != nil {
		return out, err
	}
	out.HasMore, out.TotalCount = rows.HasMore, rows.Total
	if out.Data, err = mappedAll(rows.Rows, toAPI); err != nil {
		return out, err
	}
	return out, addParts(ctx, u, out.Data, parts...)
}

// complete adds parts to an object, given the error of reading or changing its row. An object of a
// program that the request excludes is not found.
func complete[A any](ctx context.Context, object A, programID string, err error, parts ...part[A]) (A, error) {
	if err != nil {
		return object, err
	}
	u := work.From(ctx)
	if err := u.CheckProgram(programID); err != nil {
		return object, err
	}
	one := []A{object}
	err = addParts(ctx, u, one, parts...)
	return one[0], err
}

// part reads a relation, statistics or other members of objects of one program, with one statement,
// and sets them. There is at least one object.
type part[O any] func(ctx context.Context, tx pgtx.DBTX, orgID string, objects []O) error

// when returns a part if it is requested, and otherwise nil.
func when[O any](wanted bool, p part[O]) part[O] {
	if wanted {
		return p
	}
	return nil
}

// addParts adds parts to objects in one round trip, and skips nil.
func addParts[O any](ctx context.Context, u *work.Unit, objects []O, parts ...part[O]) error {
	var reads []pgtx.Read
	for _, p := range parts {
		if p != nil && len(objects) > 0 {
			reads = append(reads, func(tx pgtx.DBTX) error { return p(ctx, tx, u.OrgID, objects) })
		}
	}
	if len(reads) == 0 {
		return nil
	}
	return u.Together(ctx, reads...)
}
