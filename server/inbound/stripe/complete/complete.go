// Package complete reads Stripe's events with what they lack and its API knows: an
// event shows other objects by their ids alone, and what was moved out of its object
// not at all. Asking is the reading's price, so that each type says what is asked.
//
// What is read, beside the event itself:
//
//   - of a paid invoice: its payments with their charges, the subscription with its
//     interval and metadata, discounts with their codes and coupons, the customer with
//     an opt-out;
//   - of a finished checkout: its lines with the product, the payment with its charge
//     and metadata, the subscription and the customer likewise;
//   - of either: the name of the one product, and the fee of the one charge;
//   - of a new subscription: its discounts and the customer;
//   - of a refund and a dispute: the charge with how much of it came back by now, and
//     the invoice that it paid;
//   - of a payment outside Checkout, where these are recorded: the invoice that it may
//     have paid, and the customer.
package complete

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"rail/server/inbound/loose"
	"rail/server/inbound/processor"
	"rail/server/inbound/stripe"
	"rail/server/inbound/stripe/client"
)

// lack is what an event's object lacks: members of the object at a path of the API, of
// which expand are asked for whole.
type lack struct {
	path            string
	expand, members []string
}

var (
	invoices = lack{
		"/v1/invoices/", []string{
			"customer", "discounts", "lines.data.discounts", "payments.data.payment.payment_intent",
			"parent.subscription_details.subscription",
		}, []string{"customer", "discounts", "lines", "payments", "parent"},
	}
	sessions = lack{
		"/v1/checkout/sessions/",
		[]string{"customer", "payment_intent", "subscription", "line_items.data.price.product"},
		[]string{"customer", "discounts", "payment_intent", "subscription", "line_items"},
	}
	subscriptions = lack{"/v1/subscriptions/", []string{"customer", "discounts"}, []string{"customer", "discounts"}}
	disputes      = lack{"/v1/disputes/", []string{"charge"}, []string{"charge"}}
	refunds       = lack{"/v1/refunds/", []string{"charge"}, []string{"charge"}}
	charges       = lack{"/v1/charges/", []string{"customer"}, []string{"customer"}}
	intents       = lack{"/v1/payment_intents/", []string{"customer"}, []string{"customer"}}
)

// lacks has what events lack. The others that Rail reads have all of it.
var lacks = map[string]lack{
	"charge.captured":                          charges,
	"charge.dispute.closed":                    disputes,
	"charge.dispute.created":                   disputes,
	"charge.dispute.funds_reinstated":          disputes,
	"charge.dispute.funds_withdrawn":           disputes,
	"charge.dispute.updated":                   disputes,
	"charge.refund.updated":                    refunds,
	"charge.refunded":                          {},
	"charge.succeeded":                         charges,
	"checkout.session.async_payment_succeeded": sessions,
	"checkout.session.completed":               sessions,
	"customer.subscription.created":            subscriptions,
	"invoice.paid":                             invoices,
	"invoice.payment_succeeded":                invoices,
	"payment_intent.succeeded":                 intents,
	"refund.created":                           refunds,
	"refund.failed":                            refunds,
	"refund.updated":                           refunds,
}

// Read returns what an event says, completed. outside is whether payments are recorded
// that neither an invoice nor a checkout reports. The errors are those of the client, and
// MalformedError.
func Read(ctx context.Context, api *client.Client, body []byte, outside bool) (processor.Reading, error) {
	r, err := stripe.Read(body)
	l, known := lacks[r.Type]
	if err != nil || !known || !counts(r, outside) {
		return r, err
	}
	if l.path != "" {
		if body, err = l.fill(ctx, api, body); err != nil {
			return r, err
		}
		if r, err = stripe.Read(body); err != nil {
			return r, err
		}
	}
	if err := invoiced(ctx, api, &r); err != nil {
		return r, err
	}
	if r.Payment == nil {
		return r, nil
	}
	if err := kept(ctx, api, r.Payment); err != nil {
		return r, err
	}
	return r, named(ctx, api, r.Payment)
}

// counts reports whether anything depends on what a reading lacks.
func counts(r processor.Reading, outside bool) bool {
	switch {
	case r.Payment != nil:
		return outside || !r.Payment.Outside
	case r.Binding != nil:
		// Of a charge and a payment the invoice says who paid.
		l := lacks[r.Type].path
		return l != charges.path && l != intents.path
	}
	return r.Refund != nil || r.Dispute != nil
}

// members are those of an object, as they came.
type members map[string]json.RawMessage

// fill returns an event with what its object lacks.
func (l lack) fill(ctx context.Context, api *client.Client, body []byte) ([]byte, error) {
	var event, data, object, more members
	err := json.Unmarshal(body, &event)
	if err == nil {
		err = json.Unmarshal(event["data"], &data)
	}
	if err == nil {
		err = json.Unmarshal(data["object"], &object)
	}
	if err != nil {
		return nil, processor.MalformedError{Member: "data.object"}
	}
	answer, err := api.Get(ctx, l.path+url.PathEscape(idOf(object["id"])), l.expand...)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(answer, &more); err != nil {
		return nil, err
	}
	for _, name := range l.members {
		if with := filled(object[name], more[name], deepest); len(with) > 0 {
			object[name] = with
		}
	}
	data["object"] = marshalled(object, data["object"])
	event["data"] = marshalled(data, event["data"])
	return marshalled(event, body), nil
}

// invoiced adds the invoice that was paid by what a refund, a dispute or a payment outside
// Checkout is about. From basil on they do not say it.
func invoiced(ctx context.Context, api *client.Client, r *processor.Reading) error {
	var to *processor.Link
	switch {
	case r.Refund != nil:
		to = &r.Refund.Link
	case r.Dispute != nil:
		to = &r.Dispute.Link
	case r.Payment != nil && r.Payment.Outside:
		to = &r.Payment.Link
	default:
		return nil
	}
	intent := with(*to, "pi_")
	if intent == "" || with(*to, "in_") != "" {
		return nil
	}
	invoice, err := api.InvoiceOf(ctx, intent)
	if err != nil || invoice == "" {
		return err
	}
	if r.Payment == nil {
		to.Alias = append(to.Alias, invoice)
		return nil
	}
	r.Link = processor.Link{Charge: invoice, Alias: append([]string{to.Charge}, to.Alias...)}
	r.Binding, r.Payment = &r.Payment.Binding, nil
	r.Ignored, r.Note = processor.NotUsed, "The invoice brings the money."
	return nil
}

// with returns the id of a payment that begins so.
func with(l processor.Link, prefix string) string {
	for _, id := range append([]string{l.Charge}, l.Alias...) {
		if strings.HasPrefix(id, prefix) {
			return id
		}
	}
	return ""
}

// deepest bounds how deep an object is filled.
const deepest = 8

// filled returns a value with what another of the same object says beyond it: members
// that are absent, and objects in place of their ids. What both say stays as it was in
// the event, metadata as a whole.
func filled(given, more json.RawMessage, depth int) json.RawMessage {
	switch {
	case len(more) == 0 || depth == 0:
		return given
	case len(given) == 0 || string(given) == "null":
		return more
	case given[0] == '"' && more[0] == '{':
		if idOf(given) == idOf(more) {
			return more
		}
	case given[0] == '{' && more[0] == '{':
		return filledObject(given, more, depth-1)
	case given[0] == '[' && more[0] == '[':
		return filledList(given, more, depth-1)
	}
	return given
}

func filledObject(given, more json.RawMessage, depth int) json.RawMessage {
	var a, b members
	if json.Unmarshal(given, &a) != nil || json.Unmarshal(more, &b) != nil || idOf(a["id"]) != idOf(b["id"]) {
		return given
	}
	for name, value := range b {
		if name != "metadata" || len(a[name]) == 0 {
			a[name] = filled(a[name], value, depth)
		}
	}
	return marshalled(a, given)
}

// filledList fills each of a list whose objects are the same in the same order.
func filledList(given, more json.RawMessage, depth int) json.RawMessage {
	var a, b []json.RawMessage
	if json.Unmarshal(given, &a) != nil || json.Unmarshal(more, &b) != nil || len(a) != len(b) {
		return given
	}
	for i := range a {
		a[i] = filled(a[i], b[i], depth)
	}
	return marshalled(a, given)
}

func marshalled(v any, otherwise json.RawMessage) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		return otherwise
	}
	return out
}

// idOf returns the id that a value is or has.
func idOf(raw json.RawMessage) string {
	var id loose.ID
	if raw = bytes.TrimSpace(raw); len(raw) > 0 {
		_ = id.UnmarshalJSON(raw) // what is no id leaves it empty
	}
	return string(id)
}

// kept asks for what Stripe kept of a payment, where it is one charge.
func kept(ctx context.Context, api *client.Client, p *processor.Payment) error {
	charge := with(p.Link, "ch_")
	if p.FeeMinor != nil || charge == "" || slices.ContainsFunc(p.Alias, func(id string) bool {
		return strings.HasPrefix(id, "ch_") && id != charge
	}) {
		return nil
	}
	answer, err := api.Get(ctx, "/v1/charges/"+url.PathEscape(charge), "balance_transaction")
	if client.Refused(err) {
		return nil // nor is a fee
	}
	if err == nil {
		p.FeeMinor = stripe.Kept(answer, p)
	}
	return err
}

// named asks for the name of the one product of a payment.
func named(ctx context.Context, api *client.Client, p *processor.Payment) error {
	if p.ProductID == "" || p.ProductName != "" {
		return nil
	}
	answer, err := api.Get(ctx, "/v1/products/"+url.PathEscape(p.ProductID))
	if client.Refused(err) {
		return nil // a name is not worth the rest
	}
	var product struct {
		Name loose.Text `json:"name"`
	}
	if err == nil {
		err = json.Unmarshal(answer, &product)
	}
	p.ProductName = string(product.Name)
	return err
}
