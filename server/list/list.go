// Package list reads one page of a list: its rows in order, whether more follow, and the total
// number. The API and the portal share it; its refusals name parameters of both.
package list

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// defaultLimit is the default page size.
const defaultLimit = 25

var queries = db.New()

// Request holds the paging parameters of a list. The API description bounds Limit;
// this package does not.
type Request struct {
	ProgramID     string // empty for a list of the organization
	Limit         *int64 // the document bounds it to 100
	StartingAfter *string
	EndingBefore  *string
}

// In returns the request for a page of a program's list.
func In(programID string, limit *int64, startingAfter, endingBefore *string) Request {
	return Request{programID, limit, startingAfter, endingBefore}
}

// Page is one page of rows, in list order.
type Page[R any] struct {
	Rows    []R
	HasMore bool
	Total   int64
}

// List is a list with its filters, such as db.SaleList. R is a row, and P the
// place of a row in the list's order.
type List[P, R any] interface {
	Counted
	// Page returns the first rows after a place, or the last before one in reverse.
	Page(ctx context.Context, tx db.DBTX, in db.Scope, after, before *P, lim int32) ([]R, error)
	// Cursor returns the place of a row, or pgx.ErrNoRows.
	Cursor(ctx context.Context, tx db.DBTX, in db.Scope, id string) (P, error)
	// Refs returns the ids of other objects in the filters.
	Refs() []db.Ref
}

// Of reads a page in one round trip. Looking up a cursor and counting a long list take one more
// each. The statements get custom plans, because a generic plan cannot know which filters are set.
// In an uncounted unit the total is 0.
func Of[P, R any](ctx context.Context, u *work.Unit, request Request, l List[P, R]) (Page[R], error) {
	var out Page[R]
	after, before, err := place(ctx, u, request, l)
	if err != nil {
		return out, err
	}
	lim := int32(defaultLimit)
	if request.Limit != nil {
		lim = int32(*request.Limit)
	}
	in := db.Scope{ProgramID: request.ProgramID, OrgID: u.OrgID}
	counted := NewCount(l, in)
	reads := []pgtx.Read{
		func(tx pgtx.DBTX) error { return queries.PlanForValues(ctx, tx) },
		func(tx pgtx.DBTX) (err error) {
			// Read one row more to learn whether more follow.
			out.Rows, err = l.Page(ctx, tx, in, after, before, lim+1)
			return err
		},
	}
	if !u.Uncounted {
		// Count after reading the page, so that the total is never below the number of its objects.
		reads = append(reads, counted.First(ctx))
	}
	if err := Read(ctx, u, request.ProgramID, references(l.Refs()), reads...); err != nil {
		return out, err
	}
	if err := counted.Rest(ctx, u); err != nil {
		return out, err
	}
	out.Total = counted.Rows()
	if len(out.Rows) > int(lim) {
		out.Rows, out.HasMore = out.Rows[:lim], true
	}
	// Rows before a cursor are read backwards, nearest first.
	if before != nil {
		slices.Reverse(out.Rows)
	}
	return out, nil
}

// Read runs the reads of a list in one round trip with the checks of its program and of the ids in
// its filters. This is safe, because every list is bound to the organization, so a page of a
// foreign program is empty.
func Read(ctx context.Context, u *work.Unit, programID string, refs []work.Reference, reads ...pgtx.Read) error {
	var exists error
	checks := work.NewReferences(refs...)
	first := func(tx pgtx.DBTX) error { exists = programExists(ctx, u, tx, programID); return nil }
	err := u.Together(ctx, slices.Concat([]pgtx.Read{first}, reads, checks.Reads(ctx, u))...)
	if err != nil {
		return err
	}
	if exists != nil {
		return exists
	}
	return checks.Verdict(programID)
}

// references returns the ids in a list's filters for the checks.
func references(refs []db.Ref) []work.Reference {
	out := make([]work.Reference, len(refs))
	for i, r := range refs {
		out[i] = work.ListRef(r)
	}
	return out
}

// place returns the place of the row that the cursor names, as after or before;
// both are nil without a cursor.
func place[P, R any](ctx context.Context, u *work.Unit, request Request, l List[P, R]) (after, before *P, err error) {
	id, param, err := cursor(request.StartingAfter, request.EndingBefore)
	if id == nil || err != nil {
		return nil, nil, err
	}
	var at P
	var exists error
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error { exists = programExists(ctx, u, tx, request.ProgramID); return nil },
		func(tx pgtx.DBTX) (err error) {
			at, err = l.Cursor(ctx, tx, db.Scope{ProgramID: request.ProgramID, OrgID: u.OrgID}, *id)
			return err
		})
	if exists != nil {
		return nil, nil, exists
	}
	if err := errs[1]; err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, nil, notOfList(param)
		}
		return nil, nil, err
	}
	if param == startingAfter {
		return &at, nil, nil
	}
	return nil, &at, nil
}

const startingAfter, endingBefore = "starting_after", "ending_before"

// cursor returns the given cursor, if any, and the name of its parameter.
func cursor(after, before *string) (id *string, param string, err error) {
	switch {
	case after != nil && before != nil:
		return nil, "", problem.On(endingBefore, problem.ParametersExclusive,
			"starting_after and ending_before exclude each other.")
	case after != nil:
		return after, startingAfter, nil
	}
	return before, endingBefore, nil
}

// notOfList refuses a cursor that is not a row of the list.
func notOfList(param string) error {
	return problem.On(param, problem.InvalidCursor, "%s is not an object of this list.", param)
}

// programExists checks the program of a list; an organization's list has none.
func programExists(ctx context.Context, u *work.Unit, tx pgtx.DBTX, programID string) error {
	if programID == "" {
		return nil
	}
	return u.ProgramExists(ctx, tx, programID)
}

// Slice returns a page of a list that is in memory, of at most most rows unless
// the request has a limit.
func Slice[R any](all []R, id func(R) string, most int, request Request) (Page[R], error) {
	out := Page[R]{Total: int64(len(all))}
	n := most
	if request.Limit != nil {
		n = int(*request.Limit)
	}
	row, param, err := cursor(request.StartingAfter, request.EndingBefore)
	if err != nil {
		return out, err
	}
	if row != nil {
		at := slices.IndexFunc(all, func(r R) bool { return id(r) == *row })
		if at < 0 {
			return out, notOfList(param)
		}
		if param == endingBefore {
			from := max(0, at-n)
			out.Rows, out.HasMore = all[from:at], from > 0
			return out, nil
		}
		all = all[at+1:]
	}
	out.Rows, out.HasMore = all[:min(n, len(all))], len(all) > n
	return out, nil
}

// Any returns the values of a filter as text, and nil for none.
func Any[T ~string](values []T) (out []string) {
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}
