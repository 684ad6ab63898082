package bar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// mostSale and mostHook bound how much longer than in peace a neighbour's sale,
	// and its event's way to the receiver, may take at p99. They leave room for other
	// work of the machine.
	mostSale = time.Second
	mostHook = 2 * time.Second
	// salesPerSecond is the neighbour's rate, which does not wait for answers: a
	// slow server must not lower its own load.
	salesPerSecond = 15
	// arriving is the longest wait for the last events.
	arriving = 15 * time.Second
)

// neighbours is G11: one organization attacks with all that it is allowed, and
// another's sales and webhooks must be neither slower nor lost. The other one trades in
// peace first: what is slow on this machine is measured, and not assumed.
func neighbours(ctx context.Context, sys *system, size Size) (f figures, err error) {
	n, err := newNeighbour(ctx, sys)
	if err != nil {
		return nil, err
	}
	a, err := newAttacker(ctx, sys, size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close(context.WithoutCancel(ctx))) }()
	calm, err := n.trade(ctx, time.Duration(size.of(10, 3))*time.Second)
	if err != nil {
		return nil, err
	}
	if err := a.queue(ctx, size.of(200, 20)); err != nil {
		return nil, err
	}
	worst, under, hanging, err := siege(ctx, n, a, calm, size)
	f.add("receivers of the attacker", a.endpoints)
	f.add("hanging at the end", hanging)
	f.add("partners due in its batch", a.due)
	f.add(fmt.Sprintf("flows of %d KiB", a.flowBytes>>10), a.flows)
	for _, one := range under {
		f.add("done, refused and timed out: "+one.name, one)
	}
	f.add("sales of the neighbour", len(worst.sales))
	f.add("ms p99 of a sale", worst.sales.p99().Milliseconds())
	f.add("without attack", calm.sales.p99().Milliseconds())
	f.add("ms p99 of a webhook", worst.hooks.p99().Milliseconds())
	f.add("without attack", calm.hooks.p99().Milliseconds())
	if err = errors.Join(err, worst.overBounds(calm), n.complete(ctx), under.idle()); hanging < 20 {
		err = errors.Join(err, fmt.Errorf("%d receivers hung: the attack is none", hanging))
	}
	return f, err
}

// siege measures the neighbour's trade during the attack. The attack goes on from one try
// to the next, so that its queues only grow.
func siege(ctx context.Context, n *neighbour, a *attacker, calm traded,
	size Size) (worst traded, under attacks, hanging int, err error) {
	under = a.worst()
	attacking, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { a.attack(attacking, under, size) })
	for range size.of(3, 6) { // other work may slow the machine for a while: one must be within the bounds
		if worst, err = n.trade(ctx, time.Duration(size.of(60, 6))*time.Second); err != nil || worst.overBounds(calm) == nil {
			break
		}
	}
	hanging = a.receiver.waiting()
	stop()
	all.Wait()
	return worst, under, hanging, err
}

// times is a list of durations.
type times []time.Duration

// p99 returns the duration that one in a hundred exceeds.
func (t times) p99() time.Duration {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	return sorted[len(sorted)*99/100]
}

// neighbour is the organization that the attack must not slow.
type neighbour struct {
	sys               *system
	o                 *org
	program, customer string
	path              string // path of its receiver
	sold              int
}

// newNeighbour makes an ordinary program: one flow, one partner, and a receiver of its sales.
func newNeighbour(ctx context.Context, sys *system) (n *neighbour, err error) {
	n = &neighbour{sys: sys, path: "/neighbour"}
	if n.o, err = sys.org(ctx, "Neighbour"); err != nil {
		return nil, err
	}
	n.program = n.o.createID(ctx, "/v1/programs", M{
		"name": "Neighbour", "website_url": "https://neighbour.example", "currency": "USD", "holding_period_days": 0,
	})
	n.o.object(ctx, "/v1/flows", M{"program_id": n.program, "name": "All", "rate_type": "percent", "rate_value": 2000})
	partner := n.o.partner(ctx, objects{"prg_": n.program})
	n.customer = n.o.createID(ctx, "/v1/customers", M{
		"program_id": n.program, "partner_id": partner, "email": sys.unique("buyer") + "@example.com",
	})
	n.o.object(ctx, "/v1/webhook_endpoints", M{
		"program_id": n.program, "url": sys.sink.keep(n.path), "event_types": []string{"sale.created"},
	})
	return n, nil
}

// traded has the times of sales, and of their events from the answer to the receiver.
type traded struct{ sales, hooks times }

// trade records sales at a steady rate for length and waits for their events.
func (n *neighbour) trade(ctx context.Context, length time.Duration) (out traded, err error) {
	answered := map[string]time.Time{} // by request id
	var mu sync.Mutex
	var selling sync.WaitGroup
	tick := time.NewTicker(time.Second / salesPerSecond)
	defer tick.Stop()
	for end := time.Now().Add(length); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-tick.C:
		}
		selling.Go(func() {
			began := time.Now()
			a := n.o.object(ctx, "/v1/sales", M{
				"program_id": n.program, "customer_id": n.customer, "external_charge_id": n.sys.unique("ch"), "amount_minor": 5000,
				"currency": "USD",
			})
			mu.Lock()
			defer mu.Unlock()
			if out.sales = append(out.sales, time.Since(began)); a.status/100 == 2 {
				answered[a.header.Get("Rail-Request-Id")] = time.Now()
			}
		})
	}
	selling.Wait()
	n.sold += len(answered)
	out.hooks, err = n.arrived(ctx, answered)
	return out, err
}

// arrived waits for the events of requests, and returns the time of each from its
// request's answer to its arrival.
func (n *neighbour) arrived(ctx context.Context, answered map[string]time.Time) (out times, err error) {
	for limit := time.Now().Add(arriving); len(out) < len(answered); {
		out = nil
		for _, r := range n.sys.sink.got(n.path) {
			if at, mine := answered[r.header.Get("Rail-Request-Id")]; mine {
				out = append(out, max(0, r.arrived.Sub(at)))
			}
		}
		if time.Now().After(limit) {
			return out, fmt.Errorf("%d of the neighbour's %d events have arrived", len(out), len(answered))
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return out, err
		}
	}
	return out, nil
}

// overBounds returns an error for each figure above its bound, compared with peace.
func (t traded) overBounds(calm traded) (err error) {
	if t.sales.p99() > mostSale+calm.sales.p99() {
		err = fmt.Errorf("the neighbour's p99 of a sale is %s, %s in peace", t.sales.p99(), calm.sales.p99())
	}
	if t.hooks.p99() > mostHook+calm.hooks.p99() {
		err = errors.Join(err,
			fmt.Errorf("the neighbour's p99 of a webhook is %s, %s in peace", t.hooks.p99(), calm.hooks.p99()))
	}
	return err
}

// complete returns an error unless every sale that was answered exists.
func (n *neighbour) complete(ctx context.Context) error {
	if total := n.o.get(ctx, "/v1/sales?program_id="+n.program).int("total_count"); total != int64(n.sold) {
		return fmt.Errorf("the neighbour has %d sales of %d", total, n.sold)
	}
	return nil
}
