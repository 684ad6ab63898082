package inbox

import (
	"cmp"
	"context"
	"slices"
	"time"

	"rail/gen/db"
	"rail/server/inbound/processor"
	"rail/server/opt"
	"rail/server/work"
)

// The events of one customer are processed in the order of their arrival, whichever workers and servers claim them:
// the first payment decides about the customer's partner. Each event has a turn for each name of its customer, from its
// arrival until its first outcome, also if it then waits for missing data.

// soon is when an event is retried after an earlier event that another server may be processing.
const soon = time.Second

// turns returns the keys of an event's turns.
func turns(r processor.Reading) []string {
	cleanNames(&r)
	var keys []string
	for _, b := range payers(r) {
		b.Coupon = nil // many customers share it
		for _, name := range keysOf(b) {
			keys = append(keys, work.TurnKey(name))
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
type blockedError struct{ before db.InboxBlockerRow }

func (e *blockedError) Error() string {
	return "the earlier event " + e.before.EventID + " is not processed"
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

// processed returns a channel that is closed when a worker of this run is done with an event; nil if no worker has it.
func (b *batches) processed(id string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.claimed[id]
}

// line holds the blocked events of a worker. It never waits while it has events that it could process, and only for
// the event before its first one, so that two workers do not wait for each other.
type line struct {
	*batches
	blocked []db.InboxClaimRow
	before  map[string]string // by blocked event: the event before it
	missing map[string]string // likewise, if no worker of this run had that event
}

// add keeps a blocked event. It releases the event if no worker of this run is processing the one before it.
func (l *line) add(ctx context.Context, e db.InboxClaimRow, by *blockedError) error {
	before := by.before.EventID
	switch {
	case l.processed(before) != nil:
		delete(l.missing, e.ID)
	case l.missing[e.ID] != before:
		l.missing[e.ID] = before // it may have been processed at this moment, which the next attempt shows
	default:
		wait := soon
		if by.before.Failed {
			wait = retryAfter
		}
		return l.later(ctx, wait, e)
	}
	l.before[e.ID] = before
	l.blocked = append(l.blocked, e)
	return nil
}

// later releases events, which are due again after a time.
func (l *line) later(ctx context.Context, wait time.Duration, events ...db.InboxClaimRow) error {
	return l.release(ctx, events, l.at(l.Clock.Now().Plus(wait)))
}

// next waits for the event before the first blocked one, and returns the blocked events that it may have unblocked. If
// it takes too long, next releases all, since other organizations need the worker.
func (l *line) next(ctx context.Context) (events []db.InboxClaimRow, err error) {
	if len(l.blocked) == 0 {
		return nil, nil
	}
	slices.SortFunc(l.blocked, func(x, y db.InboxClaimRow) int { return cmp.Compare(x.ID, y.ID) })
	if before := l.processed(l.before[l.blocked[0].ID]); before != nil {
		bounded, cancel := context.WithTimeout(ctx, slow)
		defer cancel()
		select {
		case <-before:
		case <-bounded.Done():
			return nil, l.later(ctx, soon, l.blocked...)
		}
	}
	l.blocked, events = split(l.blocked, func(e db.InboxClaimRow) bool { return l.processed(l.before[e.ID]) != nil })
	return events, nil
}
