package flow_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// rehearse returns the commissions that a flow would have paid.
func rehearse(s *apitest.Server, program string, flow M, more ...M) apitest.Answer {
	body := M{"program_id": program, "flow": flow}
	for _, m := range more {
		maps.Copy(body, m)
	}
	return s.Post("/v1/flows/rehearse", body)
}

// A rehearsal returns the current and the changed commissions of sales, and changes nothing.
func TestFlowRehearsal(t *testing.T) {
	t.Parallel()
	e := apitest.NewEarner(t)
	s := e.Server
	stored := s.Get("/v1/flows?program_id=" + e.ProgramID).Data()[0]["id"].(string)
	partner, sales := e.Referrer(10000, 5000)
	s.Sale(e.ProgramID, s.Customer(e.ProgramID, s.Partner(e.ProgramID)), M{"amount_minor": 1000, "currency": "EUR"})
	_, refunded := e.Referrer(7000)
	s.Must(200, s.Post("/v1/sales/"+refunded[0]+"/refund", M{}))
	before := len(s.Events(e.ProgramID))

	raised := s.Must(200, rehearse(s, e.ProgramID, M{"rate_value": 2500}, M{"flow_id": stored}))
	require.Equal(t, []int64{3, 3, 30}, []int64{raised.Int("sales_count"), raised.Int("changed_count"), raised.Int("days")})
	require.Equal(t, true, raised.Body["complete"])
	require.Equal(t, []any{M{"currency": "EUR", "amount_minor": json.Number("200")}, M{"currency": "USD", "amount_minor": json.Number("3000")}}, raised.Body["before"])
	require.Equal(t, []any{M{"currency": "EUR", "amount_minor": json.Number("250")}, M{"currency": "USD", "amount_minor": json.Number("3750")}}, raised.Body["after"])
	example := raised.Body["examples"].([]any)[2].(M)
	require.Equal(t, []any{sales[0], partner, json.Number("10000")},
		[]any{example["sale_id"], example["partner_id"], example["amount_minor"]})
	require.Equal(t, M{"amount_minor": json.Number("2500"), "currency": "USD", "flow_id": stored, "flow_branch_id": nil},
		example["after"])

	own := s.Must(200, rehearse(s, e.ProgramID, M{"partner_id": partner, "rate_type": "fixed", "rate_value": 500, "priority": 1}))
	require.EqualValues(t, 2, own.Int("changed_count"))
	require.Equal(t, []any{M{"currency": "EUR", "amount_minor": json.Number("200")}, M{"currency": "USD", "amount_minor": json.Number("1000")}}, own.Body["after"])
	off := s.Must(200, rehearse(s, e.ProgramID, M{"status": "inactive"}, M{"flow_id": stored}))
	require.Equal(t, []any{}, off.Body["after"], "nothing else pays")
	signup := s.Must(200, rehearse(s, e.ProgramID, M{"trigger": "new_signup", "rate_type": "fixed", "rate_value": 1}))
	require.Zero(t, signup.Int("changed_count"), "sales do not ask it")

	require.Len(t, s.Events(e.ProgramID), before)
	require.EqualValues(t, 2000, s.Must(200, s.Get("/v1/flows/"+stored)).Int("rate_value"))
	require.EqualValues(t, 1, s.Get("/v1/flows?program_id="+e.ProgramID).Int("total_count"))
	s.Clock.Advance(31 * 24 * time.Hour)
	require.Zero(t, s.Must(200, rehearse(s, e.ProgramID, M{"rate_value": 1}, M{"flow_id": stored})).Int("sales_count"))
	later := s.Must(200, rehearse(s, e.ProgramID, M{"rate_value": 1}, M{"flow_id": stored, "days": 32}))
	require.EqualValues(t, 3, later.Int("sales_count"))
}

// With unchanged flows, a rehearsal returns the commissions that the sales got when they were
// recorded: both use one rule. Counters of the customer have their values at the sale's time.
func TestFlowRehearsalIsTheSale(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program, M{"rate_value": 1000, "branches": []any{
		M{"conditions": when("customer.sales_count", "eq", 2), "rate_type": "percent", "rate_value": 3000},
		M{"conditions": when("sale.is_first_sale", "eq", true), "rate_type": "percent", "rate_value": 5000},
		M{"conditions": when("sale.product_id", "in", []any{"box"}), "rate_type": "fixed", "rate_value": 123},
	}})
	total := int64(0)
	for i := range 5 {
		customer := s.Customer(program, s.Partner(program))
		for n := range i + 1 {
			s.Clock.Advance(time.Minute)
			more := M{"amount_minor": 1000*i + 10*n + 7}
			if n == 3 {
				more["product_id"] = "box"
			}
			s.Sale(program, customer, more)
		}
	}
	for _, k := range s.Get("/v1/commissions?limit=100&program_id=" + program).Data() {
		total += apitest.Answer{Body: k}.Int("amount_minor")
	}
	out := s.Must(200, rehearse(s, program, M{"rate_type": "percent", "rate_value": 1, "priority": 900}))
	require.Equal(t, []any{M{"currency": "USD", "amount_minor": json.Number(fmt.Sprint(total))}}, out.Body["before"])
	require.Equal(t, out.Body["before"], out.Body["after"], "a flow behind one that fits changes nothing")
	byPartner := s.Must(200, rehearse(s, program, M{"rate_type": "fixed", "rate_value": 9, "priority": 1, "branches": []any{
		M{"conditions": when("partner.sales_count", "gte", 5), "rate_type": "fixed", "rate_value": 1},
	}}))
	require.Equal(t, []any{M{"currency": "USD", "amount_minor": json.Number(fmt.Sprint(10*9 + 5))}}, byPartner.Body["after"])
}

func TestFlowRehearsalRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	theirs := s.Flow(other)
	rate := M{"rate_type": "percent", "rate_value": 1000}
	s.Refused(400, "parameter_missing", "flow.rate_type", rehearse(s, program, M{}))
	s.Refused(400, "parameter_invalid", "flow.rate_value", rehearse(s, program, M{"rate_type": "percent", "rate_value": 60000}))
	s.Refused(400, "parameter_invalid", "days", rehearse(s, program, rate, M{"days": 91}))
	s.Refused(400, "invalid_condition", "flow.branches[0].conditions[0].field", rehearse(s, program, M{
		"rate_type": "percent", "rate_value": 1, "branches": []any{
			M{"conditions": when("sale.colour", "eq", "red"), "rate_type": "percent", "rate_value": 1},
		},
	}))
	s.Refused(400, "invalid_reference", "flow_id", rehearse(s, program, rate, M{"flow_id": theirs}))
	s.Refused(404, "resource_not_found", "flow_id", rehearse(s, program, rate, M{"flow_id": "flw_06h0000000000000000000000a"}))
	s.Refused(404, "resource_not_found", "flow.partner_id", rehearse(s, program, M{
		"rate_type": "percent", "rate_value": 1, "partner_id": "part_06h0000000000000000000000a",
	}))
	s.Refused(404, "resource_not_found", "program_id", rehearse(s, "prg_06h0000000000000000000000a", rate))
}
