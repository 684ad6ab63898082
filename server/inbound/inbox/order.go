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
	"rail/server/work"
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

// turns returns the keys of an event's turns.
func turns(r processor.Reading) []string {
	cleanNames(&r)
	var keys []string
	for _, b := range payers(r) {
		for _, key := range customerKeys(b) {
			keys = append(keys, work.TurnKey(key))
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

// hold notes that this run has claimed events.
func (b *batches) hold(events []db.InboxClaimRow) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range events {
		if b.claimed[e.ID] == nil { // else its lease expired
			b.claimed[e.ID] = make(chan struct{})
		}
	}
}

// done notes that a worker has processed or released events.
func (b *batches) done(events ...db.InboxClaimRow) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range events {
		if c := b.claimed[e.ID]; c != nil {
			close(c)
			delete(b.claimed, e.ID)
		}
	}
}

// processed returns a channel that is closed once a worker of this run is done with an event; nil if no worker has it.
func (b *batches) processed(id string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.claimed[id]
}

// blocked is an event that another event blocks.
type blocked struct {
	db.InboxClaimRow
	before string
}

// line holds the blocked events of a worker, by their arrival. The worker waits only if it has no other events, and
// only for the event before the first one. So two workers never wait for each other.
type line struct {
	*batches
	events  []blocked
	retried map[string]bool // events whose blocker no worker of this run had
}

// one processes one event, or keeps it if it is blocked.
func (l *line) one(ctx context.Context, e db.InboxClaimRow, now clock.Time) error {
	err := l.Worker.one(ctx, e, now)
	if by := (*blockedError)(nil); errors.As(err, &by) {
		return l.add(ctx, e, by.InboxBlockerRow)
	}
	if err == nil {
		l.done(e)
	}
	return err
}

// add keeps a blocked event. It releases the event if no worker of this run is processing its blocker.
func (l *line) add(ctx context.Context, e db.InboxClaimRow, by db.InboxBlockerRow) error {
	if l.processed(by.EventID) == nil {
		if l.retried[e.ID] {
			return l.postpone(ctx, e, by)
		}
		l.retried[e.ID] = true // the blocker may have been processed at this moment
	}
	l.events = append(l.events, blocked{e, by.EventID})
	slices.SortFunc(l.events, func(x, y blocked) int { return cmp.Compare(x.ID, y.ID) })
	return nil
}

// postpone releases an event until its blocker may have been processed.
func (l *line) postpone(ctx context.Context, e db.InboxClaimRow, by db.InboxBlockerRow) error {
	now, wait := l.at(l.Clock.Now()), soon
	if by.Failed && by.DueAt != nil {
		wait = min(max(by.DueAt.Sub(now.Time), soon), later)
	}
	err := queries.InboxAdvance(ctx, l.Pool, db.InboxAdvanceParams{
		ID: by.EventID, OrgID: e.OrgID, Now: &now, Until: new(now.Plus(soon)),
	})
	return errors.Join(err, l.release(ctx, []db.InboxClaimRow{e}, now.Plus(wait)))
}

// next removes and returns an event that may no longer be blocked. It waits for one until ctx ends.
func (l *line) next(ctx context.Context) []db.InboxClaimRow {
	for len(l.events) > 0 {
		free := slices.IndexFunc(l.events, func(e blocked) bool { return l.processed(e.before) == nil })
		if free >= 0 {
			e := l.events[free].InboxClaimRow
			l.events = slices.Delete(l.events, free, free+1)
			return []db.InboxClaimRow{e}
		}
		select {
		case <-l.processed(l.events[0].before):
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// end releases the events that are still blocked.
func (l *line) end(ctx context.Context) error {
	var rows []db.InboxClaimRow
	for _, e := range l.events {
		rows = append(rows, e.InboxClaimRow)
	}
	return l.release(ctx, rows, l.at(l.Clock.Now().Plus(soon)))
}
