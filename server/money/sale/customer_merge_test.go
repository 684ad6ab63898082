package sale_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// bounty is a rule for the partner: 50.00 for the first payment, 20 % in the first two
// months after it, then nothing.
func (h inboxed) bounty() {
	h.T.Helper()
	h.Flow(h.ProgramID, M{
		"name": "Bounty", "partner_id": h.PartnerID, "rate_type": "percent", "rate_value": 0,
		"branches": []M{
			{"conditions": []M{{"field": "sale.is_first_sale", "operator": "eq", "value": true}},
				"rate_type": "fixed", "rate_value": 5000},
			{"conditions": []M{{"field": "customer.months_since_conversion", "operator": "lt", "value": 2}},
				"rate_type": "percent", "rate_value": 2000},
		},
	})
}

// TestMergeCustomers: a merge of two customers leaves one person with one first payment, one
// conversion, every id and every sale. A dry run lists the same changes and changes nothing.
func TestMergeCustomers(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.bounty()
	now := h.Clock.Now().Time
	into := h.CreateCustomer(M{"external_customer_id": "cus_A"})
	from := h.CreateCustomer(M{"external_customer_id": "cus_B", "email": "b@example.org", "name": "Bo", "identifier": "u1"})
	old := h.Sell(from, "ch_1", now.AddDate(0, -3, 0))
	bonus := h.Sell(into, "ch_2", now.AddDate(0, -2, 1))
	late := h.Sell(into, "ch_3", now.AddDate(0, 0, -1))
	shares := func() []int64 { return []int64{h.CommissionsOf(old), h.CommissionsOf(bonus), h.CommissionsOf(late)} }
	require.Equal(t, []int64{5000, 5000, 2000}, shares())

	path := "/v1/customers/" + into + "/merge"
	dry := h.Must(200, h.Post(path, M{"customer_id": from, "dry_run": true}))
	require.Equal(t, "b@example.org", dry.Body["customer"].(M)["email"])
	require.Len(t, dry.Body["commissions"], 2)
	require.Equal(t, []int64{5000, 5000, 2000}, shares(), "a dry run changes nothing")
	require.EqualValues(t, 2, h.Total("customers"))

	done := h.Must(200, h.Post(path, M{"customer_id": from}))
	require.Equal(t, dry.Body["commissions"], done.Body["commissions"])
	require.EqualValues(t, 1, done.Int("sales"))
	require.Equal(t, []int64{5000, 2000, 0}, shares())
	require.Equal(t, []string{"cus_A", "cus_B"}, h.ExternalIDs(into))
	k := h.Must(200, h.Get("/v1/customers/"+from))
	require.Equal(t, []any{into, "Bo", "u1", "cus_A"}, []any{
		k.String("id"), k.String("name"), k.String("identifier"), k.String("external_customer_id"),
	})
	require.Equal(t, now.AddDate(0, -3, 0).Format("2006-01-02T15:04:05.000Z"), k.String("converted_at"))
	require.Equal(t, map[string]any{old: true, bonus: false, late: false}, h.firsts())
	require.EqualValues(t, 1, h.Total("customers"))
	apitest.Balanced(t, h.Server)

	// The merged id still works in every request that takes a customer id.
	require.Equal(t, into, h.Must(201, h.Post("/v1/sales", M{
		"program_id": h.ProgramID, "customer_id": from, "external_charge_id": "ch_4", "amount_minor": 100, "currency": "USD",
	})).String("customer_id"))
	require.EqualValues(t, 4, h.Get("/v1/sales?program_id="+h.ProgramID+"&customer_id="+from).Int("total_count"))
	h.Must(200, h.Post("/v1/customers/"+from, M{"name": "Bob"}))
	require.Equal(t, into, h.Must(201, h.Post("/v1/commissions", M{
		"program_id": h.ProgramID, "partner_id": h.PartnerID, "customer_id": from, "amount_minor": 5, "reason": "Thanks",
	})).String("customer_id"))
	require.Equal(t, into, h.PaidBy("ch_5", M{"external_customer_id": "cus_B"}).String("id"))
	h.Refused(400, "parameter_invalid", "customer_id", h.Post(path, M{"customer_id": from}))
	h.Refused(404, "resource_not_found", "customer_id", h.Post(path, M{"customer_id": "cus_none"}))
	apitest.Balanced(t, h.Server)
}

// firsts returns, by sale, whether it is the first one of its customer.
func (h inboxed) firsts() map[string]any {
	h.T.Helper()
	out := map[string]any{}
	for _, s := range h.Get("/v1/sales?program_id=" + h.ProgramID).Data() {
		out[s["id"].(string)] = s["is_first_sale"]
	}
	return out
}

// A merge of customers of two partners keeps one of the partners. Paid commissions stay.
func TestMergeOfTwoPartners(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	bob := h.Partner(h.ProgramID, M{"handle": "bob"})
	into := h.Customer(h.ProgramID, h.PartnerID)
	from := h.Customer(h.ProgramID, bob)
	h.Sell(into, "ch_1", h.Clock.Now().Time)
	h.Sell(from, "ch_2", h.Clock.Now().Time)
	path := "/v1/customers/" + into + "/merge"
	for _, dry := range []bool{true, false} {
		h.Refused(409, "customers_of_two_partners", "partner_id", h.Post(path, M{"customer_id": from, "dry_run": dry}))
	}
	h.Refused(400, "parameter_invalid", "partner_id", h.Post(path, M{
		"customer_id": from, "partner_id": h.Partner(h.ProgramID, M{"handle": "eve"}),
	}))
	done := h.Must(200, h.Post(path, M{"customer_id": from, "partner_id": bob}))
	require.Equal(t, bob, done.Body["customer"].(M)["partner_id"])
	require.EqualValues(t, 2000, h.Earned(), "what was earned stays with its partner")
	pending, due, paid := h.Balance(h.ProgramID, bob, "USD")
	require.EqualValues(t, 2000, pending+due+paid)
	third := h.Customer(h.ProgramID, bob)
	h.Must(200, h.Post("/v1/customers/"+third+"/merge", M{"customer_id": from}))
	require.Equal(t, third, h.Must(200, h.Get("/v1/customers/"+into)).String("id"), "ids of earlier merges follow")
	require.Equal(t, third, h.Must(200, h.Get("/v1/customers/"+from)).String("id"))
	other := h.Program()
	h.Refused(400, "invalid_reference", "customer_id", h.Post("/v1/customers/"+third+"/merge", M{
		"customer_id": h.Customer(other, h.Partner(other)),
	}))
	apitest.Balanced(t, h.Server)
}

// TestCreditCustomer: a customer without a partner, and its past sales, can be credited to a
// partner. Sales that have a partner never change.
func TestCreditCustomer(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, apitest.RecordDirect)
	now := h.Clock.Now().Time
	h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c1", "occurred_at": now.AddDate(0, -2, 0)}))
	k := h.Last("recorded", nil).String("customer_id")
	h.Receive(apitest.Paid("ch_2", M{"external_customer_id": "c1", "occurred_at": now.AddDate(0, -1, 0)}))
	h.Receive(apitest.Paid("ch_3", M{"external_customer_id": "c1", "occurred_at": now}))
	h.Last("recorded", nil)
	h.Receive(M{"type": "refund", "external_charge_id": "ch_3", "external_refund_id": "re_1"})
	h.Last("recorded", nil)
	require.Zero(t, h.Earned())
	path, since := "/v1/customers/"+k+"/credit", now.AddDate(0, -1, -1)
	dry := h.Must(200, h.Post(path, M{"partner_id": h.PartnerID, "since": since, "dry_run": true}))
	require.EqualValues(t, 1000, dry.Int("amount_minor"))
	require.Zero(t, h.Earned())
	require.Nil(t, h.Get("/v1/customers/" + k).Body["partner_id"])
	done := h.Must(200, h.Post(path, M{"partner_id": h.PartnerID, "since": since}))
	rows := done.Body["sales"].([]any)
	require.Len(t, rows, 2)
	require.NotNil(t, rows[0].(M)["commission_id"])
	require.Equal(t, "The sale is refunded.", rows[1].(M)["reason"])
	require.EqualValues(t, 1000, h.Earned())
	require.Equal(t, h.PartnerID, h.Get("/v1/customers/"+k).String("partner_id"))
	again := h.Must(200, h.Post(path, M{"partner_id": h.PartnerID, "since": now.AddDate(0, -3, 0)}))
	require.EqualValues(t, 1000, again.Int("amount_minor"), "the sale that was still unpaid")
	require.EqualValues(t, 2000, h.Earned())
	require.Zero(t, h.Must(200, h.Post(path, M{"partner_id": h.PartnerID, "since": now.AddDate(0, -3, 0)})).Int("amount_minor"))
	bob := h.Partner(h.ProgramID, M{"handle": "bob"})
	h.Refused(409, "customer_has_partner", "partner_id", h.Post(path, M{"partner_id": bob, "since": since}))
	h.Refused(404, "resource_not_found", "partner_id", h.Post(path, M{"partner_id": "part_none", "since": since}))
	apitest.Balanced(t, h.Server)
}

// TestCorrectCommission: an unpaid commission can be corrected to another amount with a reason.
// Refunds then take their share of the new amount. Other commissions cannot be corrected.
func TestCorrectCommission(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	k := h.Customer(h.ProgramID, h.PartnerID)
	sale := h.Sell(k, "ch_1", h.Clock.Now().Time)
	id := h.Get("/v1/commissions?program_id=" + h.ProgramID + "&sale_id=" + sale).Data()[0]["id"].(string)
	path := "/v1/commissions/" + id
	for _, amount := range []int64{3000, 1000} {
		before := h.Earned()
		got := h.Must(200, h.Post(path, M{"amount_minor": amount, "reason": "Agreed by phone"}))
		require.Equal(t, amount, got.Int("amount_minor"))
		require.Equal(t, amount, h.Earned())
		events := h.Events(h.ProgramID)
		last := events[len(events)-1]
		require.Equal(t, "commission.updated", last.String("type"))
		require.Equal(t, before, apitest.Answer{Body: last.Body["data"].(M)}.Int("previous_amount_minor"))
		apitest.Balanced(t, h.Server)
	}
	explained := h.Must(200, h.Get(path+"?include[]=explanation")).Body["explanation"].(M)["amount"]
	require.Contains(t, explained, "Corrected to 10.00 USD on 2026-09-01 by an API key: Agreed by phone")
	h.Refused(400, "parameter_invalid", "amount_minor", h.Post(path, M{"amount_minor": 0, "reason": "x"}))
	h.Refused(400, "parameter_missing", "reason", h.Post(path, M{"amount_minor": 5}))
	h.Must(200, h.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 5000}))
	require.EqualValues(t, 500, h.Earned(), "half of the corrected amount")
	apitest.Balanced(t, h.Server)
	h.Must(200, h.Post("/v1/sales/"+sale+"/refund", M{}))
	require.Zero(t, h.Earned())
	refused := h.Refused(409, "commission_not_correctable", "", h.Post(path, M{"amount_minor": 5, "reason": "x"}))
	require.Contains(t, refused.Body["error"].(M)["message"], "voided")
	h.Refused(404, "resource_not_found", "", h.Post("/v1/commissions/com_none", M{"amount_minor": 5, "reason": "x"}))
	apitest.Balanced(t, h.Server)
}
