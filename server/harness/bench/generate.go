package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// orders is what the load generator is told.
type orders struct {
	Addr, Key, Load  string
	World            world
	Clients, Seconds int
}

// outcome is what the load generator saw. Times are microseconds.
type outcome struct {
	Requests int
	Seconds  float64
	P50, P99 int64
}

// warmUp is sent before the measured time, with the same connections.
const warmUp = 500 * time.Millisecond

// Generate is the load generator: it reads its orders, and writes "start" when
// the measured time begins, "done" when it ends, and then what it saw.
func Generate(in io.Reader, out io.Writer) error {
	var o orders
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return err
	}
	l, err := find(o.Load)
	if err != nil {
		return err
	}
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

func at(sorted []time.Duration, quantile float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(quantile*float64(len(sorted)-1))].Microseconds()
}

// together runs every client until the end and returns all times.
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

// client sends one request after the other on one connection.
func (o orders) client(l load, fresh *atomic.Int64, end time.Time) ([]time.Duration, error) {
	c, err := dial(o.Addr, o.Key)
	if err != nil {
		return nil, err
	}
	defer c.close()
	rnd := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	var took []time.Duration
	for {
		d := l.pick(o.World, rnd)
		d.Fresh = fresh.Add(1)
		began := time.Now()
		if began.After(end) {
			return took, nil
		}
		if err := c.do(l.ask(d)); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Load, err)
		}
		took = append(took, time.Since(began))
	}
}
