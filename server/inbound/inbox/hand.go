package inbox

import (
	"context"
	"slices"
	"time"

	"rail/gen/db"
	"rail/server/clock"
)

// run processes events until none is due and no other worker is busy; a busy worker may make more due.
func (w Worker) run(ctx context.Context, t *turn) error {
	for {
		taken, idle, err := t.take(ctx, w)
		switch {
		case err != nil:
			return err
		case len(taken) > 0:
			err := w.each(ctx, t, taken)
			if t.end(taken); err != nil || ctx.Err() != nil {
				return err
			}
		case idle == nil:
			return nil
		default:
			wait(ctx, idle)
		}
	}
}

// wait returns when it is time to check for more.
func wait(ctx context.Context, idle <-chan struct{}) {
	again := time.NewTimer(pollInterval)
	defer again.Stop()
	select {
	case <-ctx.Done():
	case <-idle:
	case <-again.C:
	}
}

// each processes events one by one, beginning with events that need no request to a processor.
func (w Worker) each(ctx context.Context, t *turn, taken []db.InboxClaimRow) error {
	asking, quick := split(taken, func(e db.InboxClaimRow) bool { return e.Asks })
	taken = slices.Concat(quick, asking)
	enough := w.Clock.Now().Plus(releaseAfter)
	for begun := false; len(taken) > 0; begun = true {
		began := w.Clock.Now()
		if ctx.Err() != nil || begun && began.After(enough.Time) {
			return w.release(ctx, taken, t.at(began))
		}
		worked := taken[0]
		if err := w.one(ctx, worked, t.at(began)); err != nil {
			return err
		}
		taken = taken[1:]
		ended := w.Clock.Now()
		if ended.Before(began.Plus(slow).Time) {
			continue
		}
		own, others := split(taken, func(e db.InboxClaimRow) bool { return e.OrgID == worked.OrgID })
		if err := w.release(ctx, own, t.at(ended)); err != nil {
			return err
		}
		taken = others
	}
	return nil
}

// split returns the events that fit, and the others.
func split(events []db.InboxClaimRow, fits func(db.InboxClaimRow) bool) (fit, others []db.InboxClaimRow) {
	for _, e := range events {
		if fits(e) {
			fit = append(fit, e)
		} else {
			others = append(others, e)
		}
	}
	return fit, others
}

// release returns claimed events that were not started.
func (w Worker) release(ctx context.Context, events []db.InboxClaimRow, now clock.Time) error {
	for _, e := range events {
		err := queries.InboxGiveBack(context.WithoutCancel(ctx), w.Pool, db.InboxGiveBackParams{
			Now: now, ID: e.ID, OrgID: e.OrgID, Attempts: e.Attempts,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
