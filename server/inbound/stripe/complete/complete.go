// Package complete reads Stripe's events and completes them from its API: an event has only the ids of other
// objects, and lacks members that were moved out of its object. Requests are expensive, so each event type lists
// what it needs.
//
// Read beside the event itself:
//
//   - for a paid invoice: its payments with their charges, the subscription with its
//     interval and metadata, discounts with their codes and coupons, the customer with
//     an opt-out;
//   - for a finished checkout: its lines with the product, the payment with its charge
//     and metadata, the subscription and the customer likewise;
//   - for either: the name of a single product, and the fee of a single charge;
//   - for a new subscription: its discounts and the customer;
//   - for a refund and a dispute: the charge with its refunded amount, and the invoice
//     that it paid;
//   - for a payment outside Checkout, if these are recorded: the invoice that it may
//     have paid, and the customer.
package complete

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
	"rail/server/inbound/stripe"
	"rail/server/inbound/stripe/client"
)

// lack lists what an event's object lacks: members of the object at a path of the API, with the members to
// expand.
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

// lacks lists the incomplete event types. The other types that Rail reads are complete.
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

// Read reads an event and completes it. outside reports whether payments without an invoice or checkout are
// recorded. The errors are those of the client, and MalformedError.
func Read(ctx context.Context, api *client.Client, body []byte, outside bool) (processor.Reading, error) {
	r, err := stripe.Read(body)
	l, ok := lacks[r.Type]
	if err != nil || !ok || !counts(r, outside) {
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
	if err := fee(ctx, api, r.Payment); err != nil {
		return r, err
	}
	return r, productName(ctx, api, r.Payment)
}

// counts reports whether the missing members matter.
func counts(r processor.Reading, outside bool) bool {
	switch {
	case r.Payment != nil:
		return outside || !r.Payment.Outside
	case r.Binding != nil:
		// For a charge and a payment, the invoice identifies the payer.
		l := lacks[r.Type].path
		return l != charges.path && l != intents.path
	}
	return r.Refund != nil || r.Dispute != nil
}

// members are the raw members of an object.
type members map[string]json.RawMessage

// fill returns an event with its object completed.
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
		if with := merge(object[name], more[name], maxDepth); len(with) > 0 {
			object[name] = with
		}
	}
	data["object"] = marshalled(object, data["object"])
	event["data"] = marshalled(data, event["data"])
	return marshalled(event, body), nil
}

// invoiced adds the invoice paid by the payment of a refund, a dispute or a payment outside Checkout. From basil
// on, these do not name it.
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
	intent := withPrefix(*to, "pi_")
	if intent == "" || withPrefix(*to, "in_") != "" {
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
	r.Ignored, r.Note = processor.NotUsed, "The invoice reports the payment."
	return nil
}

// withPrefix returns a payment's id with that prefix.
func withPrefix(l processor.Link, prefix string) string {
	for _, id := range append([]string{l.Charge}, l.Alias...) {
		if strings.HasPrefix(id, prefix) {
			return id
		}
	}
	return ""
}

// maxDepth bounds how deep an object is filled.
const maxDepth = 8

// merge completes a value from another version of the same object: missing members, and objects in place of
// their ids. Members in both keep the event's value, metadata as a whole.
func merge(own, more json.RawMessage, depth int) json.RawMessage {
	switch {
	case len(more) == 0 || depth == 0:
		return own
	case len(own) == 0 || string(own) == "null":
		return more
	case own[0] == '"' && more[0] == '{':
		if idOf(own) == idOf(more) {
			return more
		}
	case own[0] == '{' && more[0] == '{':
		return filledObject(own, more, depth-1)
	case own[0] == '[' && more[0] == '[':
		return mergeLists(own, more, depth-1)
	}
	return own
}

func filledObject(own, more json.RawMessage, depth int) json.RawMessage {
	var a, b members
	if json.Unmarshal(own, &a) != nil || json.Unmarshal(more, &b) != nil || idOf(a["id"]) != idOf(b["id"]) {
		return own
	}
	for name, value := range b {
		if name != "metadata" || len(a[name]) == 0 {
			a[name] = merge(a[name], value, depth)
		}
	}
	return marshalled(a, own)
}

// mergeLists completes the objects of a list if the other list has the same objects in the same order.
func mergeLists(own, more json.RawMessage, depth int) json.RawMessage {
	var a, b []json.RawMessage
	if json.Unmarshal(own, &a) != nil || json.Unmarshal(more, &b) != nil || len(a) != len(b) {
		return own
	}
	for i := range a {
		a[i] = merge(a[i], b[i], depth)
	}
	return marshalled(a, own)
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
	var id lenient.ID
	if raw = bytes.TrimSpace(raw); len(raw) > 0 {
		_ = id.UnmarshalJSON(raw) // stays empty if it is not an id
	}
	return string(id)
}

// fee fetches Stripe's fee for a payment with a single charge.
func fee(ctx context.Context, api *client.Client, p *processor.Payment) error {
	charge := withPrefix(p.Link, "ch_")
	if p.FeeMinor != nil || charge == "" || slices.ContainsFunc(p.Alias, func(id string) bool {
		return strings.HasPrefix(id, "ch_") && id != charge
	}) {
		return nil
	}
	answer, err := api.Get(ctx, "/v1/charges/"+url.PathEscape(charge), "balance_transaction")
	if client.Refused(err) {
		return nil // the payment counts without its fee
	}
	if err == nil {
		p.FeeMinor = stripe.Fee(answer, p)
	}
	return err
}

// productName fetches the name of a payment's only product.
func productName(ctx context.Context, api *client.Client, p *processor.Payment) error {
	if p.ProductID == "" || p.ProductName != "" {
		return nil
	}
	answer, err := api.Get(ctx, "/v1/products/"+url.PathEscape(p.ProductID))
	if client.Refused(err) {
		return nil // the payment counts without the name
	}
	var product struct {
		Name lenient.Text `json:"name"`
	}
	if err == nil {
		err = json.Unmarshal(answer, &product)
	}
	p.ProductName = string(product.Name)
	return err
}
