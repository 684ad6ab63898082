// Package scale is a load test that measures the cost of each request and job in a
// database and in one with ten times as many rows. It reads the requests from the
// description, so that a new operation or filter is measured, or fails the test.
package scale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rail/openapi"
	"rail/server/clock"
	"rail/server/harness/bench"
	"rail/server/harness/dataset"
)

// Options selects the measurements.
type Options struct {
	Small, Full float64 // factors of the full size
	// SmallDSN and FullDSN are databases that contain the dataset already. Where one
	// is "", a private database is filled.
	SmallDSN, FullDSN string
	Dir               string // parent of private databases; by default the temporary directory
	Only              string // prefix of the names of requests to measure
	Rounds            int    // measurements of each request; the median counts
	Jobs              bool   // run the jobs too, which changes the databases
	All               bool   // print every request, not only the slowest and the growing ones
	Out               io.Writer
}

// until is the end of the dataset: the first of a month, so that the batch of the
// last month is due.
var until = clock.At(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))

// Figure is the cost of a request or a job at both sizes.
type Figure struct {
	Name        string
	Small, Full time.Duration
	Rows        int64 // rows that a job worked on at the full size
	SmallRows   int64
	TooSlow     bool // no answer within the database's time limit
}

// A cost grows when it is larger at the full size by both this ratio and this time:
// the ratio alone is noise for a fast request, the time for a slow one.
const (
	mostRatio = 1.5
	mostMore  = 3 * time.Millisecond
)

// Ratio returns the cost at the full size divided by that at the small one; for jobs
// with rows, the costs of one row.
func (f Figure) Ratio() float64 {
	ratio := float64(f.Full) / float64(max(f.Small, time.Microsecond))
	if f.Rows > 0 && f.SmallRows > 0 {
		ratio *= float64(f.SmallRows) / float64(f.Rows)
	}
	return ratio
}

// Grows reports whether the cost depends on the number of rows of the tables.
func (f Figure) Grows() bool {
	return f.TooSlow || f.Ratio() > mostRatio && f.Full-f.Small > mostMore
}

// ErrGrows is returned for a cost that grows without a reason in the list.
var ErrGrows = errors.New("a cost grows with the tables")

// Run measures and prints the figures. It returns ErrGrows if one grows without a
// reason.
func Run(ctx context.Context, o Options) (err error) {
	list, err := requests(openapi.Bundle)
	if err != nil {
		return err
	}
	small, err := o.open(ctx, o.SmallDSN, o.Small)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, small.close()) }()
	full, err := o.open(ctx, o.FullDSN, o.Full)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, full.close()) }()
	figures, failed := o.measure(ctx, small, full, list)
	if ctx.Err() != nil {
		return failed
	}
	if o.Jobs {
		more, err := o.jobs(ctx, small, full)
		if err != nil {
			return err
		}
		figures = append(figures, more...)
	}
	return errors.Join(failed, o.report(figures, small, full))
}

// open returns the side of a size, on the given database or a private one.
func (o Options) open(ctx context.Context, dsn string, factor float64) (*side, error) {
	if dsn != "" {
		return newSide(ctx, dsn, nil)
	}
	p, err := bench.NewDatabase(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	err = dataset.Load(ctx, p.DSN,
		dataset.Options{Size: dataset.Full.Times(factor), Until: until, Org: dataset.Big, Other: dataset.Small,
			Log: func(format string, args ...any) {
				fmt.Fprintf(o.Out, "%g: "+format+"\n", append([]any{factor}, args...)...)
			}})
	if err == nil {
		err = p.TrimLog(ctx)
	}
	if err == nil {
		var s *side
		if s, err = newSide(ctx, p.DSN, p.Close); err == nil {
			return s, nil
		}
	}
	return nil, errors.Join(err, p.Close())
}

// measure measures all requests, and joins the errors of failed requests. It measures a cost that seems to grow again,
// with more rounds, since other work on the machine may have slowed it.
func (o Options) measure(ctx context.Context, small, full *side, list []request) (out []Figure, failed error) {
	for _, r := range list {
		if !strings.HasPrefix(r.name, o.Only) {
			continue
		}
		f, err := compare(ctx, r, small, full, o.Rounds)
		// A second look is cheap beside a false alarm.
		if err == nil && f.Grows() && !f.TooSlow {
			f, err = compare(ctx, r, small, full, 2*o.Rounds)
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		out = append(out, f)
	}
	return out, failed
}

// compare measures one request on both sides in turn.
func compare(ctx context.Context, r request, small, full *side, rounds int) (Figure, error) {
	var took [2][]time.Duration
	for range rounds + 1 {
		for i, s := range []*side{small, full} {
			d, err := s.ask(ctx, r)
			if errors.Is(err, errTooSlow) {
				return Figure{Name: r.name, Small: median(append(took[0], 0)), Full: d, TooSlow: true}, nil
			}
			if err != nil {
				return Figure{}, err
			}
			took[i] = append(took[i], d)
		}
	}
	return Figure{Name: r.name, Small: median(took[0][1:]), Full: median(took[1][1:])}, nil // the first round warms caches
}

// median sorts d and returns its middle.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// report prints the table and returns an error for each cost that grows.
func (o Options) report(figures []Figure, small, full *side) error {
	// The slowest first.
	slices.SortStableFunc(figures, func(a, b Figure) int { return cmp.Compare(b.Full, a.Full) })
	var wrong []error
	o.heading(small, full)
	for i, f := range figures {
		why := explained(f.Name)
		if f.Grows() && why == "" {
			wrong = append(wrong, fmt.Errorf("%w: %s", ErrGrows, f.Name))
		}
		if o.All || i < 20 || f.Grows() || f.SmallRows > 0 {
			o.line(f, why)
		}
	}
	fmt.Fprintf(o.Out, "\n%d measured, %d grow without a reason\n", len(figures), len(wrong))
	return errors.Join(wrong...)
}
