package rails_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/paypaltest"
	"rail/server/money/payout"
	"rail/server/money/payout/rails"
)

// owner gives the organization an owner who gets emails.
func (c connected) owner() {
	c.T.Helper()
	_, err := c.Pool.Exec(c.T.Context(), "UPDATE organizations SET owner_email = 'owner@shop.example' WHERE id = $1", c.Org)
	require.NoError(c.T, err)
}

// emails counts the queued emails to the owner with a purpose.
func (c connected) emails(purpose string) (n int) {
	c.T.Helper()
	require.NoError(c.T, c.Pool.QueryRow(c.T.Context(),
		"SELECT count(*) FROM mails WHERE recipient = 'owner@shop.example' AND purpose = $1", purpose).Scan(&n))
	return n
}

// attentionEvents returns the data of the program's events payout.attention.
func (c connected) attentionEvents() (all []M) {
	c.T.Helper()
	for _, e := range c.Events(c.ProgramID) {
		if e.String("type") == "payout.attention" {
			all = append(all, e.Body["data"].(M))
		}
	}
	return all
}

// TestAttentionIsReported: each change of the state is an event, the owner is emailed once a day for each state, the
// list finds the payouts, and money that came back is dismissed by a person and not reported again.
func TestAttentionIsReported(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	c.owner()
	ids, batch := c.due("paypal", 1000, 2000, 3000)
	for _, id := range ids[:2] {
		c.PayPal.SetFate(id, paypaltest.Becomes(paypaltest.Unclaimed, time.Minute).Then(paypaltest.Success, 24*time.Hour))
	}
	c.PayPal.SetFate(ids[2], paypaltest.Becomes(paypaltest.Success, time.Minute).Then(paypaltest.Refunded, 2*24*time.Hour))
	c.Must(200, c.send(batch, 3, 1200))
	c.round(time.Minute)
	c.round(10 * time.Minute)
	require.Len(t, c.Payouts("&attention=unclaimed"), 2)
	require.Equal(t, 1, c.emails("payout_attention"), "two payouts, one email")
	events := c.attentionEvents()
	require.Len(t, events, 2)
	require.Equal(t, []any{"unclaimed", nil}, []any{events[0]["attention"], events[0]["previous_attention"]})
	c.Refused(409, "payout_attention_open", "", c.Post("/v1/payouts/"+ids[0]+"/dismiss_attention", nil))

	for range 4 {
		c.round(25 * time.Hour)
	}
	require.Empty(t, c.Payouts("&attention=unclaimed"))
	require.Equal(t, ids[2], c.Payouts("&attention=unclaimed,returned,reversed")[0].String("id"))
	require.Equal(t, 2, c.emails("payout_attention"))
	dismissed := c.Must(200, c.Post("/v1/payouts/"+ids[2]+"/dismiss_attention", nil))
	require.Equal(t, []any{"paid", nil, nil},
		[]any{dismissed.Body["status"], dismissed.Body["attention"], dismissed.Body["attention_text"]})
	c.round(25 * time.Hour)
	require.Nil(t, c.payout(ids[2]).Body["attention"], "it is not reported again")
	c.Refused(409, "payout_attention_open", "", c.Post("/v1/payouts/"+ids[2]+"/dismiss_attention", nil))
	c.Refused(404, "resource_not_found", "", c.Post("/v1/payouts/pyt_none/dismiss_attention", nil))
	c.Tallied(t)
}

// TestNotify: a notification of PayPal's makes the next round ask at once, and forged or foreign ones change nothing.
func TestNotify(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	var failed []error
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := c.rails.Notify(r.Context(), c.Pool, c.ID, r.Header, body); err != nil {
			failed = append(failed, err)
		}
	}))
	t.Cleanup(web.Close)
	ids, batch := c.due("paypal", 1000)
	c.PayPal.SetFate(ids[0], paypaltest.Becomes(paypaltest.Success, 30*time.Second))
	c.Must(200, c.send(batch, 1, 200))
	c.round(time.Minute)
	c.round(2 * time.Minute)
	require.Equal(t, "processing", c.payout(ids[0]).String("status"), "it was asked about a moment ago")

	hook := c.PayPal.Register(web.URL)
	c.PayPal.Webhooks(t.Context())
	c.PayPal.Move(ids[0], paypaltest.OnHold)
	c.PayPal.Webhooks(t.Context())
	require.NotEmpty(t, failed, "the rail has no webhook id")
	_, err := c.rails.Connect(t.Context(), c.unit(), rails.PayPal{
		ProgramID: c.ProgramID, Live: true, ClientID: "client", Secret: "secret", WebhookID: hook,
	})
	require.NoError(t, err)
	failed = nil
	c.PayPal.FaultWebhooks(paypaltest.WebhookForged)
	c.PayPal.Move(ids[0], paypaltest.Success)
	c.PayPal.Webhooks(t.Context())
	require.ErrorIs(t, failed[0], rails.ErrUnverified)
	c.round(0)
	require.Equal(t, "paid", c.payout(ids[0]).String("status"))

	c.PayPal.Move(ids[0], paypaltest.Refunded)
	c.PayPal.Webhooks(t.Context())
	c.round(0)
	require.Equal(t, "returned", c.payout(ids[0]).String("attention"), "a paid payout is asked about at once, too")
}

// TestLateReversal: a payout that is too old for daily questions is asked about once its service gives notice of it.
func TestLateReversal(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, batch := c.due("paypal", 1000)
	c.Must(200, c.send(batch, 1, 200))
	for _, by := range []time.Duration{time.Minute, 10 * time.Minute, 200 * 24 * time.Hour} {
		c.round(by)
	}
	require.Equal(t, "paid", c.payout(ids[0]).String("status"))
	c.PayPal.Move(ids[0], paypaltest.Reversed)
	c.round(25 * time.Hour)
	require.Nil(t, c.payout(ids[0]).Body["attention"])
	rail, err := c.rails.Get(t.Context(), c.unit(), c.ProgramID, c.ID)
	require.NoError(t, err)
	require.NoError(t, payout.AskNow(t.Context(), c.Pool, rail, ids[0]))
	c.round(0)
	require.Equal(t, "reversed", c.payout(ids[0]).String("attention"))
}

// TestNotificationsByHTTP: the address refuses bad signatures, unknown rails and large bodies.
func TestNotificationsByHTTP(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	notify := func(rail, body string) (status int, answer string) {
		res, err := http.Post(c.URL+"/hooks/paypal/"+rail, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(raw)
	}
	status, _ := notify("prl_none", "{}")
	require.Equal(t, 404, status)
	status, _ = notify(c.ID, "{}")
	require.Equal(t, 404, status, "a rail without a webhook id")
	_, err := c.rails.Connect(t.Context(), c.unit(), rails.PayPal{
		ProgramID: c.ProgramID, Live: true, ClientID: "client", Secret: "secret", WebhookID: "hook",
	})
	require.NoError(t, err)
	status, answer := notify(c.ID, `{"id": "WH-1", "event_type": "PAYMENT.PAYOUTS-ITEM.SUCCEEDED"}`)
	require.Equal(t, 400, status)
	require.Contains(t, answer, "signature_invalid")
	status, _ = notify(c.ID, strings.Repeat(" ", rails.MaxNotification+1))
	require.Equal(t, 413, status)
}
