package bench

import "fmt"

// goal is the target of a figure: at least the limit, or at most if most is set.
type goal struct {
	name  string
	got   float64
	limit float64
	most  bool
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
		})
	}
	if len(r.Deliveries) > 0 {
		out = append(out,
			goal{name: "webhooks: deliveries a second to many endpoints", got: r.deliveries(manyEndpoints), limit: 4000},
			goal{name: "webhooks: median delay, ms", got: r.Delay.P50, limit: 50, most: true},
			goal{name: "webhooks: 99th percentile of the delay, ms", got: r.Delay.P99, limit: 250, most: true},
		)
	}
	if r.Footprint.Start > 0 {
		out = append(out,
			goal{name: "memory at rest, MB", got: r.Footprint.Rest, limit: 60, most: true},
			goal{name: "memory with many connections, MB", got: r.Footprint.Crowd, limit: 100, most: true},
			goal{name: "start, seconds", got: r.Footprint.Start, limit: 0.5, most: true},
			goal{name: "start with a new database, seconds", got: r.Footprint.First, limit: 3, most: true},
		)
	}
	return out
}

// reference is the processor time, in microseconds, of a sale in pgbench with 8 clients in the table of the README.
const reference = 1072

// judge prints the goals that a run meets and misses, and returns the number of missed ones.
func (b *bench) judge(now run) (missed int) {
	fmt.Fprintln(b.Out, "\ngoals:")
	if f := now.of("sale", 8); f.Clients > 0 {
		fmt.Fprintf(b.Out, "pgbench took %.1f times the processor time of the README's table for a sale with 8 clients; "+
			"goals in seconds, milliseconds and a second depend on it\n", f.PgbenchCPU/reference)
	}
	for _, g := range now.goals() {
		word, bound, holds := "holds ", "at least", g.got >= g.limit
		if g.most {
			bound, holds = "at most", g.got <= g.limit
		}
		if !holds {
			word = "missed"
			missed++
		}
		fmt.Fprintf(b.Out, "%s  %s: %.4g, %s %.4g\n", word, g.name, g.got, bound, g.limit)
	}
	return missed
}
