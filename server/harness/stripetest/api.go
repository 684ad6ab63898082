package stripetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// API is as much of Stripe's API as Rail reads: objects by their ids, whole where Rail asks
// for that, and lists, the newest first. It is safe for concurrent use.
type API struct {
	mu       sync.Mutex
	objects  map[string]Object
	lists    map[string][]Object
	requests []string
	status   int
}

// Add has the API know what belongs to a purchase, in the shapes of the newest version.
func (a *API) Add(p Purchase) {
	p.Version = Clover
	charge := p.ChargeObject()
	charge["balance_transaction"] = Object{
		"id": p.id("txn_"), "object": "balance_transaction", "amount": p.Amount, "currency": p.Currency, "fee": p.Amount / 20,
	}
	intent := p.PaymentIntent()
	intent["latest_charge"] = p.id("ch_")
	subscription := p.SubscriptionObject("active")
	invoice, session := p.Invoice(), p.Session()
	invoice["created"], session["created"], session["status"] = p.At.Unix(), p.At.Unix(), "complete"
	a.List("/v1/invoices", invoice)
	a.List("/v1/checkout/sessions", session)
	invoice, session = maps.Clone(invoice), maps.Clone(session)
	payment := p.InvoicePayment()
	payment["payment"] = Object{"type": "payment_intent", "payment_intent": intent}
	invoice["payments"] = list(payment)
	invoice["discounts"] = p.wholeDiscounts()
	if p.Subscription {
		details := Object{"metadata": p.metadata(true), "subscription": subscription}
		invoice["parent"] = Object{"type": "subscription_details", "subscription_details": details}
		session["subscription"] = subscription
	} else {
		session["payment_intent"] = intent
	}
	if p.Customer != "" {
		invoice["customer"], session["customer"] = p.CustomerObject(), p.CustomerObject()
	}
	session["line_items"] = list(Object{
		"id": p.id("li_"), "object": "item", "amount_total": p.Amount, "quantity": 1,
		"price": Object{"id": "price_1", "product": Object{"id": "prod_1", "object": "product", "name": "Pro"}},
	})
	a.Know(invoice, session, charge, intent, Object{"id": "prod_1", "object": "product", "name": "Pro"})
	if p.Invoiced {
		a.Know(Object{"id": "invoice of " + p.Intent(), "invoice": p.id("in_")})
	}
	if p.Refunded > 0 {
		refund := p.Refund(p.id("re_"), p.Refunded, "succeeded")
		refund["charge"] = charge
		a.Know(refund)
		a.List("/v1/refunds", refund)
	}
}

// wholeDiscounts are the purchase's as an invoice has them expanded.
func (p Purchase) wholeDiscounts() []any {
	if p.Promotion == "" && p.Coupon == "" {
		return []any{}
	}
	return []any{p.Discount()}
}

// Know has objects found by their ids.
func (a *API) Know(objects ...Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.objects == nil {
		a.objects = map[string]Object{}
	}
	for _, o := range objects {
		a.objects[o["id"].(string)] = o
	}
}

// List puts an object on the list at a path.
func (a *API) List(path string, object Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lists == nil {
		a.lists = map[string][]Object{}
	}
	a.lists[path] = append(a.lists[path], object)
}

// Happened puts an event on the list of events.
func (a *API) Happened(body []byte) {
	var event Object
	if err := json.Unmarshal(body, &event); err != nil {
		panic(err)
	}
	event["created"] = int64(event["created"].(float64))
	a.List("/v1/events", event)
}

// Answer has everything answered by a status; 0 for as usual.
func (a *API) Answer(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = status
}

// Asked returns what was asked since it was last called.
func (a *API) Asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.requests
	a.requests = nil
	return list
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, r.URL.Path)
	path := r.URL.Path
	var answer Object
	switch {
	case a.status != 0:
		w.WriteHeader(a.status)
		fmt.Fprint(w, `{"error":{"message":"No."}}`)
		return
	case path == "/v1/invoice_payments":
		found := list()
		if o := a.objects["invoice of "+r.FormValue("payment[payment_intent]")]; o != nil {
			found = list(o)
		}
		answer = found
	case slices.Contains([]string{"/v1/events", "/v1/invoices", "/v1/checkout/sessions", "/v1/payment_intents", "/v1/refunds", "/v1/disputes"}, path):
		answer = a.page(r)
	default:
		o := a.objects[path[strings.LastIndexByte(path, '/')+1:]]
		if o == nil {
			w.WriteHeader(http.StatusNotFound)
			o = Object{"error": Object{"message": "No such object."}}
		}
		answer = o
	}
	_ = json.NewEncoder(w).Encode(answer) // who asked has gone
}

// page returns two objects of a list, or fewer, so that few make several pages.
func (a *API) page(r *http.Request) Object {
	number := func(name string, otherwise int64) int64 {
		if n, err := strconv.ParseInt(r.FormValue(name), 10, 64); err == nil {
			return n
		}
		return otherwise
	}
	var fit []any
	after, begun := r.FormValue("starting_after"), r.FormValue("starting_after") == ""
	for _, o := range slices.Backward(a.lists[r.URL.Path]) {
		at, kind := o["created"].(int64), fmt.Sprint(o["type"])
		types := r.Form["types[]"]
		switch {
		case at < number("created[gte]", 0), at >= number("created[lt]", at+1), types != nil && !slices.Contains(types, kind):
		case begun:
			fit = append(fit, o)
		default:
			begun = o["id"] == after
		}
	}
	answer := list(fit[:min(2, len(fit))]...)
	if answer["has_more"] = len(fit) > 2; len(fit) == 0 {
		answer["data"] = []any{}
	}
	return answer
}
