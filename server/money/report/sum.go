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

// sumBatch bounds what is listed at once; each day and month is a transaction.
const sumBatch = 400

// Sum sums the days and months that are over by now and are not summed, or were
// touched since. Replicas take turns program by program.
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

func spanOf(row any) span {
	switch r := row.(type) {
	case db.ReportDaysToSumRow:
		return span{r.OrgID, r.ProgramID, r.Day}
	case db.ReportMonthsToSumRow:
		return span{r.OrgID, r.ProgramID, r.Month}
	}
	return span{}
}

// alone runs work unless another replica sums the same program.
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

// sumDay takes the marks first: what is marked by a transaction that commits
// after that is read from its rows and summed again, whether or not the sum
// below has seen it.
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

func unsum(ctx context.Context, tx pgtx.DBTX, programID, kind string, start time.Time) error {
	if err := queries.ReportUnspan(ctx, tx,
		db.ReportUnspanParams{ProgramID: programID, Span: kind, Start: start}); err != nil {
		return err
	}
	return queries.ReportUnsum(ctx, tx, db.ReportUnsumParams{ProgramID: programID, Span: kind, Start: start})
}
