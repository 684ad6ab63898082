package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/money/payout/rails"
	"rail/server/outbound/webhook"
	"rail/server/secret"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// bridged is a program whose Wise payouts the bridge pays, with one payout of 20.01 USD that was sent.
type bridged struct {
	apitest.Earner
	wise   *fakeWise
	bridge string // its address
	payout string
}

func newBridged(t *testing.T) bridged {
	t.Helper()
	s := apitest.New(t, apitest.Loopback)
	b := bridged{Earner: s.Earner(apitest.M{"payout_methods": []string{"wise"}}), wise: newFakeWise(t)}
	b.Flow(b.ProgramID)
	b.wise.balance = "100"
	settings := map[string]string{
		"RAIL_BASE_URL": s.URL, "RAIL_API_KEY": s.Key, "WISE_URL": b.wise.url, "WISE_API_KEY": "wise-key", "WISE_PROFILE": "7",
	}
	web := httptest.NewServer(bridge{func(name string) string { return settings[name] }, s.Clock}.handler())
	t.Cleanup(web.Close)
	b.bridge = web.URL
	rail := b.connect(settings)

	partner, _ := b.Referrer(10005)
	b.Must(200, b.Post("/v1/partners/"+partner, apitest.M{
		"payout_method": "wise", "payout_details": apitest.M{"email": "ada@example.com"},
	}))
	batch := b.Must(201, b.Post("/v1/payout_batches", apitest.M{"program_id": b.ProgramID, "period_end": b.Clock.Now().String()}))
	b.Must(200, b.Post("/v1/payout_batches/"+batch.String("id")+"/send", apitest.M{
		"rail_id": rail, "confirm_count": 1, "confirm_amount_minor": 2001,
	}))
	b.payout = b.Payouts("")[0].String("id")
	return b
}

// connect connects the program to the bridge, and gives the bridge its secret.
func (b bridged) connect(settings map[string]string) (rail string) {
	b.T.Helper()
	keeper, err := secret.New(b.Config.SecretKey)
	require.NoError(b.T, err)
	service := rails.Service{Keeper: keeper, Clock: b.Clock, Guard: webhook.NewGuard(b.Config.WebhookAllowCIDRs, false, "")}
	u := work.NewRun(b.Pool, work.Actor{Kind: work.Operator}, b.Clock.Now()).For(b.Org)
	connected, signing, err := service.ConnectBridge(b.T.Context(), u, rails.Bridge{
		ProgramID: b.ProgramID, URL: b.bridge + "/rail", Methods: []string{"wise"},
	})
	require.NoError(b.T, err)
	settings["RAIL_SECRET"] = signing
	return connected.ID
}

// round runs the job that sends payouts, and reports whether the bridge accepted all of them.
func (b bridged) round() error {
	b.T.Helper()
	b.Clock.Advance(6 * time.Minute)
	return apitest.TryJob(b.T, b.Server, "send-payouts")
}

// becomes moves the only transfer to a state, and sends Wise's message about it.
func (b bridged) becomes(status string) {
	b.T.Helper()
	b.wise.set(func() { b.wise.transfers[0]["status"] = status })
	require.Equal(b.T, 200, b.message("/wise", M{"event_type": "transfers#state-change", "data": M{
		"resource": M{"type": "transfer", "id": b.wise.only(b.T)["id"], "profile_id": 7}, "current_state": status,
	}}))
}

// message sends a message to the bridge, and returns the status of its answer.
func (b bridged) message(path string, body M, header ...string) int {
	b.T.Helper()
	raw, err := json.Marshal(body)
	require.NoError(b.T, err)
	r, err := http.NewRequestWithContext(b.T.Context(), http.MethodPost, b.bridge+path, bytes.NewReader(raw))
	require.NoError(b.T, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(b.T, err)
	require.NoError(b.T, res.Body.Close())
	return res.StatusCode
}

// states returns the payout's status, attention, error code and external id.
func (b bridged) states() []any {
	b.T.Helper()
	p := b.Must(200, b.Get("/v1/payouts/"+b.payout)).Body
	return []any{p["status"], p["attention"], p["error_code"], p["external_id"]}
}

// TestLostAnswers: whichever answer of Wise's is lost, the payout becomes one transfer that is paid once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	b := newBridged(t)
	for _, call := range []string{"/quotes", "/accounts", "/transfers", "/payments"} {
		b.wise.set(func() { b.wise.lost = call })
		require.Error(t, b.round(), call)
		require.Empty(t, b.wise.lost, call)
	}
	require.NoError(t, b.round())
	calls := b.wise.calls
	require.NoError(t, b.round())
	require.Equal(t, calls, b.wise.calls, "it is accepted")
	transfer := b.wise.only(t)
	require.Equal(t, []any{json.Number("20.01"), "USD", "ada@example.com", b.payout}, []any{
		transfer["targetValue"], transfer["targetCurrency"], transfer["to"], transfer["details"].(map[string]any)["reference"],
	})
	require.Equal(t, 1, b.wise.payments)
	require.Equal(t, []any{"processing", nil, nil, b.payout}, b.states())
}

// TestPaid: the payout is paid when Wise has sent the money, and stays so when it comes back.
func TestPaid(t *testing.T) {
	t.Parallel()
	b := newBridged(t)
	require.NoError(t, b.round())
	b.becomes("funds_converted")
	require.Equal(t, []any{"processing", nil, nil, b.payout}, b.states())
	for range 2 {
		b.becomes("outgoing_payment_sent")
		require.Equal(t, []any{"paid", nil, nil, "500"}, b.states())
	}
	for _, status := range []string{"bounced_back", "processing", "cancelled", "funds_refunded"} {
		b.becomes(status)
		require.Equal(t, []any{"paid", "returned", nil, "500"}, b.states(), status)
	}
	b.Tallied(t)
}

// TestBounced: a transfer that comes back before Rail knew of its payment fails the payout.
func TestBounced(t *testing.T) {
	t.Parallel()
	b := newBridged(t)
	require.NoError(t, b.round())
	b.becomes("bounced_back")
	require.Equal(t, []any{"processing", "on_hold", nil, b.payout}, b.states())
	for range 2 {
		b.becomes("cancelled")
		require.Equal(t, []any{"failed", nil, "cancelled", b.payout}, b.states())
	}
	b.becomes("funds_refunded")
	require.Equal(t, []any{"failed", nil, "cancelled", b.payout}, b.states())
	b.Tallied(t)
}

// TestEndedMeanwhile: a repeated message reports the end of the transfer that an earlier one made.
func TestEndedMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBridged(t)
	b.wise.lost = "/payments"
	require.Error(t, b.round())
	b.wise.set(func() { b.wise.transfers[0]["status"] = "outgoing_payment_sent" })
	require.NoError(t, b.round())
	require.Equal(t, []any{"paid", nil, nil, "500"}, b.states())
}

// TestFunds: without funds the payout waits, and is then paid once.
func TestFunds(t *testing.T) {
	t.Parallel()
	b := newBridged(t)
	b.wise.balance = "20"
	require.Error(t, b.round())
	require.Equal(t, []any{"processing", "needs_funds", nil, nil}, b.states())
	b.wise.set(func() { b.wise.balance = "21" })
	require.NoError(t, b.round())
	require.Equal(t, []any{"processing", nil, nil, b.payout}, b.states())
	require.Equal(t, 1, b.wise.payments)
	b.becomes("outgoing_payment_sent")
	require.Equal(t, []any{"paid", nil, nil, "500"}, b.states())
}

// TestForeign: unsigned payouts pay nothing, and transfers that the bridge did not make report nothing.
func TestForeign(t *testing.T) {
	t.Parallel()
	b := newBridged(t)
	require.Equal(t, 502, b.message("/rail", M{"data": M{"payout_id": b.payout, "amount_minor": 1, "currency": "USD"}}))
	require.Zero(t, b.wise.calls)
	require.NoError(t, b.round())
	b.wise.set(func() { b.wise.transfers[0]["customerTransactionId"] = "by hand" })
	b.becomes("outgoing_payment_sent")
	require.Equal(t, []any{"processing", nil, nil, b.payout}, b.states())
	unknown := M{"data": M{"resource": M{"id": 1}}}
	require.Equal(t, 502, b.message("/wise", unknown))
	require.Equal(t, 200, b.message("/wise", unknown, "X-Test-Notification", "true"))
}
