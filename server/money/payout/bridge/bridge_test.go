package bridge_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/money/payout"
	"rail/server/money/payout/bridge"
	"rail/server/money/payout/railtest"
	"rail/server/outbound/webhook"
	"rail/server/outbound/webhook/verify"
)

// TestConform: the receiver is right if it pays each id once, and the rail repeats the same bytes.
func TestConform(t *testing.T) {
	t.Parallel()
	transfer := payout.Transfer{
		ID: "pyt_1", AmountMinor: 1234, Currency: "EUR", Method: "wise", Details: []byte(`{"email":"ada@example.com"}`),
		SubmittedAt: new(clock.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))),
	}
	railtest.Conform(t, transfer, func(t *testing.T) railtest.Service {
		t.Helper()
		sink := apitest.NewSink(t)
		var lost atomic.Bool
		sink.Answer = func(http.ResponseWriter, apitest.Received) {
			if lost.Swap(false) {
				panic(http.ErrAbortHandler)
			}
		}
		now := clock.NewManual(time.Date(2026, 3, 1, 12, 1, 0, 0, time.UTC))
		secret := webhook.NewSecret()
		return railtest.Service{
			Rail: bridge.New(bridge.Config{
				URL: sink.URL + "/pay", Secret: secret, Methods: []string{"wise"}, Clock: now,
				Client: webhook.NewClient("Rail", webhook.NewGuard(loopback, false, "").DialContext),
			}),
			Clock:      now,
			LoseAnswer: func() { lost.Store(true) },
			Paid:       func(id string) int { return messages(t, sink, secret, now.Now().Time)[id] },
		}
	})
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// messages returns the number of different messages for each payout, all of which are signed.
func messages(t *testing.T, sink *apitest.Sink, secret string, now time.Time) map[string]int {
	t.Helper()
	bodies, count := map[string]bool{}, map[string]int{}
	for _, r := range sink.Got("/pay") {
		require.NoError(t, verify.Signature(r.Header, []byte(r.Body), secret, now))
		var m struct {
			ID string `json:"id"`
		}
		require.NoError(t, json.Unmarshal([]byte(r.Body), &m))
		require.Equal(t, m.ID, r.Header.Get("Webhook-Id"))
		if !bodies[r.Body] {
			bodies[r.Body] = true
			count[m.ID]++
		}
	}
	return count
}
