package apitest

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/inbound/connection"
)

// Inboxed is a program with the partner ann and a connection to a processor.
type Inboxed struct {
	*Server
	ProgramID, PartnerID string
	Connection           Connected
}

// NewInboxed starts a server with a program that pays 20 %, and a connection to the generic processor. The options
// change the connection.
func NewInboxed(t testing.TB, options ...func(*connection.Input)) Inboxed {
	t.Helper()
	s := New(t)
	program := s.Program()
	s.Flow(program)
	return s.Inboxed(program, options...)
}

// Inboxed adds the partner ann and a connection to a program.
func (s *Server) Inboxed(program string, options ...func(*connection.Input)) Inboxed {
	s.T.Helper()
	return Inboxed{s, program, s.Partner(program, M{"handle": "ann"}), s.Connect(program, options...)}
}

// RecordDirect has a connection record payments of customers without a partner.
func RecordDirect(in *connection.Input) { in.RecordDirect = true }

// Paid returns the event of a sale of 50.00 with these members changed.
func Paid(charge string, more M) M {
	return with(M{"type": "sale", "external_charge_id": charge, "amount_minor": 5000, "currency": "usd"}, []M{more})
}

// Receive stores an event of the connection.
func (h Inboxed) Receive(body M, id ...string) {
	h.T.Helper()
	h.Must(200, h.Connection.Send(body, id...))
}

// Work processes the inbox, and returns its events in the order of their arrival.
func (h Inboxed) Work() (events []Answer) {
	h.T.Helper()
	RunJob(h.T, h.Server, "work-inbox")
	data := h.Get("/v1/inbox_events?limit=100&program_id=" + h.ProgramID).Data()
	for i := range data {
		events = append(events, Answer{Body: data[len(data)-1-i]})
	}
	return events
}

// Last processes the inbox and requires this outcome of the newest event.
func (h Inboxed) Last(status string, code any) Answer {
	h.T.Helper()
	events := h.Work()
	e := events[len(events)-1]
	require.Equal(h.T, []any{status, code}, []any{e.Body["status"], e.Body["reason_code"]}, "%v", e.Body)
	return e
}

// Total returns total_count of a list of the program.
func (h Inboxed) Total(list string) int64 {
	h.T.Helper()
	return h.Get("/v1/" + list + "?program_id=" + h.ProgramID).Int("total_count")
}

// PaidBy sends a payment and returns the customer for which it was recorded.
func (h Inboxed) PaidBy(charge string, more M) Answer {
	h.T.Helper()
	h.Receive(Paid(charge, more))
	return h.Must(200, h.Get("/v1/customers/"+h.Last("recorded", nil).String("customer_id")))
}

// Earned returns the partner's whole balance in minor units.
func (h Inboxed) Earned() int64 {
	h.T.Helper()
	pending, due, paid := h.Balance(h.ProgramID, h.PartnerID, "USD")
	return pending + due + paid
}

// ExternalIDs returns the external ids of a customer, in order.
func (h Inboxed) ExternalIDs(customer string) (out []string) {
	h.T.Helper()
	k := h.Must(200, h.Get("/v1/customers/"+customer+"?include[]=external_ids"))
	for _, id := range k.Body["external_ids"].([]any) {
		out = append(out, id.(M)["external_customer_id"].(string))
	}
	return out
}

// Flagged returns the partners of the open flags of a kind.
func (h Inboxed) Flagged(kind string) (partners []string) {
	h.T.Helper()
	for _, f := range h.Get("/v1/risk_flags?status=open&program_id=" + h.ProgramID).Data() {
		if f["kind"] == kind {
			partners = append(partners, f["partner"].(M)["id"].(string))
		}
	}
	return partners
}

// CreateCustomer creates a customer of the partner.
func (h Inboxed) CreateCustomer(more M) string {
	h.T.Helper()
	return h.Customer(h.ProgramID, h.PartnerID, more)
}

// Sell records a sale of 100.00 to a customer and returns its id.
func (h Inboxed) Sell(customer, charge string, at time.Time) string {
	h.T.Helper()
	return h.Must(201, h.Post("/v1/sales", M{
		"program_id": h.ProgramID, "customer_id": customer, "external_charge_id": charge, "amount_minor": 10000,
		"currency": "USD", "occurred_at": at,
	})).String("id")
}

// Merge merges a customer into another one.
func (h Inboxed) Merge(into, from string, more M) Answer {
	h.T.Helper()
	body := M{"customer_id": from}
	maps.Copy(body, more)
	return h.Post("/v1/customers/"+into+"/merge", body)
}

// Credit credits the last month's sales of a customer to the partner.
func (h Inboxed) Credit(customer string) {
	h.T.Helper()
	h.Must(200, h.Post("/v1/customers/"+customer+"/credit", M{
		"partner_id": h.PartnerID, "since": h.Clock.Now().Time.AddDate(0, -1, 0),
	}))
}

// CommissionsOf returns the sum of a sale's commissions, without rejected and voided ones.
func (h Inboxed) CommissionsOf(sale string) (minor int64) {
	h.T.Helper()
	for _, k := range h.Get("/v1/commissions?program_id=" + h.ProgramID + "&sale_id=" + sale).Data() {
		if k["status"] != "voided" && k["status"] != "rejected" {
			minor += Answer{Body: k}.Int("amount_minor")
		}
	}
	return minor
}

// Settle pays every commission that is due.
func (h Inboxed) Settle() {
	h.T.Helper()
	h.Must(201, h.Post("/v1/payout_batches", M{"program_id": h.ProgramID, "period_end": h.Clock.Now().String()}))
	for _, p := range h.Get("/v1/payouts?status=pending&program_id=" + h.ProgramID).Data() {
		h.Must(200, h.Post("/v1/payouts/"+p["id"].(string)+"/mark_paid", nil))
	}
}

// FirstPays creates a flow of 10 % for the partner, with another rate for a first payment, and returns its id.
func (h Inboxed) FirstPays(rateType string, rateValue int64) string {
	h.T.Helper()
	return h.Flow(h.ProgramID, M{
		"name": "First payment", "partner_id": h.PartnerID, "rate_type": "percent", "rate_value": 1000,
		"branches": FirstBranch(rateType, rateValue),
	})
}

// FirstBranch is the branch of a flow for first payments.
func FirstBranch(rateType string, rateValue int64) []M {
	return []M{{
		"conditions": []M{{"field": "sale.is_first_sale", "operator": "eq", "value": true}},
		"rate_type":  rateType, "rate_value": rateValue,
	}}
}
