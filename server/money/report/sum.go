package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

// sumBatch bounds the spans that one query lists; each is summed in a transaction of
// its own, so that no lock is held for long.
const sumBatch = 400

// Sum sums the days that are over and not summed, or were touched since, then the
// spans that they make. Replicas divide the work by program. To find what spans there
// are to make reads all of them, so that it waits for a day to be summed: every
// program has one a day.
func Sum(ctx context.Context, pool *pgxpool.Pool, now clock.Time) error {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	days := func() ([]span, error) {
		rows, err := queries.ReportDaysToSum(ctx, pool, db.ReportDaysToSumParams{
			Ended: now.Plus(-summedFor), Settled: now.Plus(-settledFor), Lim: sumBatch,
		})
		out := make([]span, len(rows))
		for i, r := range rows {
			out[i] = span{r.OrgID, r.ProgramID, r.Zone, "day", r.Day}
		}
		return out, err
	}
	wider := func() ([]span, error) {
		rows, err := queries.ReportSpansToSum(ctx, pool, db.ReportSpansToSumParams{Today: today, Lim: sumBatch})
		out := make([]span, len(rows))
		for i, r := range rows {
			out[i] = span{r.OrgID, r.ProgramID, r.Zone, r.Span, r.Start}
		}
		return out, err
	}
	n, failed := each(ctx, pool, days, func(tx pgtx.DBTX, s span) error { return sumDay(ctx, tx, s, today) })
	if n == 0 {
		return failed
	}
	_, err := each(ctx, pool, wider, func(tx pgtx.DBTX, s span) error { return join(ctx, tx, s) })
	return errors.Join(failed, err)
}

// span is a day of a program, or 2, 4, ... 256 of them, by the first.
type span struct {
	OrgID, ProgramID, Zone, Kind string
	Start                        time.Time
}

// each runs work for every span that list gives, in a transaction of its own, until
// there is none, or other replicas are at all that is listed, and counts them.
func each(ctx context.Context, pool *pgxpool.Pool, list func() ([]span, error),
	work func(pgtx.DBTX, span) error) (all int, failed error) {
	for {
		spans, err := list()
		if err != nil {
			return all, errors.Join(failed, err)
		}
		done := 0
		for _, s := range spans {
			ok, err := alone(ctx, pool, s, work)
			if err != nil { // the others are summed all the same
				failed = errors.Join(failed, fmt.Errorf("%+v: %w", s, err))
			}
			if ok {
				done++
			}
		}
		all += done
		// Spans make wider ones; days that are touched all the while wait for the next time.
		if done == 0 || spans[0].Kind == "day" && len(spans) < sumBatch {
			return all, failed
		}
	}
}

// alone runs work in a transaction, unless another replica sums the same program:
// then it reports false and leaves the program to that one.
func alone(ctx context.Context, pool *pgxpool.Pool, s span, work func(pgtx.DBTX, span) error) (done bool, err error) {
	err = pgtx.WithinUnhurried(ctx, pool, func(tx *pgtx.Tx) error {
		if done, err = queries.ReportLock(ctx, tx, s.ProgramID); err != nil || !done {
			return err
		}
		return work(tx, s)
	})
	return done && err == nil, err
}

// sumDay sums one day. It removes the marks first: a transaction that marks the
// day and commits after that leaves its mark, so that the day is read from its
// rows and summed again, whether or not this sum has seen the change. A day whose
// program has changed its zone since it was listed is left to the next list.
func sumDay(ctx context.Context, tx pgtx.DBTX, s span, today time.Time) error {
	day, err := queries.ReportDay(ctx, tx, db.ReportDayParams{Day: s.Start, ProgramID: s.ProgramID, OrgID: s.OrgID})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && day.Zone != s.Zone {
		return nil
	}
	if err != nil {
		return err
	}
	err = queries.ReportUnmark(ctx, tx, db.ReportUnmarkParams{ProgramID: s.ProgramID, FromAt: day.FromAt, ToAt: day.ToAt})
	if err != nil {
		return err
	}
	again, err := queries.ReportUnspan(ctx, tx, db.ReportUnspanParams{
		ProgramID: s.ProgramID, Start: s.Start, FromAt: day.FromAt, ToAt: day.ToAt, TimeZone: day.Zone,
	})
	if err != nil {
		return err
	}
	if err := unsum(ctx, tx, s); err != nil {
		return err
	}
	err = queries.ReportSumDay(ctx, tx, db.ReportSumDayParams{
		OrgID: s.OrgID, ProgramID: s.ProgramID, Day: s.Start, FromAt: day.FromAt, ToAt: day.ToAt,
	})
	if err != nil {
		return err
	}
	return queries.ReportSpan(ctx, tx, db.ReportSpanParams{
		OrgID: s.OrgID, ProgramID: s.ProgramID, Start: s.Start, TimeZone: day.Zone, Again: again, Today: today,
	})
}

// join sums the halves of a span, unless a day of them has been summed again since
// they were listed.
func join(ctx context.Context, tx pgtx.DBTX, s span) error {
	n, err := queries.ReportJoin(ctx, tx,
		db.ReportJoinParams{OrgID: s.OrgID, ProgramID: s.ProgramID, Span: s.Kind, Start: s.Start})
	if err != nil || n == 0 {
		return err
	}
	if err := unsum(ctx, tx, s); err != nil {
		return err
	}
	return queries.ReportSumSpan(ctx, tx,
		db.ReportSumSpanParams{OrgID: s.OrgID, ProgramID: s.ProgramID, Span: s.Kind, Start: s.Start})
}

// unsum removes the sums of a span.
func unsum(ctx context.Context, tx pgtx.DBTX, s span) error {
	return queries.ReportUnsum(ctx, tx, db.ReportUnsumParams{ProgramID: s.ProgramID, Span: s.Kind, Start: s.Start})
}
