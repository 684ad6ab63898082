package paypaltest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/paypaltest"
)

// TestCompare: each difference between a payout and its items has a sentence.
func TestCompare(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	euro := func(id, status, attention string) paypaltest.Seen {
		return paypaltest.Seen{ID: id, AmountMinor: 1234, Currency: "EUR", Status: status, Attention: attention}
	}
	for id, fate := range map[string]paypaltest.Fate{
		"good": paypaltest.Becomes(paypaltest.Success, time.Minute),
		"held": paypaltest.Becomes(paypaltest.OnHold, time.Minute),
		"gone": paypaltest.Becomes(paypaltest.Success, time.Minute).Then(paypaltest.Reversed, time.Hour),
	} {
		s.SetFate(id, fate)
		s.pay(id)
	}
	require.Equal(t, []string{"good is paid, and PayPal has not paid it"}, s.Early([]paypaltest.Seen{euro("good", "paid", "")}))
	s.clock.Advance(day)
	good, held, gone := euro("good", "paid", ""), euro("held", "processing", "on_hold"), euro("gone", "paid", "reversed")
	require.Empty(t, s.Compare([]paypaltest.Seen{good, held, gone}))
	require.Empty(t, s.Early([]paypaltest.Seen{good, gone}))
	require.Equal(t, []string{"gone was accepted and is no payout"}, s.Compare([]paypaltest.Seen{good, held}))

	whole := paypaltest.Seen{ID: "half", AmountMinor: 150, Currency: "HUF", Status: "failed"}
	for says, p := range map[string]paypaltest.Seen{
		"held is paid , and PayPal has had [PENDING ONHOLD]":           euro("held", "paid", ""),
		"gone is paid , and PayPal has had [PENDING SUCCESS REVERSED]": euro("gone", "paid", ""),
		"lost is processing , and was never accepted":                  euro("lost", "processing", ""),
		"good was accepted a moment ago and is unconfirmed":            euro("good", "processing", "unconfirmed"),
		"good was accepted with 12.34 EUR instead of 1234 USD":         {ID: "good", AmountMinor: 1234, Currency: "USD", Status: "paid"},
		"half is processing , and PayPal does not pay its amount":      {ID: "half", AmountMinor: 150, Currency: "HUF", Status: "processing"},
	} {
		require.Contains(t, s.Compare([]paypaltest.Seen{good, held, gone, p, whole}), says)
	}
	require.Empty(t, s.Compare([]paypaltest.Seen{good, held, gone, whole, euro("lost", "processing", "unconfirmed")}))
	s.clock.Advance(30 * day)
	s.signIn()
	s.pay("good")
	require.Contains(t, s.Compare([]paypaltest.Seen{good, held, gone}), "good was accepted 2 times")
}
