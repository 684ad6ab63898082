package paypal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/paypaltest"
	"rail/server/money/payout"
	"rail/server/money/payout/paypal"
)

// Probabilities of what happens to the sender.
const (
	forgets = 0.05 // it ends after a submission, before it stores the id
	sleeps  = 0.02 // it then stays away for 26 days
)

// A payment is a payout of the simulated sender.
type payment struct {
	payout.Transfer
	payable     bool // PayPal pays its amount
	value       string
	submissions int
	away        bool // until sleeper's time
	refused     bool
	unconfirmed bool
	status      payout.Status
}

// A simulation is a sender that submits each payout until it has an id, and then polls it.
type simulation struct {
	rail     payout.Rail
	fake     *paypaltest.Server
	clock    *clock.Manual
	random   *rand.Rand
	payments []*payment
	faults   []string
}

// A bug is a wrong rail, or a wrong way to PayPal.
type bug struct {
	rail func(payout.Rail) payout.Rail
	way  func(http.RoundTripper) http.RoundTripper
}

// local answers requests without a network.
type local struct{ http.Handler }

func (l local) RoundTrip(r *http.Request) (res *http.Response, err error) {
	defer func() {
		if lost := recover(); lost != nil {
			res, err = nil, io.ErrUnexpectedEOF
		}
	}()
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	return w.Result(), nil
}

// simulate sends n payouts and returns what went wrong.
func simulate(ctx context.Context, seed uint64, n int, b bug) *simulation {
	manual := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	fake := paypaltest.New(paypaltest.Config{Clock: manual, Seed: seed, Plan: paypaltest.Trouble(0.04)})
	way := http.RoundTripper(local{fake})
	if b.way != nil {
		way = b.way(way)
	}
	s := &simulation{fake: fake, clock: manual, random: rand.New(rand.NewPCG(seed, 1))}
	s.rail = paypal.New(paypal.Config{
		URL: "http://paypal", ClientID: "client", Secret: "secret", Clock: manual, HTTP: &http.Client{Transport: way},
	})
	if b.rail != nil {
		s.rail = b.rail(s.rail)
	}
	for i := range n {
		s.payments = append(s.payments, newPayment(fmt.Sprint("pyt_", i), i))
	}
	s.run(ctx)
	s.audit()
	return s
}

func newPayment(id string, i int) *payment {
	p := &payment{Transfer: transfer(id), payable: true}
	units := i + 1
	switch i % 10 {
	case 0:
		p.Currency, p.AmountMinor, p.value = "HUF", int64(units)*100, fmt.Sprint(units)
	case 1:
		p.Currency, p.AmountMinor, p.value = "JPY", int64(units), fmt.Sprint(units)
	case 2:
		p.Currency, p.AmountMinor, p.payable = "HUF", int64(units)*100+50, false
	case 3:
		p.Currency, p.AmountMinor, p.value = "USD", int64(units)*100+5, fmt.Sprintf("%d.05", units)
	default:
		p.AmountMinor, p.value = int64(units)*100+50, fmt.Sprintf("%d.50", units)
	}
	return p
}

// run advances all payouts again and again, for 110 days, and then until every poll had an answer.
func (s *simulation) run(ctx context.Context) {
	end := s.clock.Now().Days(110)
	for round := 0; s.clock.Now().Before(end.Time); round++ {
		for _, p := range s.payments {
			if !p.rests() || round%5 == 0 {
				s.advance(ctx, p, round)
			}
		}
		s.clock.Advance(min(time.Minute<<min(round, 13), 5*day))
	}
	for _, p := range s.payments {
		for range 25 {
			if s.advance(ctx, p, 0) {
				break
			}
		}
	}
}

// rests reports whether a payout seldom changes.
func (p *payment) rests() bool { return p.status.State != "" && p.status.State != payout.InFlight }

// advance submits or polls a payout, as the server's sender does. It reports whether the rail gave an answer.
func (s *simulation) advance(ctx context.Context, p *payment, round int) bool {
	if p.refused || p.unconfirmed {
		return true
	}
	if p.away && s.clock.Now().Sub(p.SubmittedAt.Time) < 26*day {
		return false
	}
	if p.ExternalID == "" && !s.submit(ctx, p) {
		return p.refused || p.unconfirmed
	}
	status, err := s.rail.Status(ctx, p.Transfer)
	if s.waits(err) {
		return s.advance(ctx, p, round)
	}
	if err != nil {
		return false
	}
	p.status = status
	s.compare(p)
	return true
}

// submit reports whether the sender has an id afterwards.
func (s *simulation) submit(ctx context.Context, p *payment) bool {
	if p.SubmittedAt == nil {
		p.SubmittedAt = new(s.clock.Now())
	}
	before := s.fake.Submissions(p.ID)
	p.submissions++
	id, err := s.rail.Submit(ctx, p.Transfer)
	switch {
	case s.waits(err):
		return s.submit(ctx, p)
	case errors.Is(err, payout.ErrUnconfirmed):
		p.unconfirmed = true
		if s.fake.Submissions(p.ID) != before {
			s.fault("%s was submitted although it is unconfirmed", p.ID)
		}
	case errorIs[payout.Refusal](err):
		p.refused = p.refused || p.submissions == 1
	case err != nil:
	case s.random.Float64() < forgets:
		p.away = s.random.Float64() < sleeps/forgets
	default:
		p.ExternalID = id
	}
	return p.ExternalID != ""
}

// waits lets the time of a payout.Busy pass.
func (s *simulation) waits(err error) bool {
	busy, ok := errors.AsType[payout.Busy](err)
	if ok {
		s.clock.Advance(busy.For)
	}
	return ok
}

func (s *simulation) fault(format string, a ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, a...))
}

// truths has the status for each state of an item.
var truths = map[paypaltest.Status]payout.Status{
	paypaltest.Pending:   {State: payout.InFlight},
	paypaltest.Success:   {State: payout.Settled},
	paypaltest.Unclaimed: {State: payout.InFlight, Attention: payout.Unclaimed},
	paypaltest.OnHold:    {State: payout.InFlight, Attention: payout.OnHold},
	paypaltest.Failed:    {State: payout.Rejected},
	paypaltest.Blocked:   {State: payout.Rejected},
	paypaltest.Returned:  {State: payout.Returned, Attention: payout.CameBack},
	paypaltest.Refunded:  {State: payout.Returned, Attention: payout.CameBack},
	paypaltest.Reversed:  {State: payout.Returned, Attention: payout.Reversed},
}

// compare checks the status of a poll against the state at PayPal at this time.
func (s *simulation) compare(p *payment) {
	items := s.fake.Items(p.ID)
	if len(items) != 1 {
		s.fault("%s has the status %s and %d items", p.ID, p.status.State, len(items))
		return
	}
	want, got := truths[items[0].Status], p.status
	if got.State != want.State || got.Attention != want.Attention {
		s.fault("%s is %s and has the status %s %s", p.ID, items[0].Status, got.State, got.Attention)
	}
	if got.Code != items[0].Code && items[0].Code != "" {
		s.fault("%s has the code %s instead of %s", p.ID, got.Code, items[0].Code)
	}
	if got.State == payout.Settled && (got.Fee == nil || got.Fee.Currency != items[0].Fee.Currency) {
		s.fault("%s has not the fee %v", p.ID, items[0].Fee)
	}
}

// audit compares all payouts with the money that left. A receiver has one payout.
func (s *simulation) audit() {
	byReceiver := map[string][]paypaltest.Payment{}
	for _, p := range s.fake.Paid() {
		byReceiver[p.Receiver] = append(byReceiver[p.Receiver], p)
	}
	for _, p := range s.payments {
		rows := byReceiver[p.Email]
		switch {
		case len(rows) > 1 || len(rows) == 1 && rows[0].Accepted > 1:
			s.fault("%s was paid twice: %v", p.ID, rows)
		case p.refused == p.payable:
			s.fault("%s was refused: %v", p.ID, p.refused)
		case p.refused:
			if len(rows) > 0 {
				s.fault("%s was refused, and is at PayPal", p.ID)
			}
		case len(rows) == 0:
			s.fault("%s never came to PayPal", p.ID)
		case rows[0].Value != p.value || rows[0].Currency != p.Currency:
			s.fault("%s paid %s %s instead of %s %s", p.ID, rows[0].Value, rows[0].Currency, p.value, p.Currency)
		case p.unconfirmed:
			if s.clock.Now().Sub(p.SubmittedAt.Time) <= 25*day {
				s.fault("%s is unconfirmed too early", p.ID)
			}
		default:
			s.auditEnd(p, rows[0])
		}
	}
}

// auditEnd checks that the last status is the end.
func (s *simulation) auditEnd(p *payment, row paypaltest.Payment) {
	if (p.status.State == payout.Settled) != (row.Count == 1) || row.Open > 0 || p.status.State == payout.InFlight {
		s.fault("%s ends as %s with %d payments", p.ID, p.status.State, row.Count)
	}
}

// TestSimulation: in trouble of all kinds each payout is paid at most once, and each end is seen at the next poll.
func TestSimulation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			s := simulate(t.Context(), seed, 2000, bug{})
			require.Empty(t, s.faults)
			ends, unconfirmed := map[payout.Status]int{}, 0
			for _, p := range s.payments {
				ends[payout.Status{State: p.status.State, Attention: p.status.Attention}]++
				if p.unconfirmed {
					unconfirmed++
				}
			}
			require.Len(t, ends, 5, "refused or unconfirmed, settled, rejected, returned, reversed: %v", ends)
			require.NotZero(t, unconfirmed)
		})
	}
}

// A wrapped rail has a bug.
type wrapped struct {
	payout.Rail
	submit func(payout.Rail, context.Context, payout.Transfer) (string, error)
	status func(payout.Status, error) (payout.Status, error)
}

func (w wrapped) Submit(ctx context.Context, t payout.Transfer) (string, error) {
	if w.submit == nil {
		return w.Rail.Submit(ctx, t)
	}
	return w.submit(w.Rail, ctx, t)
}

func (w wrapped) Status(ctx context.Context, t payout.Transfer) (payout.Status, error) {
	status, err := w.Rail.Status(ctx, t)
	if w.status == nil {
		return status, err
	}
	return w.status(status, err)
}

// rewrite changes the bodies of requests.
type rewrite struct {
	http.RoundTripper
	change func([]byte) []byte
}

func (w rewrite) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(w.change(body)))
	return w.RoundTripper.RoundTrip(r)
}

func submits(f func(payout.Rail, context.Context, payout.Transfer) (string, error)) bug {
	return bug{rail: func(r payout.Rail) payout.Rail { return wrapped{Rail: r, submit: f} }}
}

func reports(f func(payout.Status, error) (payout.Status, error)) bug {
	return bug{rail: func(r payout.Rail) payout.Rail { return wrapped{Rail: r, status: f} }}
}

// TestSeededBugs: the simulation finds each wrong rail.
func TestSeededBugs(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int64
	for name, c := range map[string]struct {
		bug  bug
		says string
	}{
		"another id on retry": {submits(func(r payout.Rail, ctx context.Context, t payout.Transfer) (string, error) {
			t.ID = fmt.Sprint(t.ID, "-", attempts.Add(1))
			return r.Submit(ctx, t)
		}), "was paid twice"},
		"success at submission": {reports(func(s payout.Status, err error) (payout.Status, error) {
			if s.State == payout.InFlight {
				s.State = payout.Settled
			}
			return s, err
		}), "is PENDING and has the status settled"},
		"swallowed reversal": {reports(func(s payout.Status, err error) (payout.Status, error) {
			if s.Attention == payout.Reversed {
				s = payout.Status{State: payout.Settled}
			}
			return s, err
		}), "is REVERSED and has the status settled"},
		"unclaimed without attention": {reports(func(s payout.Status, err error) (payout.Status, error) {
			if s.State == payout.InFlight {
				s.Attention = ""
			}
			return s, err
		}), "is UNCLAIMED and has the status in_flight"},
		"HUF with decimals": {bug{way: func(r http.RoundTripper) http.RoundTripper {
			return rewrite{r, func(body []byte) []byte {
				if !bytes.Contains(body, []byte(`"HUF"`)) {
					return body
				}
				return []byte(strings.Replace(string(body), `"},"sender_item_id"`, `.00"},"sender_item_id"`, 1))
			}}
		}}, "was refused: true"},
		"HUF in minor units": {submits(func(r payout.Rail, ctx context.Context, t payout.Transfer) (string, error) {
			if t.Currency == "HUF" {
				t.AmountMinor *= 100
			}
			return r.Submit(ctx, t)
		}), "instead of"},
		"a lost answer as a refusal": {submits(func(r payout.Rail, ctx context.Context, t payout.Transfer) (string, error) {
			id, err := r.Submit(ctx, t)
			if err != nil && !errorIs[payout.Busy](err) {
				err = payout.Refusal{Code: "error", Message: err.Error()}
			}
			return id, err
		}), "was refused: true"},
		"submitted for ever": {submits(func(r payout.Rail, ctx context.Context, t payout.Transfer) (string, error) {
			t.SubmittedAt = nil
			return r.Submit(ctx, t)
		}), "was paid twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := simulate(t.Context(), 1, 250, c.bug).faults
			require.Contains(t, strings.Join(found, "\n"), c.says)
		})
	}
}
