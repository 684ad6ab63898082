package script_test

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"rail/server/harness/apitest"
)

// callsShop is a shop whose server reports clicks, customers and payments to Rail's API. The
// lines between the marks are its integration with Rail. A test counts them.
type callsShop struct {
	secret string // of the shop's webhook endpoint at Stripe
	mu     sync.Mutex
	// rail begins
	rail, key, program string
	codes              map[string]string // table: Rail's coupon code by Stripe's promotion code
	customers          map[string]string // table: Rail's customer by Stripe's customer; "" if no partner referred the customer
	invoices           map[string]string // table: Stripe's invoice by Stripe's payment
	// rail ends
}

// object has the members of Stripe's objects that the shop reads.
type object struct {
	ID        string `json:"id"`
	Status    string `json:"status"`
	Customer  string `json:"customer"`
	Currency  string `json:"currency"`
	Invoice   string `json:"invoice"`
	Intent    string `json:"payment_intent"`
	Reference string `json:"client_reference_id"`
	Mode      string `json:"mode"`
	Total     int64  `json:"amount_total"`
	Paid      int64  `json:"amount_paid"`
	Amount    int64  `json:"amount"`
	Person    struct {
		Email string `json:"email"`
	} `json:"customer_details"`
	Totals struct {
		Tax int64 `json:"amount_tax"`
	} `json:"total_details"`
	Taxes []struct {
		Amount int64 `json:"amount"`
	} `json:"total_taxes"`
	Discounts []struct {
		Promotion string `json:"promotion_code"`
	} `json:"discounts"`
	Payment struct {
		Intent string `json:"payment_intent"`
	} `json:"payment"`
}

// ServeHTTP serves the shop's page and its webhook endpoint for Stripe.
func (s *callsShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/stripe" {
		s.stripe(w, r)
		return
	}
	reference := ""
	// rail begins
	if c, err := r.Cookie("rail_click"); err == nil {
		reference = c.Value
	}
	if ref := r.URL.Query().Get("ref"); ref != "" {
		if click, err := s.visited(r, ref); err == nil { // show the page even after an error
			reference = click
			http.SetCookie(w, &http.Cookie{Name: "rail_click", Value: click, MaxAge: 60 * 86400, HttpOnly: true})
		}
	}
	// rail ends
	showPage(w, "", reference)
}

// stripe handles an event. It answers 500 if an earlier event is missing, so that Stripe sends
// the event again.
func (s *callsShop) stripe(w http.ResponseWriter, r *http.Request) {
	var e struct {
		Type string                  `json:"type"`
		Data struct{ Object object } `json:"data"`
	}
	if !fromStripe(r, s.secret, &e) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	o := e.Data.Object
	// rail begins
	switch e.Type {
	case "checkout.session.completed":
		err = s.bought(o)
	case "customer.subscription.created":
		err = s.subscribed(o)
	case "invoice.paid":
		for _, t := range o.Taxes {
			o.Totals.Tax += t.Amount
		}
		err = s.paid(o.Customer, o.ID, o.Paid, o)
	case "invoice_payment.paid":
		s.invoices[o.Payment.Intent] = o.Invoice
	case "refund.created":
		err = s.refunded(o)
	case "charge.dispute.closed":
		if o.Status == "lost" {
			err = s.refunded(o)
		}
	}
	// rail ends
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// rail begins

var errEarly = errors.New("an earlier event is missing")

func (s *callsShop) visited(r *http.Request, ref string) (click string, err error) {
	return s.tell("clicks", apitest.M{
		"program_id": s.program, "value": ref, "visitor_token": rand.Text(), "user_agent": r.UserAgent(),
		"landing_url": "http://" + r.Host + r.URL.String(),
	})
}

func (s *callsShop) bought(o object) error {
	if _, ok := s.customers[o.Customer]; !ok || o.Customer == "" {
		body := apitest.M{"program_id": s.program, "identifier": cmp.Or(o.Customer, o.Person.Email), "email": o.Person.Email}
		if o.Customer != "" {
			body["external_customer_id"] = o.Customer
		}
		for _, d := range o.Discounts {
			body["coupon_code"] = s.codes[d.Promotion]
		}
		if o.Reference != "" {
			body["click_id"] = o.Reference
			delete(body, "coupon_code")
		}
		s.customers[o.Customer] = ""
		if body["click_id"] != nil || body["coupon_code"] != nil {
			id, err := s.tell("customers", body)
			if err != nil {
				delete(s.customers, o.Customer)
				return err
			}
			s.customers[o.Customer] = id
		}
	}
	if o.Mode != "payment" {
		return nil
	}
	s.invoices[o.Intent] = o.Intent
	return s.paid(o.Customer, o.Intent, o.Total, o)
}

func (s *callsShop) subscribed(o object) error {
	id, ok := s.customers[o.Customer]
	switch {
	case !ok:
		return errEarly
	case id == "" || o.Status != "trialing":
		return nil
	}
	_, err := s.tell("customers/"+id, apitest.M{"status": "trial"})
	return err
}

func (s *callsShop) paid(customer, charge string, amount int64, o object) error {
	id, ok := s.customers[customer]
	switch {
	case !ok:
		return errEarly
	case id == "" || amount == 0:
		return nil
	}
	_, err := s.tell("sales", apitest.M{
		"program_id": s.program, "customer_id": id, "external_charge_id": charge, "amount_minor": amount,
		"tax_minor": o.Totals.Tax, "currency": strings.ToUpper(o.Currency),
	})
	return err
}

func (s *callsShop) refunded(o object) error {
	charge := s.invoices[o.Intent]
	if charge == "" {
		return errEarly
	}
	_, err := s.tell("refunds", apitest.M{
		"program_id": s.program, "external_charge_id": charge, "external_refund_id": o.ID, "amount_minor": o.Amount,
	})
	return err
}

var railClient = &http.Client{Timeout: 5 * time.Second}

func (s *callsShop) tell(what string, body apitest.M) (id string, err error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequest(http.MethodPost, s.rail+"/v1/"+what, bytes.NewReader(raw))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", fmt.Sprintf("%x", sha256.Sum256(append(raw, what...))))
	res, err := railClient.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var answer struct {
		ID string `json:"id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode >= 300 {
		return "", fmt.Errorf("%s: %d %w", what, res.StatusCode, err)
	}
	return answer.ID, nil
}

// rail ends
