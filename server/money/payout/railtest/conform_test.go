package railtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/money/payout"
)

var transfer = payout.Transfer{ID: "payout_1", AmountMinor: 100, Currency: "EUR", Method: "wise"}

// memory opens a rail in memory as a service. It has every function but Forget: it forgets nothing.
func memory() Service {
	r := New()
	return Service{
		Rail: r,
		Paid: func(id string) int {
			_, times := r.Transfer(id)
			return min(times, 1)
		},
		LoseAnswer: func() { r.LoseNext() },
		Busy:       func() { r.Fail(payout.Busy{For: time.Minute}) },
		Drain:      func() { r.Fail(payout.ErrNeedsFunds) },
		Refuse:     func() { r.Fail(payout.Refusal{Code: "closed", Message: "The account is closed."}) },
		Recover:    func() { r.Fail(nil) },
		Settle:     func(id string) { r.End(id, payout.Status{State: payout.Settled}) },
		Return:     func(id string) { r.End(id, payout.Status{State: payout.Returned, Attention: payout.CameBack}) },
	}
}

func TestConform(t *testing.T) {
	t.Parallel()
	Conform(t, transfer, func(*testing.T) Service { return memory() })
}

// silent is a rail whose service reports results itself. The suite must not ask it.
type silent struct{ *Rail }

func (silent) Reports() {}
func (silent) Status(context.Context, payout.Transfer) (payout.Status, error) {
	panic("its status is never asked for")
}

func TestConformReporter(t *testing.T) {
	t.Parallel()
	Conform(t, transfer, func(*testing.T) Service {
		s := memory()
		s.Rail = silent{s.Rail.(*Rail)}
		return s
	})
}

// faulty is a rail whose submissions and reports a test changes.
type faulty struct {
	payout.Rail
	submit func(ctx context.Context, id string, err error) (string, error)
	status func(payout.Status) payout.Status
	name   string
}

func (f faulty) Name() string { return f.name }

func (f faulty) Submit(ctx context.Context, t payout.Transfer) (string, error) {
	id, err := f.Rail.Submit(ctx, t)
	if f.submit != nil {
		return f.submit(ctx, id, err)
	}
	return id, err
}

func (f faulty) Status(ctx context.Context, t payout.Transfer) (payout.Status, error) {
	s, err := f.Rail.Status(ctx, t)
	if f.status != nil {
		s = f.status(s)
	}
	return s, err
}

// TestConformFinds: each check finds the rail that breaks its rule.
func TestConformFinds(t *testing.T) {
	t.Parallel()
	calls := 0
	instead := func(of, with error) func(context.Context, string, error) (string, error) {
		return func(_ context.Context, id string, err error) (string, error) {
			if errors.Is(err, of) {
				err = with
			}
			return id, err
		}
	}
	refusal := payout.Refusal{Code: "no", Message: "No."}
	closed := payout.Refusal{Code: "closed", Message: "The account is closed."}
	for _, c := range []struct {
		check string
		fault faulty
		paid  int // what the service adds to the number of transfers
	}{
		{"name", faulty{name: "file"}, 0},
		{"repeated", faulty{submit: func(context.Context, string, error) (string, error) { return "", nil }}, 0},
		{"repeated", faulty{submit: func(_ context.Context, id string, err error) (string, error) {
			calls++
			return id[:calls], err
		}}, 0},
		{"repeated", faulty{}, 1},
		{"lost answer", faulty{submit: instead(ErrDown, refusal)}, 0},
		{"lost answer", faulty{submit: instead(ErrDown, payout.ErrUnconfirmed)}, 0},
		{"lost answer", faulty{submit: instead(ErrDown, nil)}, 0},
		{"busy", faulty{submit: instead(payout.Busy{For: time.Minute}, ErrDown)}, 0},
		{"busy", faulty{submit: instead(payout.Busy{For: time.Minute}, payout.Busy{})}, 0},
		{"busy", faulty{}, 1},
		{"funds", faulty{submit: instead(payout.ErrNeedsFunds, refusal)}, 0},
		{"unconfirmed", faulty{}, 1},
		{"refusal", faulty{submit: instead(closed, ErrDown)}, 0},
		{"refusal", faulty{submit: instead(closed, payout.Refusal{Code: "no"})}, 0},
		{"canceled", faulty{submit: func(ctx context.Context, id string, err error) (string, error) {
			if ctx.Err() != nil {
				return "", refusal
			}
			return id, err
		}}, 0},
		{"canceled", faulty{status: func(payout.Status) payout.Status { return payout.Status{State: payout.Rejected} }}, 0},
		{"status", faulty{status: func(payout.Status) payout.Status { return payout.Status{} }}, 0},
		{"returned", faulty{status: func(payout.Status) payout.Status { return payout.Status{State: payout.Settled} }}, 0},
		{"returned", faulty{status: func(s payout.Status) payout.Status { return payout.Status{State: s.State} }}, 0},
	} {
		s := memory()
		paid := s.Paid
		s.Paid = func(id string) int { return paid(id) + c.paid }
		s.Forget = func() {}
		c.fault.Rail = s.Rail
		s.Rail = c.fault
		for _, check := range checks {
			if check.name == c.check {
				require.Error(t, check.check(t.Context(), s, transfer), c.check)
			}
		}
	}
}
