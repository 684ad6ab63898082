package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

// sumBatch bounds the days that one query lists; each day and month is summed in
// a transaction of its own, so that no lock is held for long.
const sumBatch = 400

// Sum sums the days and months that are over and not summed, or were touched
// since. Replicas divide the work by program.
func Sum(ctx context.Context, pool *pgxpool.Pool, now clock.Time) error {
	last := lastDay(now)
	var failed error
	for {
		days, err := queries.ReportDaysToSum(ctx, pool, db.ReportDaysToSumParams{LastDay: last, Lim: sumBatch})
		if err != nil {
			return err
		}
		done, err := each(ctx, pool, days, sumDay)
		failed = errors.Join(failed, err)
		// With nothing done, other replicas are at all that is listed.
		if len(days) < sumBatch || done == 0 {
			break
		}
	}
	months, err := queries.ReportMonthsToSum(ctx, pool, sumBatch)
	if err != nil {
		return err
	}
	_, err = each(ctx, pool, months, sumMonth)
	return errors.Join(failed, err)
}

// span is a day or a month of a program, by its first day.
type span struct {
	OrgID, ProgramID string
	Start            time.Time
}

// each runs work for every span in a transaction of its own, and counts those
// that no other replica was at.
func each[R db.ReportDaysToSumRow | db.ReportMonthsToSumRow](ctx context.Context, pool *pgxpool.Pool, rows []R,
	work func(context.Context, pgtx.DBTX, span) error) (done int, err error) {
	for _, r := range rows {
		ok, e := alone(ctx, pool, spanOf(r), work)
		if e != nil { // the others are summed all the same
			err = errors.Join(err, fmt.Errorf("%+v: %w", spanOf(r), e))
		}
		if ok {
			done++
		}
	}
	return done, err
}

// spanOf returns the span of a row of either list.
func spanOf(row any) span {
	switch r := row.(type) {
	case db.ReportDaysToSumRow:
		return span{r.OrgID, r.ProgramID, r.Day}
	case db.ReportMonthsToSumRow:
		return span{r.OrgID, r.ProgramID, r.Month}
	}
	return span{}
}

// alone runs work in a transaction, unless another replica sums the same program:
// then it reports false and leaves the program to that one.
func alone(ctx context.Context, pool *pgxpool.Pool, s span,
	work func(context.Context, pgtx.DBTX, span) error) (done bool, err error) {
	err = pgtx.WithinUnhurried(ctx, pool, func(tx *pgtx.Tx) error {
		if done, err = queries.ReportLock(ctx, tx, s.ProgramID); err != nil || !done {
			return err
		}
		return work(ctx, tx.Later(), s)
	})
	return done && err == nil, err
}

// sumDay sums one day. It removes the marks first: a transaction that marks the
// day and commits after that leaves its mark, so that the day is read from its
// rows and summed again, whether or not this sum has seen the change.
func sumDay(ctx context.Context, tx pgtx.DBTX, s span) error {
	month := time.Date(s.Start.Year(), s.Start.Month(), 1, 0, 0, 0, 0, time.UTC)
	if err := queries.ReportUnmark(ctx, tx, db.ReportUnmarkParams{ProgramID: s.ProgramID, Day: s.Start}); err != nil {
		return err
	}
	for kind, start := range map[string]time.Time{"day": s.Start, "month": month} {
		if err := unsum(ctx, tx, s.ProgramID, kind, start); err != nil {
			return err
		}
	}
	err := queries.ReportSumDay(ctx, tx, db.ReportSumDayParams{
		OrgID: s.OrgID, ProgramID: s.ProgramID, Day: s.Start, FromAt: clock.At(s.Start),
		ToAt: clock.At(s.Start.AddDate(0, 0, 1)),
	})
	if err != nil {
		return err
	}
	return queries.ReportSpan(ctx, tx, db.ReportSpanParams{
		OrgID: s.OrgID, ProgramID: s.ProgramID, Span: "day", Start: s.Start,
	})
}

// sumMonth sums the days of a month. They are all summed by then.
func sumMonth(ctx context.Context, tx pgtx.DBTX, s span) error {
	if err := unsum(ctx, tx, s.ProgramID, "month", s.Start); err != nil {
		return err
	}
	err := queries.ReportSumMonth(ctx, tx, db.ReportSumMonthParams{
		OrgID: s.OrgID, ProgramID: s.ProgramID, Month: s.Start, NextMonth: s.Start.AddDate(0, 1, 0),
	})
	if err != nil {
		return err
	}
	return queries.ReportSpan(ctx, tx, db.ReportSpanParams{
		OrgID: s.OrgID, ProgramID: s.ProgramID, Span: "month", Start: s.Start,
	})
}

// unsum removes a day's or a month's sums, and the span that says that they are
// there: without it readers take finer sums, or the rows.
func unsum(ctx context.Context, tx pgtx.DBTX, programID, kind string, start time.Time) error {
	if err := queries.ReportUnspan(ctx, tx,
		db.ReportUnspanParams{ProgramID: programID, Span: kind, Start: start}); err != nil {
		return err
	}
	return queries.ReportUnsum(ctx, tx, db.ReportUnsumParams{ProgramID: programID, Span: kind, Start: start})
}
