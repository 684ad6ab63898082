package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rail/server/clock"
	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
	"rail/server/inbound/stripe"
	"rail/server/jobs"
	"rail/server/secret"
	"rail/server/work"
)

// eventsPerSecond times the length of a slice are the events of one number of clients.
const eventsPerSecond = 1000

// eventSecret signs the events of every connection.
const eventSecret = "whsec_bench"

// paid is how many of Stripe's events a second, sent by a number of clients, were taken
// and became commissions, and the microseconds of processor time of each, with the database and the sending.
type paid struct {
	Clients         int
	Taken, Recorded float64
	Micros          float64
}

// stripes are connections of all programs, with what works the inbox as a server does.
type stripes struct {
	*bench
	keeper      *secret.Keeper
	connections map[int64]string // by program
	next        atomic.Int64
}

// events measures how many signed events a second of Stripe come from the wire to
// their commissions: paid invoices of customers that are known.
func (b *bench) events(ctx context.Context, base run) (out []paid, err error) {
	s := &stripes{bench: b, connections: map[int64]string{}}
	if s.keeper, err = secret.New(b.config.SecretKey); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	runner := jobs.NewRunner(clock.System{}, slog.New(slog.DiscardHandler), nil)
	for _, j := range jobs.All(jobs.Deps{
		Pool: b.server.pool, Keeper: s.keeper, Clock: clock.System{}, Plan: b.config.Plan(), Log: slog.New(slog.DiscardHandler),
	}) {
		if j.Name == "work-inbox" {
			go runner.Loop(ctx, j)
		}
	}
	for _, clients := range b.Clients {
		if _, err := s.slice(ctx, clients, int64(eventsPerSecond*warmUp.Seconds())); err != nil {
			return nil, fmt.Errorf("events, %d clients, warm-up: %w", clients, err)
		}
		stop, err := s.profile(fmt.Sprintf("events-%d.pprof", clients))
		if err != nil {
			return nil, err
		}
		p, err := s.slice(ctx, clients, int64(eventsPerSecond*b.Seconds))
		stop()
		if err != nil {
			return nil, fmt.Errorf("events, %d clients: %w", clients, err)
		}
		out = append(out, p)
		fmt.Fprintf(b.Out, "events of Stripe: %d clients, %.0f/s taken, %.0f/s from the wire to the commission%s, each %.0f us\n", clients,
			p.Taken, p.Recorded, was("%.0f", base.events(clients).Recorded), p.Micros)
	}
	return out, nil
}

// connect connects every program.
func (s *stripes) connect(ctx context.Context) error {
	u := work.NewRun(s.server.pool, work.Actor{Kind: work.Operator, ID: "bench"}, clock.System{}.Now()).For(org)
	return u.Within(ctx, func(u *work.Unit) error {
		for program := int64(programBase); program < programBase+programs; program++ {
			c, _, err := connection.Service{Keeper: s.keeper}.Connect(ctx, u, connection.Input{
				ProgramID: id("prg", program), Processor: connection.Stripe, Live: true, Secret: eventSecret,
			})
			if err != nil {
				return err
			}
			s.connections[program] = c.ID
		}
		return nil
	})
}

// slice sends events by a number of clients, and waits until all are recorded.
func (s *stripes) slice(ctx context.Context, clients int, events int64) (paid, error) {
	p, left := paid{Clients: clients}, atomic.Int64{}
	left.Store(events)
	before, err := s.recorded(ctx)
	if err != nil {
		return p, err
	}
	used, began := s.meter.read(0), time.Now()
	group, run := errgroup.WithContext(ctx)
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer web.CloseIdleConnections()
	for range clients {
		group.Go(func() error {
			for left.Add(-1) >= 0 {
				if err := s.send(run, web); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return p, err
	}
	p.Taken = float64(events) / time.Since(began).Seconds()
	if err := s.processed(ctx); err != nil {
		return p, err
	}
	p.Recorded = float64(events) / time.Since(began).Seconds()
	_, p.Micros = s.meter.read(0).since(used).of(float64(events))
	if now, err := s.recorded(ctx); err != nil || now-before != events {
		return p, errors.Join(fmt.Errorf("%d of %d events were recorded", now-before, events), err)
	}
	return p, nil
}

// processed waits until no event is due; those of the sample wait for a century. Its query reads one entry of an index, so
// that it costs the server little.
func (s *stripes) processed(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute+time.Duration(s.Seconds)*time.Minute)
	defer stop()
	for left := true; left; time.Sleep(10 * time.Millisecond) { // little against the seconds that this takes
		err := s.server.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM inbox_events
			WHERE org_id = $1 AND due_at < now() + interval '1 year' ORDER BY due_at LIMIT 1)`, org).Scan(&left)
		if err != nil {
			return err
		}
	}
	return nil
}

// recorded returns how many events have become sales.
func (s *stripes) recorded(ctx context.Context) (n int64, err error) {
	err = s.server.pool.QueryRow(ctx, `SELECT count(*) FROM inbox_events WHERE status = 'recorded'`).Scan(&n)
	return n, err
}

// send sends the paid invoice of some customer.
func (s *stripes) send(ctx context.Context, web *http.Client) error {
	d, now := pickCustomer(s.size, rand.New(rand.NewPCG(rand.Uint64(), 0))), time.Now()
	p := stripetest.Purchase{
		Version: stripetest.Clover, Name: fmt.Sprint("bench", s.next.Add(1)), Live: true, At: now,
		Customer: fmt.Sprintf("ext%d", d.Customer-customerBase), Subscription: true, Invoiced: true, Amount: 4999,
		Currency: "usd",
	}
	body := p.Event("invoice.paid", p.Invoice())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+s.server.addr+"/hooks/stripe/"+s.connections[d.Program], bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set(stripe.Header, stripetest.Sign(eventSecret, body, now))
	res, err := web.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it is read to its end
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.200s", res.StatusCode, text)
	}
	return err
}

// profile starts a profile where they are asked for, and returns what ends it.
func (s *stripes) profile(name string) (stop func(), err error) {
	if s.Profiles == "" {
		return func() {}, nil
	}
	f, err := os.Create(filepath.Join(s.Profiles, name))
	if err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // a truncated profile reports it itself
	}, pprof.StartCPUProfile(f)
}
