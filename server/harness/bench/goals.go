package bench

import "fmt"

// goal is the target of a figure: at least the limit, or at most if most is set. A timed goal is in seconds,
// milliseconds or a second, so its limit depends on the machine; other goals are ratios or sizes.
type goal struct {
	name  string
	got   float64
	limit float64
	most  bool
	timed bool
}

// on returns the limit on a machine that is slower than the reference by a factor.
func (g goal) on(slowness float64) float64 {
	switch {
	case !g.timed:
		return g.limit
	case g.most:
		return g.limit * slowness
	default:
		return g.limit / slowness
	}
}

// pace is the target of a load's requests a second, to the transactions of pgbench, which has no server in front and
// sends each transaction alone.
type pace struct {
	load    string
	clients int
	least   float64
}

var paces = []pace{
	{"sale", 8, 0.95},
	{"keyed", 8, 0.95},
	{"click", 8, 0.85},
	{"sale", 32, 1.6},
	{"keyed", 32, 1.5},
	{"click", 32, 2.0},
	{"sale", 128, 2.0},
	{"keyed", 128, 2.0},
	{"click", 128, 2.5},
}

// goals returns the targets whose figures a run measured.
func (r run) goals() (out []goal) {
	for _, p := range paces {
		if f := r.of(p.load, p.clients); f.Clients > 0 {
			out = append(out, goal{
				name: fmt.Sprintf("%s, %d clients: requests to pgbench", p.load, p.clients), got: f.Ratio, limit: p.least,
			})
		}
	}
	for _, f := range r.Figures {
		if f.Load == "retrieve" {
			out = append(out, goal{
				name: fmt.Sprintf("retrieve, %d clients: processor time to the floor's", f.Clients),
				got:  f.FloorRatio, limit: 1.4, most: true,
			})
		}
	}
	for _, p := range r.Events {
		out = append(out, goal{
			name: fmt.Sprintf("events of Stripe, %d clients: commissions a second", p.Clients), got: p.Recorded, limit: 500,
			timed: true,
		})
	}
	if len(r.Deliveries) > 0 {
		out = append(out,
			goal{
				name: "webhooks: deliveries a second to many endpoints", got: r.deliveries(manyEndpoints), limit: 4000,
				timed: true,
			},
			goal{name: "webhooks: median delay, ms", got: r.Delay.P50, limit: 50, most: true, timed: true},
			goal{name: "webhooks: 99th percentile of the delay, ms", got: r.Delay.P99, limit: 250, most: true, timed: true},
		)
	}
	if r.Footprint.Start > 0 {
		out = append(out,
			goal{name: "memory at rest, MB", got: r.Footprint.Rest, limit: 60, most: true},
			goal{name: "memory with many connections, MB", got: r.Footprint.Crowd, limit: 100, most: true},
			goal{name: "start, seconds", got: r.Footprint.Start, limit: 0.5, most: true, timed: true},
			goal{name: "start with a new database, seconds", got: r.Footprint.First, limit: 3, most: true, timed: true},
		)
	}
	return out
}

// reference is the processor time, in microseconds, of a sale in pgbench with 8 clients on the machine for which the
// timed goals were set.
const reference = 1072

// slowness returns the factor by which this machine is slower than the reference, at least 1; 1 without a figure.
func (r run) slowness() float64 { return max(1, r.of("sale", 8).PgbenchCPU/reference) }

// judge prints the goals that a run meets and misses, and returns the number of missed ones.
func (b *bench) judge(now run) (missed int) {
	fmt.Fprintln(b.Out, "\ngoals:")
	slowness := now.slowness()
	if slowness > 1 {
		fmt.Fprintf(b.Out, "this machine takes %.1f times the reference's processor time for a sale in pgbench; "+
			"limits in seconds, milliseconds and a second are adjusted\n", slowness)
	}
	for _, g := range now.goals() {
		limit := g.on(slowness)
		word, bound, holds := "holds ", "at least", g.got >= limit
		if g.most {
			bound, holds = "at most", g.got <= limit
		}
		if !holds {
			word = "missed"
			missed++
		}
		fmt.Fprintf(b.Out, "%s  %s: %.4g, %s %.4g", word, g.name, g.got, bound, limit)
		if limit != g.limit {
			fmt.Fprintf(b.Out, " (%.4g on the reference)", g.limit)
		}
		fmt.Fprintln(b.Out)
	}
	return missed
}
