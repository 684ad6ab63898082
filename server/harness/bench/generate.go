package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// orders is the input of the load generator, as JSON.
type orders struct {
	Addr, Key, Load  string
	Size             size
	Clients, Seconds int
}

// outcome is the result of the load generator. Times are in microseconds.
type outcome struct {
	Requests int
	Seconds  float64
	P50, P99 int64
}

// warmUp is the time of unmeasured requests before. They fill the caches of the server and of
// the database, and prepare its statements.
const warmUp = 500 * time.Millisecond

// Generate is the load generator. It reads its orders from in, and writes "start" and "done" around
// the measured time, and then the outcome. By these lines the parent measures its own
// processor time, which is the server's. A request that fails ends the run: a server that
// refuses is fast.
func Generate(in io.Reader, out io.Writer) error {
	// A second thread looks for work when it has none, and takes processor time from the server. pgbench's threads sleep.
	runtime.GOMAXPROCS(1)
	var o orders
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return err
	}
	l, err := generated(o.Load)
	if err != nil {
		return err
	}
	// Numbers no earlier run has used, for what must be unique.
	var fresh atomic.Int64
	fresh.Store(time.Now().UnixMicro())
	if _, err := o.together(l, &fresh, time.Now().Add(warmUp)); err != nil {
		return err
	}
	fmt.Fprintln(out, "start")
	began := time.Now()
	took, err := o.together(l, &fresh, began.Add(time.Duration(o.Seconds)*time.Second))
	if err != nil {
		return err
	}
	elapsed := time.Since(began)
	fmt.Fprintln(out, "done")
	slices.Sort(took)
	return json.NewEncoder(out).Encode(outcome{
		Requests: len(took), Seconds: elapsed.Seconds(), P50: at(took, 0.50), P99: at(took, 0.99),
	})
}

// at returns a quantile in microseconds, 0 of nothing.
func at(sorted []time.Duration, quantile float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(quantile*float64(len(sorted)-1))].Microseconds()
}

// together runs all clients until end and returns the times of all requests. The last one of each
// client may end later.
func (o orders) together(l load, fresh *atomic.Int64, end time.Time) ([]time.Duration, error) {
	var wg sync.WaitGroup
	took, errs := make([][]time.Duration, o.Clients), make([]error, o.Clients)
	for i := range o.Clients {
		wg.Go(func() { took[i], errs[i] = o.client(l, fresh, end) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(took...), nil
}

// client sends one request after the other on a connection. The load falls when the server slows down, so the figures
// are those of a busy server, not of an overloaded one.
func (o orders) client(l load, fresh *atomic.Int64, end time.Time) ([]time.Duration, error) {
	c, err := dial(o.Addr, o.Key)
	if err != nil {
		return nil, err
	}
	defer c.close()
	// Clients draw apart, without a lock.
	rnd := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	var took []time.Duration
	for {
		d := l.pick(o.Size, rnd)
		d.Fresh = fresh.Add(1)
		began := time.Now()
		// Checked before the request, so that the last one is complete.
		if began.After(end) {
			return took, nil
		}
		if err := c.do(l.ask(d)); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Load, err)
		}
		took = append(took, time.Since(began))
	}
}
