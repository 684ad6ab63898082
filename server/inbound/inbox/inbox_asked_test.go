package inbox_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
)

// newAsking is a program that is connected to Stripe with a key, and Stripe's API.
func newAsking(t *testing.T, options ...func(*connection.Input)) (inboxed, *stripetest.API) {
	t.Helper()
	h := newStriped(t, append(options, func(in *connection.Input) { in.APIKey = "rk_live_1" })...)
	api := &stripetest.API{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	h.Config.StripeURL = server.URL
	return h, api
}

// TestStripeAsked: Rail requests data that an event lacks from Stripe. While Stripe does not
// answer, the event waits, others are processed, and nothing is lost. Data that the key may not
// read is left out.
func TestStripeAsked(t *testing.T) {
	t.Parallel()
	h, api := newAsking(t)
	p := h.purchase(stripetest.Clover, "asked")
	api.Add(p)
	h.deliver(p.Event("checkout.session.completed", p.Session()))
	h.Last("recorded", nil)

	api.Answer(http.StatusServiceUnavailable)
	h.deliver(p.Event("invoice.paid", p.Invoice()))
	e := h.Last("waiting", "processor_away")
	require.Equal(t, "Stripe answered 503: No. The missing data is requested again.", e.String("reason"))
	h.deliver(p.Event("customer.updated", p.CustomerObject()))
	h.Last("ignored", "binds_only")
	api.Answer(0)
	h.Work()
	require.Zero(t, h.Total("sales"), "it is not asked at once")
	h.Clock.Advance(15 * time.Second)
	h.Work()
	list := h.Get("/v1/sales?program_id=" + h.ProgramID).Data()
	require.Len(t, list, 1)
	require.Equal(t, []any{"month", "prod_1", "Pro", "pi_asked", json.Number("120")}, []any{
		list[0]["interval"], list[0]["product_id"], list[0]["product_name"], list[0]["external_payment_intent_id"],
		list[0]["fee_minor"],
	})

	other := h.purchase(stripetest.Clover, "refused")
	h.deliver(other.Event("checkout.session.completed", other.Session()))
	api.Answer(http.StatusForbidden)
	h.deliver(other.Event("invoice.paid", other.Invoice()))
	sale := h.Get("/v1/sales/" + h.Last("recorded", nil).String("sale_id"))
	require.Equal(t, []any{nil, nil}, []any{sale.Body["interval"], sale.Body["product_name"]})
}

// TestStripeAskedOptOut: a customer who opted out according to Stripe is not attributed, even
// without an event.
func TestStripeAskedOptOut(t *testing.T) {
	t.Parallel()
	h, api := newAsking(t)
	p := h.purchase(stripetest.Clover, "out")
	p.Subscription, p.Invoiced = false, false
	whole := p
	whole.Metadata = M{"rail": "skip"}
	api.Add(whole)
	h.deliver(p.Event("checkout.session.completed", p.Session()))
	h.Last("ignored", "opted_out")
	require.Zero(t, h.Total("sales"))
	apitest.Balanced(t, h.Server)
}
