package inbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/work"
)

const (
	// maxPerOrg is how many workers may serve an organization that needs requests to its processor: even if that is
	// slow, the other workers serve other organizations.
	maxPerOrg = 3
	// batchSize is the number of events that a worker claims at once. It is small, so that no event waits long behind
	// the others and every organization is served soon.
	batchSize = 8
	// slow is the processing time above which a worker releases the organization's remaining events.
	slow = 2 * time.Second
	// lease is how long claimed events belong to their worker; after a crash they wait this long.
	lease = 30 * time.Second
	// releaseAfter is when a worker releases events it has not started, well before their lease expires and another
	// worker would start them.
	releaseAfter = lease / 2
)

// batches claims and processes the events of a run, in rounds over the organizations: a long queue of one
// organization does not delay the others.
type batches struct {
	Worker
	ahead time.Duration // of the run's time before the clock
	after string        // the last organization served

	mu     sync.Mutex
	asking map[string]int // workers by organization whose processor they may query
}

// at converts a time of the clock to the run's.
func (b *batches) at(now clock.Time) clock.Time { return now.Plus(b.ahead) }

// claim claims events of the next organizations, and returns none if none is due in a whole round.
func (b *batches) claim(ctx context.Context, now clock.Time) ([]db.InboxClaimRow, error) {
	for {
		claimed, err := queries.InboxClaim(ctx, b.Pool, db.InboxClaimParams{
			After: b.after, Now: new(b.at(now)), Held: b.fullOrgs(), Share: batchSize, Until: now.Plus(lease),
		})
		if err != nil {
			return nil, err
		}
		whole := b.after == ""
		if b.after = ""; len(claimed) == batchSize {
			for _, e := range claimed {
				b.after = max(b.after, e.OrgID)
			}
		}
		if len(claimed) > 0 || whole {
			b.count(claimed, 1)
			return claimed, nil
		}
	}
}

// fullOrgs returns the organizations that have maxPerOrg workers.
func (b *batches) fullOrgs() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := []string{}
	for org, n := range b.asking {
		if n >= maxPerOrg {
			all = append(all, org)
		}
	}
	return all
}

// count changes the number of workers of the organizations among events whose processors must be queried.
func (b *batches) count(events []db.InboxClaimRow, by int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var orgs []string
	for _, e := range events {
		if e.Asks && !slices.Contains(orgs, e.OrgID) {
			orgs = append(orgs, e.OrgID)
			b.asking[e.OrgID] += by
		}
	}
}

// processShared processes events together, in transactions that they share. It returns the events that were not
// processed: those that failed or need a separate transaction.
func (b *batches) processShared(ctx context.Context, quick []db.InboxClaimRow) (left []db.InboxClaimRow) {
	if b.Commits == nil {
		return quick
	}
	errs := make([]error, len(quick))
	var all sync.WaitGroup
	for i, e := range quick {
		all.Go(func() {
			do := func(u *work.Unit) error { return b.work(ctx, u, e, nil) }
			errs[i] = b.unit(e, b.at(b.Clock.Now())).WithinShared(ctx, b.Commits, do)
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			left = append(left, quick[i])
		}
	}
	return left
}

// processEach processes claimed events, beginning with events that need no request to a processor. Those that do not
// share a transaction follow one by one.
func (b *batches) processEach(ctx context.Context, claimed []db.InboxClaimRow) error {
	defer b.count(claimed, -1)
	enough := b.Clock.Now().Plus(releaseAfter)
	quick, others := split(claimed, func(e db.InboxClaimRow) bool { return !e.Asks && e.Failures <= 1 })
	left := slices.Concat(b.processShared(ctx, quick), others)
	for begun := false; len(left) > 0; begun = true {
		began := b.Clock.Now()
		if ctx.Err() != nil || begun && began.After(enough.Time) {
			return b.release(ctx, left, b.at(began))
		}
		worked := left[0]
		if err := b.one(ctx, worked, b.at(began)); err != nil {
			return err
		}
		left = left[1:]
		ended := b.Clock.Now()
		if ended.Before(began.Plus(slow).Time) {
			continue
		}
		own, others := split(left, func(e db.InboxClaimRow) bool { return e.OrgID == worked.OrgID })
		if err := b.release(ctx, own, b.at(ended)); err != nil {
			return err
		}
		left = others
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
