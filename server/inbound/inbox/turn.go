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
	// hands is how many events are worked at the same time.
	hands = 6
	// most is how many hands one organization has at once whose processor is asked what
	// its events lack: however slowly that answers, the others are left to the rest.
	most = 3
	// handful is how many events one hand takes at once. Few, so that none waits long
	// behind the others and every organization soon has its turn.
	handful = 8
	// look is how often a free hand looks for more while others are at work.
	look = 500 * time.Millisecond
	// slow is how long one event takes from which on a hand gives back what else it has of
	// the same organization, whose turn is over.
	slow = 2 * time.Second
	// lease is how long taken events are left to their worker; after a kill they wait
	// this long.
	lease = 30 * time.Second
	// tired is when a hand gives back what it has not begun: those events are not
	// worked by another at the same time, which would begin when the lease runs out.
	tired = lease / 2
)

// Run works all that is due. An event that cannot be worked does not stop the
// others.
func (w Worker) Run(ctx context.Context, now clock.Time) error {
	for {
		t := &turn{now: now, began: w.Clock.Now(), asking: map[string]int{}}
		var group errgroup.Group
		for range hands {
			group.Go(func() error { return w.hand(ctx, t) })
		}
		// The last ones may have made others due, which waited for them.
		if err := group.Wait(); err != nil || t.taken == 0 || ctx.Err() != nil {
			return err
		}
	}
}

// turn takes events for all hands, going round the organizations: however much one of
// them has, each of the others has its own worked before that one's next.
type turn struct {
	now    clock.Time // of the round, when it began by the worker's clock
	began  clock.Time
	mu     sync.Mutex
	after  string         // the organization that came last
	empty  *clock.Time    // when a whole round last found nothing
	taken  int            // how many in all
	busy   int            // hands that have events
	idle   chan struct{}  // ends when none has any more
	asking map[string]int // hands by the organization whose processor they may ask
}

// at returns a time of the worker's clock as one of the round.
func (t *turn) at(now clock.Time) clock.Time { return t.now.Plus(now.Sub(t.began.Time)) }

// take returns some events of the next organizations. Where nothing is due it returns
// none, and a channel that ends with the work of the others, nil if there is none.
func (t *turn) take(ctx context.Context, w Worker) ([]db.InboxClaimRow, <-chan struct{}, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for now := w.Clock.Now(); t.empty == nil || !now.Before(t.empty.Plus(look).Time); {
		taken, err := queries.InboxClaim(ctx, w.Pool, db.InboxClaimParams{
			After: t.after, Now: new(t.at(now)), Held: t.held(), Share: handful, Until: now.Plus(lease),
		})
		if err != nil {
			return nil, nil, err
		}
		whole := t.after == ""
		if t.after = ""; len(taken) == handful {
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

// held are the organizations that have as many hands as one may.
func (t *turn) held() []string {
	all := []string{}
	for org, n := range t.asking {
		if n >= most {
			all = append(all, org)
		}
	}
	return all
}

// begin notes that a hand has events.
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

// end notes that a hand has done with events.
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

// askers are the organizations among events whose processors are asked.
func askers(events []db.InboxClaimRow) (orgs []string) {
	for _, e := range events {
		if e.Asks && !slices.Contains(orgs, e.OrgID) {
			orgs = append(orgs, e.OrgID)
		}
	}
	return orgs
}
