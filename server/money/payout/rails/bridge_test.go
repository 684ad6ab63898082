package rails_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/money/payout/rails"
	"rail/server/outbound/webhook/verify"
)

// bridged is a program whose wise payouts a service of the merchant's pays.
type bridged struct {
	connected
	sink   *apitest.Sink
	secret string
}

func newBridged(t *testing.T) bridged {
	t.Helper()
	b := bridged{connected: newConnected(t), sink: apitest.NewSink(t)}
	rail, secret, err := b.rails.ConnectBridge(t.Context(), b.unit(), rails.Bridge{
		ProgramID: b.ProgramID, URL: b.sink.URL + "/pay", Methods: []string{"wise", "bank_transfer"},
	})
	require.NoError(t, err)
	b.ID, b.secret = rail.ID, secret
	return b
}

// submitted makes payouts, sends them and runs a round.
func (b bridged) submitted(amounts ...int) []string {
	b.T.Helper()
	ids, batch := b.due("wise", amounts...)
	minor := 0
	for _, a := range amounts {
		minor += a / 5
	}
	b.Must(200, b.send(batch, len(ids), minor))
	b.round(time.Minute)
	return ids
}

func (b bridged) result(id string, body M) apitest.Answer {
	b.T.Helper()
	return b.Post("/v1/payouts/"+id+"/rail_result", body)
}

// TestBridge: the service gets each payout signed, to its address alone, and its results end the payout.
func TestBridge(t *testing.T) {
	t.Parallel()
	b := newBridged(t)
	other := apitest.NewSink(t)
	b.Must(201, b.Post("/v1/webhook_endpoints", M{"program_id": b.ProgramID, "url": other.URL}))
	b.Deliver()
	ids := b.submitted(10000, 5000)
	for n, r := range b.sink.Wait(t, "/pay", 2) {
		require.NoError(t, verify.Signature(r.Header, []byte(r.Body), b.secret, b.Clock.Now().Time))
		require.Equal(t, "payout.submitted", r.Event.String("type"))
		data := r.Event.Body["data"].(M)
		require.Equal(t, []any{ids[n], "USD", "wise"}, []any{data["payout_id"], data["currency"], data["method"]})
		require.Contains(t, data["details"].(M)["email"], "@example.com")
	}
	p := b.payout(ids[0])
	require.Equal(t, []any{"processing", "webhook", b.ID}, []any{p.Body["status"], p.Body["rail"], p.Body["rail_id"]})

	b.Refused(400, "parameter_invalid", "attention", b.result(ids[0], M{"status": "attention"}))
	b.Refused(400, "parameter_invalid", "paid_at", b.result(ids[0], M{"status": "paid", "paid_at": b.Clock.Now().Plus(time.Hour)}))
	b.Refused(400, "parameter_invalid", "paid_at", b.result(ids[0], M{"status": "paid", "paid_at": "2020-01-01"}))
	for param, bodies := range map[string][]M{
		"attention": {
			{"status": "paid", "attention": "on_hold"}, {"status": "failed", "attention": "on_hold"},
			{"status": "attention", "attention": "returned"}, {"status": "attention", "attention": "reversed"},
		},
		"paid_at": {
			{"status": "failed", "paid_at": b.Clock.Now()}, {"status": "attention", "attention": "on_hold", "paid_at": b.Clock.Now()},
		},
	} {
		for _, body := range bodies { // they contradict themselves, or the payout
			b.Refused(400, "parameter_invalid", param, b.result(ids[0], body))
		}
	}
	held := b.Must(200, b.result(ids[0], M{"status": "attention", "attention": "on_hold"}))
	require.Equal(t, []any{"processing", "on_hold"}, []any{held.Body["status"], held.Body["attention"]})
	b.round(10 * time.Minute)
	require.Equal(t, "on_hold", b.payout(ids[0]).String("attention"), "a round does not clear it")
	paid := M{"status": "paid", "external_id": "TRANSFER-1", "fee_minor": 120}
	done := b.Must(200, b.result(ids[0], paid))
	require.Equal(t, []any{"paid", "TRANSFER-1", "USD", nil},
		[]any{done.Body["status"], done.Body["external_id"], done.Body["fee_currency"], done.Body["attention"]})
	require.Equal(t, done.Body, b.Must(200, b.result(ids[0], paid)).Body)
	require.NotNil(t, done.Body["statement_number"])
	failed := b.Must(200, b.result(ids[1], M{"status": "failed", "error_code": "CLOSED", "error_message": "It is closed."}))
	require.Equal(t, []any{"failed", "CLOSED"}, []any{failed.Body["status"], failed.Body["error_code"]})
	require.Equal(t, failed.Body, b.Must(200, b.result(ids[1], M{"status": "failed"})).Body)

	b.Refused(409, "payout_already_paid", "", b.result(ids[0], M{"status": "failed"}))
	b.Refused(409, "payout_already_paid", "", b.result(ids[0], M{"status": "paid", "external_id": "TRANSFER-2"}))
	b.Refused(409, "payout_not_payable", "", b.result(ids[1], paid))
	back := b.Must(200, b.result(ids[0], M{"status": "attention", "attention": "returned"}))
	require.Equal(t, []any{"paid", "returned"}, []any{back.Body["status"], back.Body["attention"]})
	require.Len(t, b.sink.Got("/pay"), 2)
	for _, r := range other.Wait(t, "", 3) {
		require.NotEqual(t, "payout.submitted", r.Event.String("type"))
	}
	b.Tallied(t)
}

// TestTimeOfPayment: a time that is outside by a difference of clocks counts as now or as the submission; another one is
// refused by its name.
func TestTimeOfPayment(t *testing.T) {
	t.Parallel()
	b := newBridged(t)
	ids := b.submitted(10000, 5000, 3000)
	submitted := b.Clock.Now()
	b.Clock.Advance(time.Hour)
	now := b.Clock.Now()
	for _, refused := range []clock.Time{now.Plus(5*time.Minute + 1e6), submitted.Plus(-5*time.Minute - 1e6)} {
		b.Refused(400, "parameter_invalid", "paid_at", b.result(ids[0], M{"status": "paid", "paid_at": refused}))
	}
	for i, of := range []struct{ sent, stored clock.Time }{
		{now.Plus(5 * time.Minute), now}, {submitted.Plus(-5 * time.Minute), submitted},
		{submitted.Plus(time.Minute), submitted.Plus(time.Minute)},
	} {
		paid := b.Must(200, b.result(ids[i], M{"status": "paid", "paid_at": of.sent}))
		require.Equal(t, of.stored.String(), paid.String("paid_at"))
	}
	b.Tallied(t)
}

// TestBridgeRepeats: a message without an acknowledgement is repeated with the same id and the same bytes, and an
// acknowledged one is not.
func TestBridgeRepeats(t *testing.T) {
	t.Parallel()
	b := newBridged(t)
	b.sink.Answer = func(w http.ResponseWriter, _ apitest.Received) {
		if len(b.sink.Got("/pay")) < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	ids, batch := b.due("wise", 10000)
	b.Must(200, b.send(batch, 1, 2000))
	for range 2 {
		b.Clock.Advance(6 * time.Minute)
		b.fails()
	}
	require.NotEmpty(t, b.rail().String("last_error"))
	for range 3 {
		b.round(6 * time.Minute)
	}
	got := b.sink.Got("/pay")
	require.Len(t, got, 3)
	for _, r := range got {
		require.Equal(t, got[0].Body, r.Body)
		require.Equal(t, ids[0], r.Header.Get("Webhook-Id"))
	}
	require.Nil(t, b.rail().Body["last_error"])
}

// TestNoBridge: results are taken for payouts of a webhook rail alone, and a private address is refused.
func TestNoBridge(t *testing.T) {
	t.Parallel()
	b := newBridged(t)
	ids, _ := b.due("paypal", 10000)
	b.Refused(409, "payout_not_on_rail", "", b.result(ids[0], M{"status": "paid"}))
	b.Refused(404, "resource_not_found", "", b.result("pyt_none", M{"status": "paid"}))
	_, _, err := b.rails.ConnectBridge(t.Context(), b.unit(), rails.Bridge{
		ProgramID: b.ProgramID, URL: "http://10.0.0.1/pay", Methods: []string{"wise"},
	})
	require.Error(t, err)
}
