package payout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/work"
)

// stepOf returns a step with n payouts, which notes its name for each lease.
func stepOf(name string, n int, leases *[]string, do func() error) *railStep {
	return &railStep{
		lease: func(context.Context) ([]db.Payout, error) {
			*leases = append(*leases, name)
			taken := min(n, followBatch)
			n -= taken
			return make([]db.Payout, taken), nil
		},
		do: func(context.Context, db.Payout) error { return do() },
	}
}

func fine() error { return nil }

// TestStepsTakeTurns: no step waits until another one has no payouts left.
func TestStepsTakeTurns(t *testing.T) {
	t.Parallel()
	var leases []string
	r := Sender{}.newRound(&work.Unit{}, nil, db.PayoutRail{})
	require.NoError(t, r.runSteps(t.Context(), []*railStep{
		stepOf("submit", 2*followBatch+1, &leases, fine), stepOf("poll", 20*followBatch, &leases, fine),
		stepOf("watch", 1, &leases, fine),
	}))
	require.Equal(t, strings.Fields("submit poll watch submit poll submit poll poll"), leases[:8])
}

// TestFaultsOfOneStep: payouts that cannot be asked about do not end the submissions.
func TestFaultsOfOneStep(t *testing.T) {
	t.Parallel()
	var leases []string
	submitted, lookups := 0, 0
	failed := errors.New("no answer")
	r := Sender{}.newRound(&work.Unit{}, nil, db.PayoutRail{})
	require.NoError(t, r.runSteps(t.Context(), []*railStep{
		stepOf("poll", 9*followBatch, &leases, func() error { lookups++; return failed }),
		stepOf("submit", 2*followBatch, &leases, func() error { submitted++; return nil }),
	}))
	require.Equal(t, []int{maxRailFaults, 2 * followBatch}, []int{lookups, submitted})
	require.ErrorIs(t, r.finish(t.Context()), failed)

	busy := stepOf("poll", 1, &leases, func() error { return Busy{For: time.Minute} })
	require.ErrorAs(t, r.runSteps(t.Context(), []*railStep{busy, stepOf("never", 1, &leases, fine)}), &Busy{})
	require.NotContains(t, leases, "never")
}

// TestNoLeaseWithoutTime: after the round's time no payout is leased, so that none waits for nothing.
func TestNoLeaseWithoutTime(t *testing.T) {
	t.Parallel()
	var leases []string
	r := Sender{}.newRound(&work.Unit{}, nil, db.PayoutRail{})
	step := stepOf("submit", 9, &leases, func() error {
		r.began = clock.Real().Add(-2 * railBudget)
		return nil
	})
	require.NoError(t, r.runSteps(t.Context(), []*railStep{step, stepOf("poll", 1, &leases, fine)}))
	require.Equal(t, []string{"submit"}, leases)
}
