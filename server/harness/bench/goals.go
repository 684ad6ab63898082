package bench

import "fmt"

// goal is the target of a figure: at least the limit, or at most if most is set. It applies to any number of clients
// if clients is 0.
type goal struct {
	load    string // "" is every load
	clients int
	what    string
	figure  func(now, base figure) float64 // 0 where it was not measured
	limit   float64
	most    bool
}

// goals are the server's targets relative to pgbench, which has no server in front and sends each transaction alone.
var goals = []goal{
	{"sale", 32, "requests to pgbench", ofPgbench, 1.6, false},
	{"keyed", 32, "requests to pgbench", ofPgbench, 1.5, false},
	{"click", 32, "requests to pgbench", ofPgbench, 2.0, false},
	{"sale", 128, "requests to pgbench", ofPgbench, 2.0, false},
	{"keyed", 128, "requests to pgbench", ofPgbench, 2.0, false},
	{"click", 128, "requests to pgbench", ofPgbench, 2.5, false},
	{"retrieve", 0, "processor time to the floor's", ofFloor, 1.4, true},
	{"", 8, "that ratio to the base run's", ofBase, 0.97, false},
}

func ofPgbench(now, _ figure) float64 { return now.Ratio }

func ofFloor(now, _ figure) float64 { return now.FloorRatio }

// ofBase compares the ratios to pgbench and not the requests, so that the two runs may be of another hour.
func ofBase(now, base figure) float64 {
	if base.Ratio == 0 {
		return 0
	}
	return now.Ratio / base.Ratio
}

// judge prints the goals that a run meets, and returns the number of missed ones. Goals without a measurement are
// skipped.
func (b *bench) judge(now, base run) (missed int) {
	fmt.Fprintln(b.Out, "\ngoals:")
	for _, g := range goals {
		for _, f := range now.Figures {
			if g.load != "" && g.load != f.Load || g.clients != 0 && g.clients != f.Clients {
				continue
			}
			got := g.figure(f, base.of(f.Load, f.Clients))
			if got == 0 {
				continue
			}
			word, bound, holds := "holds ", "at least", got >= g.limit
			if g.most {
				bound, holds = "at most", got <= g.limit
			}
			if !holds {
				word = "missed"
				missed++
			}
			fmt.Fprintf(b.Out, "%s  %s, %d clients: %s %.2f, %s %.2f\n", word, f.Load, f.Clients, g.what, got, bound, g.limit)
		}
	}
	return missed
}
