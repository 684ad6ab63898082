package sale_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// moneyIDs are the ids of a program whose money has moved, and of objects of another program.
type moneyIDs struct {
	program, partner, customer       string
	sale                             string // of 100.00
	paidCommission, voidedCommission string
	paidPayout, ineligiblePayout     string
	stranger, foreignCustomer        string
}

// moveMoney pays a partner, refunds a sale, and leaves another partner below the minimum payout.
func moveMoney(e apitest.Earner) moneyIDs {
	e.T.Helper()
	s := e.Server
	partner, sales := e.Referrer(10000, 5000)
	other := s.Program()
	ids := moneyIDs{program: e.ProgramID, partner: partner, sale: sales[0], stranger: s.Partner(other)}
	ids.foreignCustomer = s.Customer(other, ids.stranger)
	ids.customer = s.Customer(e.ProgramID, partner)
	commissionOf := func(sale string) string {
		return s.Get("/v1/commissions?program_id=" + e.ProgramID + "&sale_id=" + sale).Data()[0]["id"].(string)
	}
	ids.paidCommission = commissionOf(ids.sale)
	e.Batch(201)
	ids.paidPayout = e.Payouts("")[0].String("id")
	s.Must(200, s.Post("/v1/payouts/"+ids.paidPayout+"/mark_paid", nil))
	gone := s.Sale(e.ProgramID, ids.customer, M{"amount_minor": 3000}).String("id")
	s.Must(200, s.Post("/v1/sales/"+gone+"/refund", nil))
	ids.voidedCommission = commissionOf(gone)
	poor, _ := e.Referrer(10)
	s.Must(200, s.Post("/v1/partners/"+poor, M{"min_payout_minor": 100}))
	s.Clock.Advance(time.Hour)
	e.Batch(200)
	ids.ineligiblePayout = e.Payouts("&status=not_eligible")[0].String("id")
	return ids
}

// badMoney is a request that is refused.
type badMoney struct {
	path        string
	body        any
	status      int
	code, param string
}

func (ids moneyIDs) newSale(more M) M { return apitest.SaleBody(ids.program, ids.customer, more) }

func (ids moneyIDs) badSales() []badMoney {
	return []badMoney{
		{"/v1/sales", ids.newSale(M{"amount_minor": 0}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/sales", ids.newSale(M{"amount_minor": 1_000_000_000_000}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/sales", ids.newSale(M{"amount_minor": "5"}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/sales", ids.newSale(M{"amount_minor": 1.5}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/sales", ids.newSale(M{"tax_minor": 5000}), 400, "parameter_invalid", "tax_minor"},
		{"/v1/sales", ids.newSale(M{"currency": "ABC"}), 400, "parameter_invalid", "currency"},
		{"/v1/sales", ids.newSale(M{"customer_id": ids.foreignCustomer}), 400, "invalid_reference", "customer_id"},
		{"/v1/sales", ids.newSale(M{"customer_id": "cus_none"}), 404, "resource_not_found", "customer_id"},
		{"/v1/sales", ids.newSale(M{"occurred_at": "2027-01-01T00:00:00Z"}), 400, "parameter_invalid", "occurred_at"},
		{"/v1/sales", ids.newSale(M{"external_charge_id": ""}), 400, "parameter_invalid", "external_charge_id"},
		{"/v1/sales", ids.newSale(M{"interval": "month", "billing_type": "one_time"}), 400, "parameter_invalid", "interval"},
	}
}

func (ids moneyIDs) badRefunds() []badMoney {
	return []badMoney{
		{"/v1/sales/" + ids.sale + "/refund", M{"amount_minor": 0}, 400, "parameter_invalid", "amount_minor"},
		{"/v1/sales/" + ids.sale + "/refund", M{"amount_minor": 10001}, 400, "parameter_invalid", "amount_minor"},
		{
			"/v1/sales/" + ids.sale + "/refund", M{"refunded_at": "2026-09-01T14:00:00Z"}, 400, "parameter_invalid",
			"refunded_at",
		},
		{
			"/v1/sales/" + ids.sale + "/refund", M{"refunded_at": "2026-08-31T00:00:00Z"}, 400, "parameter_invalid",
			"refunded_at",
		},
		{"/v1/sales/" + ids.sale + "/refund", M{"reason": strings.Repeat("x", 1001)}, 400, "parameter_invalid", "reason"},
		{"/v1/sales/sale_none/refund", nil, 404, "resource_not_found", ""},
	}
}

func (ids moneyIDs) newCommission(more M) M {
	body := M{"program_id": ids.program, "partner_id": ids.partner, "amount_minor": 5, "reason": "x"}
	maps.Copy(body, more)
	return body
}

func (ids moneyIDs) badCommissions() []badMoney {
	return []badMoney{
		{"/v1/commissions", ids.newCommission(M{"amount_minor": 0}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/commissions", ids.newCommission(M{"amount_minor": int64(1e14)}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/commissions", ids.newCommission(M{"amount_minor": int64(-1e14)}), 400, "parameter_invalid", "amount_minor"},
		{"/v1/commissions", ids.newCommission(M{"reason": ""}), 400, "parameter_invalid", "reason"},
		{"/v1/commissions", ids.newCommission(M{"reason": nil}), 400, "parameter_invalid", "reason"},
		{"/v1/commissions", ids.newCommission(M{"currency": "xyz"}), 400, "parameter_invalid", "currency"},
		{"/v1/commissions", ids.newCommission(M{"partner_id": ids.stranger}), 400, "invalid_reference", "partner_id"},
		{
			"/v1/commissions", ids.newCommission(M{"customer_id": ids.foreignCustomer}), 400, "invalid_reference", "customer_id",
		},
		{"/v1/commissions", ids.newCommission(M{"sale_id": "sale_none"}), 404, "resource_not_found", "sale_id"},
		{"/v1/commissions/" + ids.paidCommission + "/approve", nil, 409, "commission_not_pending", ""},
		{"/v1/commissions/" + ids.paidCommission + "/reject", M{"reason": "x"}, 409, "commission_already_paid", ""},
		{"/v1/commissions/" + ids.voidedCommission + "/reject", M{"reason": "x"}, 409, "commission_not_open", ""},
		{"/v1/commissions/" + ids.paidCommission + "/reject", M{}, 400, "parameter_missing", "reason"},
		{"/v1/commissions/com_none/approve", nil, 404, "resource_not_found", ""},
	}
}

func (ids moneyIDs) badPayouts() []badMoney {
	return []badMoney{
		{"/v1/payout_batches", M{"program_id": ids.program}, 400, "parameter_missing", "period_end"},
		{
			"/v1/payout_batches", M{"program_id": ids.program, "period_end": "2026-09-02"}, 400, "parameter_invalid",
			"period_end",
		},
		{
			"/v1/payout_batches", M{"program_id": ids.program, "period_end": "2026-09-01", "partner_id": ids.stranger}, 400,
			"invalid_reference", "partner_id",
		},
		{
			"/v1/payout_batches", M{"program_id": ids.program, "period_end": "2026-09-01", "ignore_minimum": "yes"}, 400,
			"parameter_invalid", "ignore_minimum",
		},
		{"/v1/payouts/" + ids.paidPayout + "/mark_paid", nil, 409, "payout_already_paid", ""},
		{"/v1/payouts/" + ids.ineligiblePayout + "/mark_paid", nil, 409, "payout_not_payable", ""},
		{"/v1/payouts/" + ids.ineligiblePayout + "/mark_paid", M{"method": "cash"}, 400, "parameter_invalid", "method"},
		{"/v1/payouts/" + ids.ineligiblePayout + "/mark_paid", M{"external_id": ""}, 400, "parameter_invalid", "external_id"},
		{
			"/v1/payouts/" + ids.ineligiblePayout + "/mark_paid", M{"paid_at": "2026-09-01T14:00:00Z"}, 400, "parameter_invalid",
			"paid_at",
		},
		{"/v1/payouts/pyt_none/mark_paid", nil, 404, "resource_not_found", ""},
	}
}

// TestBadMoneyChangesNothing: operations that move money refuse values out of bounds, wrong states
// and wrong references. The error names the parameter, and no row changes.
func TestBadMoneyChangesNothing(t *testing.T) {
	t.Parallel()
	e := apitest.NewEarner(t)
	s, ids := e.Server, moveMoney(e)
	before := apitest.Rows(s, s.Org)
	for _, c := range slices.Concat(ids.badSales(), ids.badRefunds(), ids.badCommissions(), ids.badPayouts()) {
		a := s.Post(c.path, c.body)
		require.Equal(t, []any{c.status, c.code, c.param}, []any{a.Status, a.Code(), a.Param()}, "%s %v: %s", c.path, c.body,
			a.Raw)
	}
	s.Refused(409, "payout_already_paid", "", s.Delete("/v1/payouts/"+ids.paidPayout))
	require.Equal(t, before, apitest.Rows(s, s.Org))
	e.Tallied(t)
}
