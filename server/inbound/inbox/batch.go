package inbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/processor"
	"rail/server/work"
	"rail/server/work/queue"
)

const (
	// maxPerOrg is how many workers may serve an organization that needs requests to its processor: even if that is
	// slow, the other workers serve other organizations.
	maxPerOrg = 3
	// maxShared bounds the sealed payload of an event that shares a transaction, in bytes: many are in memory at once.
	maxShared = 64 << 10
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

	mu      sync.Mutex
	asking  map[string]int   // workers by organization whose processor they may query
	claimed map[string]int64 // the attempt of each event that a worker has
	changed chan struct{}    // closed and replaced when a worker is done with an event
}

// at converts a time of the clock to the run's.
func (b *batches) at(now clock.Time) clock.Time { return now.Plus(b.ahead) }

// claim claims events of the next organizations, and returns none if no organization has due events that are free.
func (b *batches) claim(ctx context.Context, now clock.Time) ([]db.InboxClaimRow, error) {
	now = b.at(now)
	claimed, err := queries.InboxClaim(ctx, b.Pool, db.InboxClaimParams{
		After: b.after, Now: &now, Held: b.fullOrgs(), Until: now.Plus(lease), MaxPayload: maxShared,
	})
	if err != nil {
		return nil, err
	}
	b.after = lastOrg(claimed, b.after)
	// The statement returns them in any order; an id begins with the time of arrival.
	slices.SortFunc(claimed, func(x, y db.InboxClaimRow) int { return cmp.Compare(x.ID, y.ID) })
	b.count(claimed, 1)
	b.hold(claimed)
	return claimed, nil
}

// lastOrg returns the last organization of a claim that began after another one. If nothing was claimed, it returns the
// other one.
func lastOrg(claimed []db.InboxClaimRow, after string) string {
	last, wrapped := after, ""
	for _, e := range claimed {
		if e.OrgID > after {
			last = max(last, e.OrgID)
		} else {
			wrapped = max(wrapped, e.OrgID)
		}
	}
	return cmp.Or(wrapped, last)
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

// processShared processes events together, in transactions that they share. It returns the others, in their order: the
// failed ones, and the ones that need a separate transaction.
func (b *batches) processShared(ctx context.Context, quick []db.InboxClaimRow) []db.InboxClaimRow {
	if b.Commits == nil {
		return quick
	}
	readings := b.shareable(quick)
	var all sync.WaitGroup
	for i, r := range readings {
		if r == nil {
			continue
		}
		all.Go(func() {
			err := queue.Guard(func() error {
				do := func(u *work.Unit) error { return b.work(ctx, u, quick[i], r) }
				return b.unit(quick[i], b.at(b.Clock.Now())).WithinShared(ctx, b.Commits, do)
			})
			if err != nil {
				readings[i] = nil
				return
			}
			b.done(quick[i])
		})
	}
	all.Wait()
	var left []db.InboxClaimRow
	for i, r := range readings {
		if r == nil {
			left = append(left, quick[i])
		}
	}
	return left
}

// shareable returns the readings of the events that may be processed at once, nil for the others: an event that has
// failed before may fail again, and events about the same payment or customer are processed in their order. None
// follows an event whose names are unknown.
func (b *batches) shareable(quick []db.InboxClaimRow) []*parsed {
	out, seen := make([]*parsed, len(quick)), map[string]bool{}
	for i, e := range quick {
		body, err := b.Keeper.Open(e.Payload, PayloadPlace(e.ID))
		if err != nil { // or the payload is too large
			break
		}
		r := parse(e.Processor, body)
		all := names(r.r)
		if e.Failures <= 1 && !slices.ContainsFunc(all, func(name string) bool { return seen[name] }) {
			out[i] = &r
		}
		for _, name := range all {
			seen[name] = true
		}
	}
	return out
}

// names returns the names of the payment and of the customer that an event is about.
func names(r processor.Reading) []string {
	links := []processor.Link{r.Link}
	if p := r.Payment; p != nil {
		links = append(links, p.Link, processor.Link{Charge: p.Bought, Alias: []string{p.Recurs}})
	}
	if r.Refund != nil {
		links = append(links, r.Refund.Link)
	}
	if r.Dispute != nil {
		links = append(links, r.Dispute.Link)
	}
	var all []string
	for _, l := range links {
		all = append(all, chargeKeys(linked(l))...)
	}
	for _, b := range payers(r) {
		all = append(all, keysOf(b)...)
	}
	return all
}

// processEach processes claimed events, beginning with events that need no request to a processor. Events without a
// shared transaction follow one by one, and blocked events at the end. The rest is released.
func (b *batches) processEach(ctx context.Context, claimed []db.InboxClaimRow) error {
	defer b.count(claimed, -1)
	defer b.done(claimed...)
	asking, quick := split(claimed, func(e db.InboxClaimRow) bool { return e.Asks })
	waiting, cancel := context.WithTimeout(ctx, slow) // other organizations need the worker
	defer cancel()
	l := workerQueue{batches: b, left: slices.Concat(b.processShared(ctx, quick), asking), retried: map[string]bool{}}
	err := l.run(ctx, waiting)
	return errors.Join(err, b.release(ctx, l.left, b.at(b.Clock.Now())), l.releaseBlocked(ctx))
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

// release returns claimed events that were not processed; they are due at a time.
func (b *batches) release(ctx context.Context, events []db.InboxClaimRow, due clock.Time) error {
	defer b.done(events...)
	var errs []error
	for _, e := range events {
		errs = append(errs, queries.InboxRelease(context.WithoutCancel(ctx), b.Pool, db.InboxReleaseParams{
			Now: due, ID: e.ID, OrgID: e.OrgID, Attempts: e.Attempts,
		}))
	}
	return errors.Join(errs...)
}
