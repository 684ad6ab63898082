package inbox

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rail/gen/db"
	"rail/server/clock"
)

const (
	// hands is how many events are worked at the same time.
	hands = 6
	// handful is how many events one hand takes at once. Few, so that none waits long
	// behind the others and every organization soon has its turn.
	handful = 8
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
		t := &turn{now: now}
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
	now   clock.Time
	mu    sync.Mutex
	after string // the organization that came last
	over  bool   // a whole round found nothing
	taken int    // how many in all
}

// take returns some events of the next organizations; none when nothing is due.
func (t *turn) take(ctx context.Context, w Worker) ([]db.InboxClaimRow, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.over {
		taken, err := queries.InboxClaim(ctx, w.Pool, db.InboxClaimParams{
			After: t.after, Now: &t.now, Share: handful, Until: w.Clock.Now().Plus(lease),
		})
		if err != nil {
			return nil, err
		}
		whole := t.after == ""
		if t.after = ""; len(taken) == handful {
			for _, e := range taken {
				t.after = max(t.after, e.OrgID)
			}
		}
		if t.taken += len(taken); len(taken) > 0 {
			return taken, nil
		}
		t.over = whole
	}
	return nil, nil
}

// hand works events one after the other until nothing is due.
func (w Worker) hand(ctx context.Context, t *turn) error {
	for {
		taken, err := t.take(ctx, w)
		if err != nil || len(taken) == 0 {
			return err
		}
		enough := w.Clock.Now().Plus(tired)
		for i, e := range taken {
			if ctx.Err() != nil || i > 0 && w.Clock.Now().After(enough.Time) {
				err = w.giveBack(ctx, taken[i:], t.now)
				break
			}
			if err := w.one(ctx, e, t.now); err != nil {
				return err
			}
		}
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// giveBack lets anybody take events that were taken and not begun.
func (w Worker) giveBack(ctx context.Context, events []db.InboxClaimRow, now clock.Time) error {
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
