package sale

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/problem"
)

func TestPaymentIsValidated(t *testing.T) {
	t.Parallel()
	now := clock.At(time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC))
	for param, change := range map[string]func(*Payment){
		"currency":    func(p *Payment) { p.Currency = "XXX" },
		"tax_minor":   func(p *Payment) { p.TaxMinor = new(int64(101)) },
		"occurred_at": func(p *Payment) { p.OccurredAt = new(now.Plus(maxAhead + time.Second)) },
		"interval":    func(p *Payment) { p.BillingType, p.Interval = new("one_time"), new("month") },
		"metadata":    func(p *Payment) { p.Metadata = []byte("[]") },
	} {
		p := Payment{AmountMinor: 100, Currency: "USD"}
		change(&p)
		_, err := p.validate(now)
		refused, ok := errors.AsType[*problem.Error](err)
		require.True(t, ok, param)
		require.Equal(t, param, refused.Param)
	}
	got, err := Payment{Currency: "eur", Interval: new("month"), OccurredAt: new(now.Plus(maxAhead))}.validate(now)
	require.NoError(t, err)
	require.Equal(t, []any{"EUR", "subscription", true}, []any{got.Currency, got.BillingType, got.Dated})
}
