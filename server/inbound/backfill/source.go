package backfill

import (
	"encoding/json"
	"net/url"
	"strconv"

	"rail/server/clock"
	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
	"rail/server/inbound/stripe"
)

// source is a Stripe list from which events are read: the list of events, or a list of objects from which they
// are reconstructed.
type source struct {
	path     string
	types    []string // of events
	kind     string   // type of the reconstructed event
	status   string   // required status of an object
	byStatus bool     // whether the list filters by status
	expand   []string
	outside  bool // only if payments outside Checkout are recorded
}

const intents = "payment_intent.succeeded"

// events are read in this order, so that dependencies come first: customers, payments, then refunds.
var events = []source{
	{path: "/v1/events", types: []string{
		"checkout.session.completed", "checkout.session.async_payment_succeeded", "customer.subscription.created",
	}},
	{path: "/v1/events", types: []string{"invoice.paid", "invoice_payment.paid"}},
	{path: "/v1/events", types: []string{intents}},
	{path: "/v1/events", outside: true, types: []string{"charge.succeeded", "charge.captured"}},
	{path: "/v1/events", types: []string{
		"charge.refunded", "refund.created", "refund.updated", "refund.failed", "charge.refund.updated",
		"credit_note.created", "credit_note.updated", "credit_note.voided",
		"charge.dispute.created", "charge.dispute.updated", "charge.dispute.funds_withdrawn",
		"charge.dispute.funds_reinstated", "charge.dispute.closed", "customer.subscription.deleted",
	}},
}

// objects are read in the same order.
var objects = []source{
	{path: "/v1/checkout/sessions", kind: "checkout.session.completed", status: "complete", byStatus: true},
	{path: "/v1/invoices", kind: "invoice.paid", status: "paid", byStatus: true},
	{path: "/v1/payment_intents", kind: intents, status: "succeeded"},
	{path: "/v1/refunds", kind: "refund.updated", status: "succeeded", expand: []string{"data.charge"}},
	{path: "/v1/disputes", kind: "charge.dispute.updated", expand: []string{"data.charge"}},
}

// filter returns the parameters of a list request.
func (s source) filter(from, to clock.Time) url.Values {
	form := url.Values{
		"created[gte]": {strconv.FormatInt(from.Unix(), 10)}, "created[lt]": {strconv.FormatInt(to.Unix(), 10)},
	}
	if s.types != nil {
		form["types[]"] = s.types
	}
	if s.expand != nil {
		form["expand[]"] = s.expand
	}
	if s.byStatus {
		form.Set("status", s.status)
	}
	return form
}

// pastEvent is an event with its reading.
type pastEvent struct {
	processor.Reading
	body []byte
}

// event converts an object of the source to an event, and reports whether it counts. The inbox reports events
// that cannot be read, if they have an id.
func (s source) event(object json.RawMessage, live bool) (pastEvent, bool) {
	body := []byte(object)
	if s.kind != "" {
		var o struct {
			ID      lenient.ID   `json:"id"`
			Status  lenient.Text `json:"status"`
			Created lenient.Int  `json:"created"`
		}
		if lenient.Into(object, &o) != nil || o.ID == "" || s.status != "" && string(o.Status) != s.status {
			return pastEvent{}, false
		}
		var err error
		body, err = json.Marshal(map[string]any{
			"id": "rail_" + s.kind + "_" + string(o.ID) + "_" + string(o.Status), "object": "event", "type": s.kind,
			"created": o.Created.N, "livemode": live, "data": map[string]any{"object": object},
		})
		if err != nil {
			return pastEvent{}, false
		}
	}
	r, _ := stripe.Read(body) // with an error it has the id only
	return pastEvent{r, body}, r.ID != ""
}

// counts reports whether a connection uses the event. Without payments outside Checkout, it uses the payment intents
// that were captured by hand.
func (h pastEvent) counts(outside bool) bool {
	return outside || h.Type != intents || h.Payment != nil && h.Payment.Captured
}

// link names the event's payment.
func (h pastEvent) link() processor.Link {
	switch {
	case h.Payment != nil:
		return h.Payment.Link
	case h.Refund != nil:
		return h.Refund.Link
	case h.Dispute != nil:
		return h.Dispute.Link
	}
	return h.Reading.Link
}

// amount returns the event's amount; nil if it has none.
func (h pastEvent) amount() *int64 {
	switch {
	case h.Payment != nil:
		return &h.Payment.AmountMinor
	case h.Refund != nil:
		return &h.Refund.LevelMinor
	case h.Dispute != nil:
		return &h.Dispute.AmountMinor
	}
	return nil
}
