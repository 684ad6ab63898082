package handlers

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// defaultLimit is the page size where none is asked for.
const defaultLimit = 25

// paging is the common part of every list's parameters.
type paging struct {
	programID     string // "" where the list has no program
	limit         *int64
	startingAfter *string
	endingBefore  *string
	refs          []work.Reference // ids in filters
}

// bounds is where a page lies: at most one of after and before is set. Lim is
// one more than asked for, to know whether more follows.
type bounds struct {
	afterAt, beforeAt *clock.Time
	afterID, beforeID *string
	lim               int32
}

// position is the place of a row in a list ordered by time and id.
type position struct {
	at clock.Time
	id string
}

// lister is what differs from list to list. P is the position of a row in the
// list's order, R a row.
type lister[P, R any] struct {
	cursor func(ctx context.Context, tx pgtx.DBTX, id string) (P, error)
	page   func(ctx context.Context, tx pgtx.DBTX, after, before *P, lim int32) ([]R, error)
	count  func(ctx context.Context, tx pgtx.DBTX) (int64, error)
	// total counts where count has met its bound; nil where count has none.
	total func(ctx context.Context, tx pgtx.DBTX) (int64, error)
}

// A list is counted row by row up to fewRows. More are counted from what reports
// have summed or from the tallies, where the filters let them: that costs the same
// for any number, but for a short list more than its rows do.
const (
	fewRows = 5000
	allRows = math.MaxInt32
)

// atMost bounds a count that a total can take over.
func atMost(possible bool) int32 {
	if possible {
		return fewRows
	}
	return allRows
}

// when returns a count only where it can be asked.
func when(possible bool, count func(context.Context, pgtx.DBTX) (int64, error)) func(context.Context, pgtx.DBTX) (int64, error) {
	if !possible {
		return nil
	}
	return count
}

// page is one page of rows, in list order.
type page[R any] struct {
	rows    []R
	hasMore bool
	total   int64
}

// list runs a list in one round trip, and one more each where a cursor must be
// looked up first and where a long list is counted. The program and the ids in filters are judged in the same trip; the
// page of a foreign program is empty anyway, since every list is bound to the
// organization. The statements of the trip are planned for their values: a plan
// for any value cannot know which filters are set.
func list[P, R any](ctx context.Context, u *work.Unit, p paging, l lister[P, R]) (page[R], error) {
	if p.startingAfter != nil && p.endingBefore != nil {
		return page[R]{}, problem.On("ending_before", problem.ParametersExclusive, "starting_after and ending_before exclude each other.")
	}
	lim := int32(defaultLimit)
	if p.limit != nil {
		lim = int32(*p.limit) //nolint:gosec // the document bounds it to 100
	}
	after, before, err := l.place(ctx, u, p)
	if err != nil {
		return page[R]{}, err
	}
	var out page[R]
	var exists error
	refs := work.NewReferences(p.refs...)
	reads := append([]pgtx.Read{
		func(tx pgtx.DBTX) error { return queries.PlanForValues(ctx, tx) },
		func(tx pgtx.DBTX) error { exists = programExists(ctx, u, tx, p.programID); return nil },
		func(tx pgtx.DBTX) (err error) { out.rows, err = l.page(ctx, tx, after, before, lim+1); return err },
		// After the page: what is created between the two is counted, so that no page
		// has more objects than there are in all.
		func(tx pgtx.DBTX) (err error) { out.total, err = l.count(ctx, tx); return err },
	}, refs.Reads(ctx, u)...)
	if err := u.Together(ctx, reads...); err != nil {
		return out, err
	}
	if exists != nil {
		return out, exists
	}
	if err := refs.Verdict(p.programID); err != nil {
		return out, err
	}
	if l.total != nil && out.total >= fewRows {
		err := u.Together(ctx, func(tx pgtx.DBTX) error { return queries.PlanForValues(ctx, tx) },
			func(tx pgtx.DBTX) (err error) { out.total, err = l.total(ctx, tx); return err })
		if err != nil {
			return out, err
		}
	}
	if len(out.rows) > int(lim) {
		out.rows, out.hasMore = out.rows[:lim], true
	}
	if before != nil {
		slices.Reverse(out.rows)
	}
	return out, nil
}

// place looks the cursor up.
func (l lister[P, R]) place(ctx context.Context, u *work.Unit, p paging) (after, before *P, err error) {
	id, param := p.startingAfter, "starting_after"
	if id == nil {
		id, param = p.endingBefore, "ending_before"
	}
	if id == nil {
		return nil, nil, nil
	}
	var at P
	var exists error
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error { exists = programExists(ctx, u, tx, p.programID); return nil },
		func(tx pgtx.DBTX) (err error) { at, err = l.cursor(ctx, tx, *id); return err })
	if exists != nil {
		return nil, nil, exists
	}
	if err := errs[1]; err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, nil, problem.On(param, problem.InvalidCursor, "%s is not an object of this list.", param)
		}
		return nil, nil, err
	}
	if p.startingAfter != nil {
		return &at, nil, nil
	}
	return nil, &at, nil
}

func programExists(ctx context.Context, u *work.Unit, tx pgtx.DBTX, programID string) error {
	if programID == "" {
		return nil
	}
	_, err := queries.ProgramExists(ctx, tx, db.ProgramExistsParams{ID: programID, OrgID: u.OrgID})
	return work.Found(err, "program_id")
}

// byTime adapts a page function that takes bounds to a list ordered by time.
func byTime[R any](run func(ctx context.Context, tx pgtx.DBTX, b bounds) ([]R, error)) func(context.Context, pgtx.DBTX, *position, *position, int32) ([]R, error) {
	return func(ctx context.Context, tx pgtx.DBTX, after, before *position, lim int32) ([]R, error) {
		b := bounds{lim: lim}
		if after != nil {
			b.afterAt, b.afterID = &after.at, &after.id
		}
		if before != nil {
			b.beforeAt, b.beforeID = &before.at, &before.id
		}
		return run(ctx, tx, b)
	}
}

// choices reads a filter of one value or several. One value is asked for as
// such, since an index can then give the order too.
func choices[T ~string](given []T) (one *string, in []string) {
	for _, v := range given {
		if !slices.Contains(in, string(v)) {
			in = append(in, string(v))
		}
	}
	if len(in) == 1 {
		return &in[0], nil
	}
	return nil, in
}

// lower returns the lower-case form of an optional filter.
func lower(p *string) *string {
	if p == nil {
		return nil
	}
	return new(strings.ToLower(*p))
}
