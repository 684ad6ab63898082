package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/apitest"
)

// TestBadMoneyChangesNothing: every bound, wrong state and wrong reference of the
// operations that move money is refused by its name, and not one row changes.
func TestBadMoneyChangesNothing(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	s := e.s
	partner, sales := e.partner(10000, 5000)
	other := s.Program()
	stranger := s.Partner(other)
	foreignCustomer := s.Customer(other, stranger)
	customer := s.Customer(e.program, partner)
	open := s.Get("/v1/commissions?program_id=" + e.program + "&sale_id=" + sales[0]).Data()[0]["id"].(string)
	e.batch(201)
	paid := e.payouts("")[0].String("id")
	s.Must(200, s.Post("/v1/payouts/"+paid+"/mark_paid", nil))
	gone := s.Sale(e.program, customer, M{"amount_minor": 3000}).String("id")
	s.Must(200, s.Post("/v1/sales/"+gone+"/refund", nil))
	voided := s.Get("/v1/commissions?program_id=" + e.program + "&sale_id=" + gone).Data()[0]["id"].(string)
	poor, _ := e.partner(10)
	s.Must(200, s.Post("/v1/partners/"+poor, M{"min_payout_minor": 100}))
	s.Clock.Advance(time.Hour)
	e.batch(200)
	ineligible := e.payouts("&status=not_eligible")[0].String("id")
	commission := func(more M) M {
		body := M{"program_id": e.program, "partner_id": partner, "amount_minor": 5, "reason": "x"}
		for k, v := range more {
			body[k] = v
		}
		return body
	}
	sale := func(more M) M { return apitest.SaleBody(e.program, customer, more) }
	before := rows(s, s.Org)
	long := strings.Repeat("x", 1001)
	for _, c := range []struct {
		path        string
		body        any
		status      int
		code, param string
	}{
		{"/v1/sales", sale(M{"amount_minor": 0}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/sales", sale(M{"amount_minor": 1_000_000_000_000}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/sales", sale(M{"amount_minor": "5"}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/sales", sale(M{"amount_minor": 1.5}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/sales", sale(M{"tax_minor": 5000}), 400, "parameter_invalid", "tax_minor"},
		{"/v1/sales", sale(M{"currency": "ABC"}), 400, "parameter_invalid", "currency"},
		{"/v1/sales", sale(M{"customer_id": foreignCustomer}), 400, "invalid_reference", "customer_id"},
		{"/v1/sales", sale(M{"customer_id": "cus_none"}), 404, "resource_not_found", "customer_id"},
		{"/v1/sales", sale(M{"occurred_at": "2027-01-01T00:00:00Z"}), 400, "parameter_invalid", "occurred_at"},
		{"/v1/sales", sale(M{"external_charge_id": ""}), 400, "parameter_invalid", "external_charge_id"},
		{"/v1/sales", sale(M{"interval": "month", "billing_type": "one_time"}), 400, "parameter_invalid", "interval"},
		{"/v1/sales/" + sales[0] + "/refund", M{"amount_minor": 0}, 400, "parameter_invalid", "amount_minor"},
		{"/v1/sales/" + sales[0] + "/refund", M{"amount_minor": 10001}, 400, "parameter_invalid", "amount_minor"},
		{"/v1/sales/" + sales[0] + "/refund", M{"refunded_at": "2026-09-01T14:00:00Z"}, 400, "parameter_invalid", "refunded_at"},
		{"/v1/sales/" + sales[0] + "/refund", M{"refunded_at": "2026-08-31T00:00:00Z"}, 400, "parameter_invalid", "refunded_at"},
		{"/v1/sales/" + sales[0] + "/refund", M{"reason": long}, 400, "parameter_invalid", "reason"},
		{"/v1/sales/sale_none/refund", nil, 404, "resource_not_found", ""},
		{"/v1/commissions", commission(M{"amount_minor": 0}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/commissions", commission(M{"amount_minor": int64(1e14)}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/commissions", commission(M{"amount_minor": int64(-1e14)}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/commissions", commission(M{"reason": ""}), 400, "parameter_invalid", "reason"},
		{"/v1/commissions", commission(M{"reason": nil}), 400, "parameter_invalid", "reason"},
		{"/v1/commissions", commission(M{"currency": "xyz"}), 400, "parameter_invalid", "currency"},
		{"/v1/commissions", commission(M{"partner_id": stranger}), 400, "invalid_reference", "partner_id"},
		{"/v1/commissions", commission(M{"customer_id": foreignCustomer}), 400, "invalid_reference", "customer_id"},
		{"/v1/commissions", commission(M{"sale_id": "sale_none"}), 404, "resource_not_found", "sale_id"},
		{"/v1/commissions/" + open + "/approve", nil, 409, "commission_not_pending", ""},
		{"/v1/commissions/" + open + "/reject", M{"reason": "x"}, 409, "commission_already_paid", ""},
		{"/v1/commissions/" + voided + "/reject", M{"reason": "x"}, 409, "commission_not_open", ""},
		{"/v1/commissions/" + open + "/reject", M{}, 400, "parameter_missing", "reason"},
		{"/v1/commissions/com_none/approve", nil, 404, "resource_not_found", ""},
		{"/v1/payout_batches", M{"program_id": e.program}, 400, "parameter_missing", "period_end"},
		{"/v1/payout_batches", M{"program_id": e.program, "period_end": "2026-09-02"}, 400, "parameter_invalid", "period_end"},
		{"/v1/payout_batches", M{"program_id": e.program, "period_end": "2026-09-01", "partner_id": stranger}, 400, "invalid_reference", "partner_id"},
		{"/v1/payout_batches", M{"program_id": e.program, "period_end": "2026-09-01", "ignore_minimum": "yes"}, 400, "parameter_invalid", "ignore_minimum"},
		{"/v1/payouts/" + paid + "/mark_paid", nil, 409, "payout_already_paid", ""},
		{"/v1/payouts/" + ineligible + "/mark_paid", nil, 409, "payout_not_payable", ""},
		{"/v1/payouts/" + ineligible + "/mark_paid", M{"method": "cash"}, 400, "parameter_invalid", "method"},
		{"/v1/payouts/" + ineligible + "/mark_paid", M{"external_id": ""}, 400, "parameter_invalid", "external_id"},
		{"/v1/payouts/" + ineligible + "/mark_paid", M{"paid_at": "2026-09-01T14:00:00Z"}, 400, "parameter_invalid", "paid_at"},
		{"/v1/payouts/pyt_none/mark_paid", nil, 404, "resource_not_found", ""},
	} {
		a := s.Post(c.path, c.body)
		require.Equal(t, []any{c.status, c.code, c.param}, []any{a.Status, a.Code(), a.Param()}, "%s %v: %s", c.path, c.body, a.Raw)
	}
	s.Refused(409, "payout_already_paid", "", s.Delete("/v1/payouts/"+paid))
	require.Equal(t, before, rows(s, s.Org))
	e.tallied(t)
}
