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
	// mostSale and mostHook are what a neighbour's sale, and the way of its event to
	// its receiver, may take at p99 beyond what they take in peace: the machine may
	// be busy with other things.
	mostSale = time.Second
	mostHook = 2 * time.Second
	// salesPerSecond is what the neighbour sells, whether or not earlier sales are
	// answered.
	salesPerSecond = 15
	// tries is how often the neighbour may trade until it was well: the machine may
	// be busy with other things for a while.
	tries = 3
	// arriving bounds the wait for the last events.
	arriving = 15 * time.Second
)

// neighbours is G11: one organization does its worst, and another's sales and
// webhooks go on as if it were not there, and lose nothing.
func neighbours(ctx context.Context, w *world, size Size) (f figures, err error) {
	n, err := newNeighbour(ctx, w)
	if err != nil {
		return nil, err
	}
	a, err := newAttacker(ctx, w, size)
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
		f.add("(done, refused, given up) of "+one.name, one)
	}
	f.add("sales of the neighbour", len(worst.sales))
	f.add("ms p99 of a sale", worst.sales.p99().Milliseconds())
	f.add("in peace", calm.sales.p99().Milliseconds())
	f.add("ms p99 of a webhook", worst.hooks.p99().Milliseconds())
	f.add("in peace", calm.hooks.p99().Milliseconds())
	if err = errors.Join(err, worst.beyond(calm), n.complete(ctx), under.came()); hanging < 20 {
		err = errors.Join(err, fmt.Errorf("%d receivers hung: the attack is none", hanging))
	}
	return f, err
}

// siege lets the neighbour trade under the attack.
func siege(ctx context.Context, n *neighbour, a *attacker, calm traded,
	size Size) (worst traded, under attacks, hanging int, err error) {
	under = a.worst()
	attacking, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { a.attack(attacking, under, size) })
	for range tries {
		if worst, err = n.trade(ctx, time.Duration(size.of(60, 6))*time.Second); err != nil || worst.beyond(calm) == nil {
			break
		}
	}
	hanging = a.receiver.held()
	stop()
	all.Wait()
	return worst, under, hanging, err
}

// times are how long things took.
type times []time.Duration

func (t times) p99() time.Duration {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	return sorted[len(sorted)*99/100]
}

// neighbour is the organization that must notice nothing.
type neighbour struct {
	w                 *world
	o                 *org
	program, customer string
	path              string // of its receiver
	sold              int
}

func newNeighbour(ctx context.Context, w *world) (n *neighbour, err error) {
	n = &neighbour{w: w, path: "/neighbour"}
	if n.o, err = w.org(ctx, "Neighbour"); err != nil {
		return nil, err
	}
	n.program = n.o.made(ctx, "/v1/programs", M{
		"name": "Neighbour", "website_url": "https://neighbour.example", "currency": "USD", "holding_period_days": 0,
	})
	n.o.object(ctx, "/v1/flows", M{"program_id": n.program, "name": "All", "rate_type": "percent", "rate_value": 2000})
	partner := n.o.partner(ctx, things{"prg_": n.program})
	n.customer = n.o.made(ctx, "/v1/customers", M{
		"program_id": n.program, "partner_id": partner, "email": w.unique("buyer") + "@example.com",
	})
	n.o.object(ctx, "/v1/webhook_endpoints", M{
		"program_id": n.program, "url": w.sink.keep(n.path), "event_types": []string{"sale.created"},
	})
	return n, nil
}

// traded is what the neighbour's sales took, and the ways of their events.
type traded struct{ sales, hooks times }

// trade sells for a while at a steady rate and waits for the events.
func (n *neighbour) trade(ctx context.Context, length time.Duration) (out traded, err error) {
	answered := map[string]time.Time{} // by the request
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
				"program_id": n.program, "customer_id": n.customer, "external_charge_id": n.w.unique("ch"), "amount_minor": 5000,
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

// arrived waits for the events of requests, and tells how long each was on its
// way from the answer.
func (n *neighbour) arrived(ctx context.Context, answered map[string]time.Time) (out times, err error) {
	for limit := time.Now().Add(arriving); len(out) < len(answered); {
		out = nil
		for _, r := range n.w.sink.got(n.path) {
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

// beyond tells what took longer than it may, compared with peace.
func (t traded) beyond(calm traded) (err error) {
	if t.sales.p99() > mostSale+calm.sales.p99() {
		err = fmt.Errorf("the neighbour's p99 of a sale is %s, %s in peace", t.sales.p99(), calm.sales.p99())
	}
	if t.hooks.p99() > mostHook+calm.hooks.p99() {
		err = errors.Join(err,
			fmt.Errorf("the neighbour's p99 of a webhook is %s, %s in peace", t.hooks.p99(), calm.hooks.p99()))
	}
	return err
}

// complete tells whether every sale that was answered is there.
func (n *neighbour) complete(ctx context.Context) error {
	if total := n.o.get(ctx, "/v1/sales?program_id="+n.program).int("total_count"); total != int64(n.sold) {
		return fmt.Errorf("the neighbour has %d sales of %d", total, n.sold)
	}
	return nil
}
