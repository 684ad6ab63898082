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

// sumBatch bounds the spans of one query. Each span is summed in a separate transaction, so that no lock is held
// for long.
const sumBatch = 400

// Sum sums past days that are new or marked, then combines them into spans. Replicas share the work by program.
// Listing the spans to combine reads all of them, so it happens only after a day was summed: every program has
// one a day.
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

// span is a day of a program, or 4, 16, 64 or 256 days, identified by the first.
type span struct {
	OrgID, ProgramID, Zone, Kind string
	Start                        time.Time
}

// each runs work for every span of list, each in its own transaction, and returns the number of spans done. It
// ends when list is empty, or when other replicas hold all that is listed.
func each(ctx context.Context, pool *pgxpool.Pool, list func() ([]span, error),
	work func(pgtx.DBTX, span) error) (all int, failed error) {
	for {
		spans, err := list()
		if err != nil {
			return all, errors.Join(failed, err)
		}
		done := 0
		for _, s := range spans {
			ok, err := tryExclusive(ctx, pool, s, work)
			if err != nil { // the others are summed nevertheless
				failed = errors.Join(failed, fmt.Errorf("%+v: %w", s, err))
			}
			if ok {
				done++
			}
		}
		all += done
		// Spans enable wider ones; days that keep changing wait for the next run.
		if done == 0 || spans[0].Kind == "day" && len(spans) < sumBatch {
			return all, failed
		}
	}
}

// tryExclusive runs work in a transaction, unless another replica sums the same program; then it returns false.
func tryExclusive(
	ctx context.Context, pool *pgxpool.Pool, s span, work func(pgtx.DBTX, span) error,
) (done bool, err error) {
	err = pgtx.WithinUnhurried(ctx, pool, func(tx *pgtx.Tx) error {
		if done, err = queries.ReportLock(ctx, tx, s.ProgramID); err != nil || !done {
			return err
		}
		return work(tx, s)
	})
	return done && err == nil, err
}

// sumDay sums one day. It deletes the marks first: a transaction that marks the day and commits later leaves its
// mark, so that the day is read from its rows and summed again, whether or not this sum has seen the change. If
// the program's time zone changed since the day was listed, it is left to the next list.
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
	again, err := queries.ReportDeleteDay(ctx, tx, db.ReportDeleteDayParams{
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
		MonthAt: day.MonthAt,
	})
	if err != nil {
		return err
	}
	return queries.ReportSpan(ctx, tx, db.ReportSpanParams{
		OrgID: s.OrgID, ProgramID: s.ProgramID, Start: s.Start, TimeZone: day.Zone, Again: again, Today: today,
	})
}

// join combines the quarters of a span, unless one of its days was summed again since they were listed.
func join(ctx context.Context, tx pgtx.DBTX, s span) error {
	n, err := queries.ReportAddSpan(ctx, tx,
		db.ReportAddSpanParams{OrgID: s.OrgID, ProgramID: s.ProgramID, Span: s.Kind, Start: s.Start})
	if err != nil || n == 0 {
		return err
	}
	if err := unsum(ctx, tx, s); err != nil {
		return err
	}
	return queries.ReportSumSpan(ctx, tx,
		db.ReportSumSpanParams{OrgID: s.OrgID, ProgramID: s.ProgramID, Span: s.Kind, Start: s.Start})
}

// unsum deletes the sums of a span.
func unsum(ctx context.Context, tx pgtx.DBTX, s span) error {
	return queries.ReportDeleteSums(ctx, tx, db.ReportDeleteSumsParams{
		ProgramID: s.ProgramID, Span: s.Kind, Start: s.Start,
	})
}
