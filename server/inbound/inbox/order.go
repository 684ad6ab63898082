package inbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/processor"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
)

// The events of one customer are processed in the order of their arrival, whichever workers and servers claim them:
// the first payment decides about the customer's partner. Each event has a turn for each name of its customer, from its
// arrival until its first outcome, which may be that it waits for missing data.

const (
	// soon is when an event is retried after an earlier event that another server may be processing.
	soon = time.Second
	// later is when an event is retried, at most, after an earlier event that has failed.
	later = 10 * time.Minute
	// maxBlock is how long after its arrival an event that fails blocks the later events of its customer.
	maxBlock = 6 * time.Hour
)

// turns returns the keys of an event's turns. They are hashes, which bounds their length.
func turns(r processor.Reading) []string {
	cleanNames(&r)
	var keys []string
	for _, b := range payers(r) {
		for _, key := range customerKeys(b) {
			keys = append(keys, "turn "+secret.NameOf(key))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// payers returns the customers that an event describes.
func payers(r processor.Reading) []processor.Binding {
	all := []processor.Binding{opt.Value(r.Binding)}
	if r.Payment != nil {
		all = append(all, r.Payment.Binding)
	}
	return all
}

// blockedError means that an earlier event of the same customer has no outcome yet.
type blockedError struct{ db.InboxBlockerRow }

func (e *blockedError) Error() string { return "the earlier event " + e.EventID + " is not processed" }

// unblocked returns a *blockedError if another event blocks an event.
func unblocked(ctx context.Context, tx pgtx.DBTX, t db.InboxClaimRow, now clock.Time) error {
	by, err := queries.InboxBlocker(ctx, tx, db.InboxBlockerParams{ID: t.ID, OrgID: t.OrgID, Since: now.Plus(-maxBlock)})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err == nil:
		err = &blockedError{by}
	}
	return err
}

// hold notes that workers of this run have claimed events.
func (b *batches) hold(events []db.InboxClaimRow) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range events {
		b.claimed[e.ID] = e.Attempts
	}
}

// done notes that a worker has processed or released events. Another worker may have claimed them since.
func (b *batches) done(events ...db.InboxClaimRow) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.claimed)
	for _, e := range events {
		if b.claimed[e.ID] == e.Attempts {
			delete(b.claimed, e.ID)
		}
	}
	if len(b.claimed) < before {
		close(b.changed)
		b.changed = make(chan struct{})
	}
}

// has reports whether a worker of this run has an event.
func (b *batches) has(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, has := b.claimed[id]
	return has
}

// nextDone returns a channel that is closed when a worker is done with any event.
func (b *batches) nextDone() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// blocked is an event that another event blocks.
type blocked struct {
	db.InboxClaimRow
	before string
}

// workerQueue holds the events of a worker that are not processed yet. The worker waits only when all of them are
// blocked, and retries them in the order of their arrival, so two workers cannot wait for each other.
type workerQueue struct {
	*batches
	left    []db.InboxClaimRow
	blocked []blocked
	retried map[string]bool // events whose blocker no worker of this run had
}

// run processes events until none is left, or those left would take too long. It waits for blockers until waiting ends.
func (l *workerQueue) run(ctx, waiting context.Context) error {
	enough := l.Clock.Now().Plus(releaseAfter)
	for begun := false; len(l.left) > 0; begun = true {
		began := l.Clock.Now()
		if err := ctx.Err(); err != nil || begun && began.After(enough.Time) {
			return err
		}
		worked := l.left[0]
		l.left = l.left[1:]
		if err := l.step(ctx, worked, l.at(began)); err != nil {
			return err
		}
		if ended := l.Clock.Now(); !ended.Before(began.Plus(slow).Time) {
			var own []db.InboxClaimRow
			own, l.left = split(l.left, func(e db.InboxClaimRow) bool { return e.OrgID == worked.OrgID })
			if err := errors.Join(l.release(ctx, own, l.at(ended)), l.releaseBlocked(ctx)); err != nil {
				return err
			}
		}
		if len(l.left) == 0 {
			l.left = l.next(waiting)
		}
	}
	return nil
}

// step processes one event, or keeps it if it is blocked.
func (l *workerQueue) step(ctx context.Context, e db.InboxClaimRow, now clock.Time) error {
	err := l.Worker.one(ctx, e, now)
	if by := (*blockedError)(nil); errors.As(err, &by) {
		return l.add(ctx, e, by.InboxBlockerRow)
	}
	if err == nil {
		l.done(e)
	}
	return err
}

// add keeps a blocked event. It releases the event if no worker of this run has its blocker.
func (l *workerQueue) add(ctx context.Context, e db.InboxClaimRow, by db.InboxBlockerRow) error {
	if !l.has(by.EventID) {
		if l.retried[e.ID] {
			return l.deferBlocked(ctx, e, by)
		}
		l.retried[e.ID] = true // the blocker may have been processed at this moment
	}
	l.blocked = append(l.blocked, blocked{e, by.EventID})
	slices.SortFunc(l.blocked, func(x, y blocked) int { return cmp.Compare(x.ID, y.ID) })
	return nil
}

// deferBlocked releases an event until its blocker may have been processed.
func (l *workerQueue) deferBlocked(ctx context.Context, e db.InboxClaimRow, by db.InboxBlockerRow) error {
	now, wait := l.at(l.Clock.Now()), soon
	if until := by.DueAt; until != nil && (by.Failed || until.After(now.Plus(lease).Time)) {
		wait = min(max(until.Sub(now.Time), soon), later)
	}
	err := queries.InboxAdvance(ctx, l.Pool, db.InboxAdvanceParams{
		ID: by.EventID, OrgID: e.OrgID, Until: new(now.Plus(2 * soon)),
	})
	return errors.Join(err, l.release(ctx, []db.InboxClaimRow{e}, now.Plus(wait)))
}

// next removes and returns an event that may no longer be blocked. It waits for one until ctx ends.
func (l *workerQueue) next(ctx context.Context) []db.InboxClaimRow {
	for len(l.blocked) > 0 {
		done := l.nextDone()
		for i, e := range l.blocked {
			if !l.has(e.before) {
				l.blocked = slices.Delete(l.blocked, i, i+1)
				return []db.InboxClaimRow{e.InboxClaimRow}
			}
		}
		select {
		case <-done:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// releaseBlocked releases the blocked events.
func (l *workerQueue) releaseBlocked(ctx context.Context) error {
	var rows []db.InboxClaimRow
	for _, e := range l.blocked {
		rows = append(rows, e.InboxClaimRow)
	}
	l.blocked = nil
	return l.release(ctx, rows, l.at(l.Clock.Now().Plus(soon)))
}
