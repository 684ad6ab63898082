package inbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rail/gen/db"
	"rail/server/clock"
)

const (
	// workers is the number of events processed concurrently.
	workers = 6
	// maxPerOrg is how many workers may serve an organization that needs requests to its processor: even if that is
	// slow, the other workers serve other organizations.
	maxPerOrg = 3
	// batchSize is the number of events that a worker claims at once. It is small, so that no event waits long behind
	// the others and every organization is served soon.
	batchSize = 8
	// pollInterval is how often an idle worker checks for events while others are busy.
	pollInterval = 500 * time.Millisecond
	// slow is the processing time above which a worker releases the organization's remaining events.
	slow = 2 * time.Second
	// lease is how long claimed events belong to their worker; after a crash they wait this long.
	lease = 30 * time.Second
	// releaseAfter is when a worker releases events it has not started, well before their lease expires and another
	// worker would start them.
	releaseAfter = lease / 2
)

// Run processes all due events. A failing event does not stop the others.
func (w Worker) Run(ctx context.Context, now clock.Time) error {
	for {
		t := &turn{now: now, began: w.Clock.Now(), asking: map[string]int{}}
		var group errgroup.Group
		for range workers {
			group.Go(func() error { return w.run(ctx, t) })
		}
		// The last events may have made others due that waited for them.
		if err := group.Wait(); err != nil || t.taken == 0 || ctx.Err() != nil {
			return err
		}
	}
}

// turn claims events for all workers in rounds over the organizations: a long queue of one organization does not
// delay the others.
type turn struct {
	now    clock.Time // the round's time, and when it began by the worker's clock
	began  clock.Time
	mu     sync.Mutex
	after  string         // the last organization served
	empty  *clock.Time    // when a whole round last found nothing
	taken  int            // total number of claimed events
	busy   int            // number of workers with events
	idle   chan struct{}  // closed when no worker has events
	asking map[string]int // workers by organization whose processor they may query
}

// at converts a time of the worker's clock to the round's.
func (t *turn) at(now clock.Time) clock.Time { return t.now.Plus(now.Sub(t.began.Time)) }

// take claims events of the next organizations. If none is due it returns none, and a channel that closes when
// the busy workers are done, nil if there are none.
func (t *turn) take(ctx context.Context, w Worker) ([]db.InboxClaimRow, <-chan struct{}, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for now := w.Clock.Now(); t.empty == nil || !now.Before(t.empty.Plus(pollInterval).Time); {
		taken, err := queries.InboxClaim(ctx, w.Pool, db.InboxClaimParams{
			After: t.after, Now: new(t.at(now)), Held: t.held(), Share: batchSize, Until: now.Plus(lease),
		})
		if err != nil {
			return nil, nil, err
		}
		whole := t.after == ""
		if t.after = ""; len(taken) == batchSize {
			for _, e := range taken {
				t.after = max(t.after, e.OrgID)
			}
		}
		if len(taken) > 0 {
			t.empty = nil
			t.begin(taken)
			return taken, nil, nil
		}
		if whole {
			t.empty = &now
		}
	}
	return nil, t.idle, nil
}

// held returns the organizations that have maxPerOrg workers.
func (t *turn) held() []string {
	all := []string{}
	for org, n := range t.asking {
		if n >= maxPerOrg {
			all = append(all, org)
		}
	}
	return all
}

// begin notes that a worker has events.
func (t *turn) begin(taken []db.InboxClaimRow) {
	if t.busy == 0 {
		t.idle = make(chan struct{})
	}
	t.busy++
	t.taken += len(taken)
	for _, org := range askers(taken) {
		t.asking[org]++
	}
}

// end notes that a worker is done with events.
func (t *turn) end(taken []db.InboxClaimRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, org := range askers(taken) {
		t.asking[org]--
	}
	if t.busy--; t.busy == 0 {
		close(t.idle)
		t.idle = nil
	}
}

// askers returns the organizations among events whose processors must be queried.
func askers(events []db.InboxClaimRow) (orgs []string) {
	for _, e := range events {
		if e.Asks && !slices.Contains(orgs, e.OrgID) {
			orgs = append(orgs, e.OrgID)
		}
	}
	return orgs
}
