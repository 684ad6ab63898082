package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// lastRun is the default file of the last run.
const lastRun = ".bench/last.json"

// run has the results of a run, as saved.
type run struct {
	At         time.Time
	Load       string // load averages before it
	Rows       int
	Figures    []figure
	Deliveries []deliveries
	Delay      delay
	Events     []paid
	Footprint  footprint
	Pages      []page
}

// delay is the time from the commit of an event to its arrival, in milliseconds.
type delay struct{ P50, P99 float64 }

// footprint has the memory of the process without the pages of its binary, in MB. Start is the median time of starts
// with an existing database, and First the time of one start with a new database, in seconds.
type footprint struct{ Rest, Crowd, Start, First float64 }

// figure has the medians of a load with a number of clients. Times are in microseconds. Processor times are per
// request: of the server and its database, of pgbench and its database, and of the floor and its database. 0 means
// not measured.
type figure struct {
	Load                    string
	Clients                 int
	Rate, P50, P99, Pgbench float64 // requests and transactions a second
	Ratio                   float64 // of Rate to Pgbench
	Server, CPU             float64 // of the server alone, and with the database
	PgbenchCPU, CPURatio    float64
	FloorRate, FloorCPU     float64
	FloorRatio              float64 // of CPU to FloorCPU
	Log, Files              float64 // bytes that the database wrote to its log, and grew by
	Objects, Heap           float64 // objects and bytes that the server allocated
}

// deliveries is how many webhooks a second went to a number of endpoints.
type deliveries struct {
	Endpoints int
	Rate      float64
}

// of returns the figure of a load, the zero value where the run does not have it.
func (r run) of(load string, clients int) figure {
	for _, f := range r.Figures {
		if f.Load == load && f.Clients == clients {
			return f
		}
	}
	return figure{}
}

// deliveries returns the rate to a number of endpoints, 0 where the run does not have it.
func (r run) deliveries(endpoints int) float64 {
	for _, d := range r.Deliveries {
		if d.Endpoints == endpoints {
			return d.Rate
		}
	}
	return 0
}

// events returns the rates of Stripe's events by a number of clients, zeros where the run does not
// have them.
func (r run) events(clients int) paid {
	for _, p := range r.Events {
		if p.Clients == clients {
			return p
		}
	}
	return paid{}
}

// measured returns the fields that are measured, for the median of each.
func (f *figure) measured() []*float64 {
	return []*float64{
		&f.Rate, &f.P50, &f.P99, &f.Pgbench, &f.Ratio, &f.Server, &f.CPU, &f.PgbenchCPU, &f.CPURatio, &f.FloorRate, &f.FloorCPU,
		&f.FloorRatio, &f.Log, &f.Files, &f.Objects, &f.Heap,
	}
}

// middle returns the medians of the rounds of a load. A ratio is taken in each round before the
// median, since what slows one side of a round mostly slows the other too.
func middle(rounds []figure) figure {
	out := rounds[0]
	for i, to := range out.measured() {
		values := make([]float64, len(rounds))
		for n := range rounds {
			values[n] = *rounds[n].measured()[i]
		}
		slices.Sort(values)
		// Of an even number, between the two in the middle.
		n := len(values)
		*to = (values[(n-1)/2] + values[n/2]) / 2
	}
	return out
}

// baseRun reads the run to compare with: the one at path, or the last one if path is "" and there is
// one.
func baseRun(path string) (run, error) {
	explicit := path != ""
	if !explicit {
		path = lastRun
	}
	var out run
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !explicit {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("%s is no saved run: %w", path, err)
	}
	return out, nil
}

// save writes the run to path, or where the next one looks for it.
func (r run) save(path string) error {
	if path == "" {
		path = lastRun
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
