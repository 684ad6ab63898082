package bar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
	"rail/server/inbound/stripe"
	"rail/server/work"
)

// streamSecret signs what is sent to the storm's connection.
const streamSecret = "whsec_storm"

// stream is the part of G7 in which Stripe sends events to two servers, in any order and more
// than once, while these are killed.
type stream struct {
	*storm
	program, connection string
	payees              map[string]string // by handle
	events              [][]byte
	owed                map[string]int64 // what each partner has earned in the end, by handle
	sales, left         int64            // and what remains of how many sales
	taken, broken       atomic.Int64     // deliveries that were answered, and that were cut off
}

// streamed delivers the events of n purchases until each has been answered with 200 and
// the kills are over. Each then has an outcome, and the books are those of the purchases.
func (s *storm) streamed(ctx context.Context, size Size, f *figures) error {
	st := &stream{storm: s, owed: map[string]int64{}, payees: map[string]string{}}
	rnd := s.sys.random("g7", 2000)
	if err := st.prepare(ctx, size.of(120, 20), rnd); err != nil {
		return err
	}
	kills := size.of(16, 3)
	if err := st.rage(ctx, kills, rnd); err != nil {
		return err
	}
	if size.Smoke { // end the leases of killed servers now, not in half a minute
		_, err := s.sys.pool.Exec(ctx, `UPDATE inbox_events SET due_at = now() WHERE due_at > now() AND `+unprocessed, st.connection)
		if err != nil {
			return err
		}
	}
	waited, err := st.worked(ctx)
	if err != nil {
		return err
	}
	f.add("Stripe events", len(st.events))
	f.add("deliveries of them", st.taken.Load())
	f.add("kills during them", kills)
	f.add("ms until the last was processed", waited.Milliseconds())
	return st.verify(ctx)
}

// prepare connects a program with three partners, and makes the events.
func (s *stream) prepare(ctx context.Context, purchases int, rnd *rand.Rand) error {
	s.program = s.o.createID(ctx, "/v1/programs", M{
		"name": "Stream", "website_url": "https://stream.example", "currency": "USD", "holding_period_days": 0,
	})
	s.o.createID(ctx, "/v1/flows", M{"program_id": s.program, "name": "All", "rate_type": "percent", "rate_value": 2000})
	handles := []string{"stream-a", "stream-b", "stream-c"}
	for _, handle := range handles {
		s.payees[handle] = s.o.createID(ctx, "/v1/partners", M{
			"program_id": s.program, "email": handle + "@example.com", "handle": handle,
		})
	}
	err := s.o.unit().Within(ctx, func(u *work.Unit) error {
		c, _, err := connection.Service{Keeper: s.sys.keeper}.Connect(ctx, u, connection.Input{
			ProgramID: s.program, Processor: connection.Stripe, Live: true, Secret: streamSecret,
		})
		s.connection = c.ID
		return err
	})
	if err != nil {
		return err
	}
	for i := range purchases {
		handle := pick(rnd, handles)
		click := s.o.createID(ctx, "/v1/clicks", M{
			"program_id": s.program, "value": handle, "visitor_token": s.sys.unique("visitor"),
			"landing_url": "https://stream.example/?ref=" + handle,
		})
		s.buy(i, handle, click, rnd)
	}
	rnd.Shuffle(len(s.events), func(i, j int) { s.events[i], s.events[j] = s.events[j], s.events[i] })
	return nil
}

// buy adds the events of a purchase, a part of which is refunded, and its expected result. Amounts are whole dollars,
// so that 20 % needs no rounding.
func (s *stream) buy(i int, handle, click string, rnd *rand.Rand) {
	p := stripetest.Purchase{
		Version: stripetest.Versions[i%len(stripetest.Versions)], Name: fmt.Sprint("storm", i), Live: true, At: time.Now(),
		Customer: fmt.Sprint("cus_storm", i), Subscription: true, Invoiced: true, Amount: 100 * (10 + rnd.Int64N(90)),
		Currency: "usd", Email: fmt.Sprintf("storm%d@example.com", i), Reference: click,
	}
	add := func(kind string, o stripetest.Object, suffix ...string) {
		s.events = append(s.events, p.Event(kind, o, suffix...))
	}
	add("checkout.session.completed", p.Session())
	add("invoice.paid", p.Invoice())
	add("invoice.payment_succeeded", p.Invoice())
	add("invoice_payment.paid", p.InvoicePayment())
	left := p.Amount
	for level := range rnd.IntN(3) { // none, some, or some more
		p.Refunded += 100 * (1 + rnd.Int64N(4))
		add("charge.refunded", p.ChargeObject(), fmt.Sprint(level))
	}
	left -= p.Refunded
	if rnd.IntN(4) == 0 {
		lost := 100 * (1 + rnd.Int64N(p.Amount/100))
		add("charge.dispute.created", p.Dispute(lost, "needs_response"))
		add("charge.dispute.closed", p.Dispute(lost, "lost"))
		left = max(0, left-lost)
	}
	s.sales++
	s.left += left
	s.owed[handle] += left / 5
}

// rage delivers all events, and then some of them again, until the kills are over.
func (s *stream) rage(ctx context.Context, kills int, rnd *rand.Rand) error {
	const senders = 8
	var over atomic.Bool
	var next atomic.Int64
	g, run := errgroup.WithContext(ctx)
	for i := range senders {
		own := s.sys.random("g7", 3000+i)
		g.Go(func() error {
			for {
				at := int(next.Add(1)) - 1
				if at >= len(s.events) {
					if over.Load() {
						return nil
					}
					at = own.IntN(len(s.events))
				}
				if err := s.deliver(run, s.events[at]); err != nil {
					return err
				}
				if err := pause(run, time.Duration(own.IntN(20))*time.Millisecond); err != nil {
					return err
				}
			}
		})
	}
	err := s.killRepeatedly(run, kills, rnd)
	over.Store(true)
	if err := errors.Join(err, g.Wait()); err != nil {
		return err
	}
	if s.broken.Load() == 0 {
		return errors.New("no delivery was cut off: the kills hit nothing")
	}
	return nil
}

// killRepeatedly kills and restarts a server several times.
func (s *stream) killRepeatedly(ctx context.Context, kills int, rnd *rand.Rand) error {
	for range kills {
		if err := pause(ctx, time.Duration(200+rnd.IntN(400))*time.Millisecond); err != nil {
			return err
		}
		p := pick(rnd, s.sys.processes)
		if err := errors.Join(p.kill(), p.again(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// deliver sends an event to one server and, as Stripe does, again until it is answered with
// 200. A server that is there answers with nothing else, but 503 while it starts or ends.
func (s *stream) deliver(ctx context.Context, body []byte) error {
	began := time.Now()
	for {
		to := s.sys.processes[int(s.sys.turn.Add(1))%len(s.sys.processes)].addr
		status, err := s.post(ctx, "http://"+to+"/hooks/stripe/"+s.connection, body)
		switch {
		case err == nil && status == http.StatusOK:
			s.taken.Add(1)
			return nil
		case err != nil:
			s.broken.Add(1)
		case status != http.StatusServiceUnavailable:
			s.sys.fault("a signed event is answered %d", status)
		}
		if time.Since(began) > stuck {
			return fmt.Errorf("an event is not taken after %s: %d %w", stuck, status, err)
		}
		if err := pause(ctx, 15*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *stream) post(ctx context.Context, url string, body []byte) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set(stripe.Header, stripetest.Sign(streamSecret, body, time.Now()))
	res, err := s.sys.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close() //nolint:errcheck // it is read to its end
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// unprocessed matches the events of a connection that have no outcome or are due again. An ignored event is retried a
// minute after it was processed; any other time is of an event that another one woke, or of a worker's lease.
const unprocessed = `connection_id = $1
	AND (status IN ('pending', 'waiting') OR due_at <> processed_at + interval '1 minute')`

// worked waits until all events are processed, which includes the leases of killed servers.
func (s *stream) worked(ctx context.Context) (time.Duration, error) {
	for began := time.Now(); ; {
		var open int
		err := s.sys.pool.QueryRow(ctx, `SELECT count(*) FROM inbox_events WHERE `+unprocessed, s.connection).Scan(&open)
		took := time.Since(began)
		switch {
		case err != nil || open == 0:
			return took, err
		case took > 45*time.Second:
			return took, fmt.Errorf("%d events are not processed after %s", open, took)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return took, err
		}
	}
}

// verify compares the recorded objects with the purchases.
func (s *stream) verify(ctx context.Context) error {
	var events, ended, sales, left int64
	err := s.sys.pool.QueryRow(ctx, `SELECT
		(SELECT count(*) FROM inbox_events WHERE connection_id = $1),
		(SELECT count(*) FROM inbox_events WHERE connection_id = $1 AND status IN ('recorded', 'ignored')),
		(SELECT count(*) FROM sales WHERE program_id = $2),
		(SELECT sum(CASE WHEN refunded_at IS NULL THEN amount_minor ELSE 0 END) FROM sales WHERE program_id = $2)`,
		s.connection, s.program).Scan(&events, &ended, &sales, &left)
	if err != nil {
		return err
	}
	if n := int64(len(s.events)); events != n || ended != n || sales != s.sales || left != s.left {
		s.sys.fault("%d events with %d outcomes, %d sales of which %d remain; want %d, %d and %d", events, ended, sales, left, n,
			s.sales, s.left)
	}
	for handle, want := range s.owed {
		var due int64
		for _, b := range s.o.get(ctx, "/v1/balances?program_id="+s.program+"&partner_id="+s.payees[handle]).data() {
			due += b.int("due_minor")
		}
		if due != want {
			s.sys.fault("%s is owed %d, and has earned %d", handle, due, want)
		}
	}
	return nil
}
