package sale_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestMainJob runs the main job over plain HTTP: click, referral, customer, sale, commission,
// balance, and all their events.
func TestMainJob(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.PartnerObject(program, M{"handle": "ada"}).String("id")
	s.Flow(program)
	click := s.Click(program, "ADA", M{"landing_url": "https://shop.example/p?utm_source=x&ref=ada", "country": "de"})
	require.Equal(t, partner, click.String("partner_id"))
	require.Equal(t, "DE", click.String("country"))
	referral := s.Must(200, s.Get("/v1/referrals/"+click.String("referral_id")))
	require.Equal(t, "visit", referral.String("status"))
	require.Equal(t, "2026-10-01T12:00:00.000Z", referral.String("expires_at"))
	require.Equal(t, M{"utm_source": "x"}, referral.Body["utm"])

	customer := s.Must(201, s.Post("/v1/customers", M{
		"program_id": program, "click_id": click.String("id"), "email": "buyer@example.org",
	}))
	require.Equal(t, "link", customer.String("tracked_by"))
	require.Equal(t, "lead", customer.String("status"))
	sale := s.Sale(program, customer.String("id"), M{"external_charge_id": "ch_main"})
	require.Equal(t, "commission_created", sale.String("activity_outcome"))
	require.Equal(t, []any{}, sale.Body["warnings"])
	require.Equal(t, true, sale.Body["is_first_sale"])

	list := s.Must(200,
		s.Get("/v1/commissions?program_id="+program+"&sale_id="+sale.String("id")+
			"&expand=partner,customer,sale,flow,payout"))
	require.Len(t, list.Data(), 1)
	commission := apitest.Answer{Body: list.Data()[0]}
	require.EqualValues(t, 1000, commission.Int("amount_minor"), "20 % of 49.99, half up")
	require.Equal(t, "due", commission.String("status"))
	_, due, _ := s.Balance(program, partner, "USD")
	require.EqualValues(t, 1000, due)
	require.Equal(t, "converted", s.Get("/v1/referrals/"+click.String("referral_id")).String("status"))
	require.Equal(t, "active", s.Get("/v1/customers/"+customer.String("id")).String("status"))
	require.Equal(t,
		[]string{
			"affiliate.created", "referral.created", "referral.lead", "sale.created", "referral.converted", "commission.created",
		}, s.EventTypes(program))
}

func TestSaleRepeated(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	s.Flow(program)
	body := apitest.SaleBody(program, customer, M{"external_charge_id": "ch_1", "metadata": M{"order": 7}})
	first := s.Must(201, s.Post("/v1/sales", body))
	s.Clock.Advance(time.Hour)
	again := s.Must(200, s.Post("/v1/sales", body))
	require.Equal(t, string(first.Raw), string(again.Raw), "a repeat answers the stored sale")
	body["amount_minor"], body["currency"], body["occurred_at"] = 1, "EUR", "2026-08-31T00:00:00Z"
	again = s.Must(200, s.Post("/v1/sales", body))
	require.Equal(t, []any{M{
		"code":    "differs_from_recorded",
		"message": "The charge was recorded before with other values, which stay: amount_minor, currency, occurred_at.",
	}}, again.Body["warnings"])
	again.Body["warnings"] = first.Body["warnings"]
	require.Equal(t, first.Body, again.Body, "nothing of the stored sale changes")
	s.Must(200, s.Post("/v1/sales/"+first.String("id")+"/refund", M{"amount_minor": 100}))
	body["amount_minor"], body["currency"] = first.Body["amount_minor"], "USD"
	delete(body, "occurred_at")
	require.Empty(t, s.Must(200, s.Post("/v1/sales", body)).Body["warnings"], "what a refund took does not differ")
	other := s.Program()
	elsewhere := s.Sale(other, s.Customer(other, s.Partner(other)), M{"external_charge_id": "ch_1"})
	require.NotEqual(t, first.String("id"), elsewhere.String("id"), "charges are unique within a program")
}

func TestSaleWithoutCommission(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	customer := s.Customer(program, partner)
	warning := func(more M) string {
		sale := s.Sale(program, customer, more)
		require.Equal(t, "sale_recorded", sale.String("activity_outcome"))
		list, _ := sale.Body["warnings"].([]any)
		require.Len(t, list, 1)
		return fmt.Sprint(list[0].(M)["code"])
	}
	require.Equal(t, "no_commission_from_rules", warning(nil), "no flow")
	fixed := s.Flow(program, M{"rate_type": "fixed", "rate_value": 500})
	require.Equal(t, "fixed_rate_currency_mismatch", warning(M{"currency": "EUR"}))
	s.Must(200, s.Post("/v1/flows/"+fixed, M{"rate_value": 0}))
	require.Equal(t, "no_commission_from_rules", warning(nil), "a rate of nothing")
	s.Must(200, s.Post("/v1/flows/"+fixed, M{"rate_value": 500}))
	s.Must(200, s.Post("/v1/customers/"+customer, M{"status": "suspended"}))
	require.Equal(t, "no_commission_from_rules", warning(nil), "suspended customer")
	require.Equal(t, "suspended", s.Get("/v1/customers/"+customer).String("status"))
	s.Must(200, s.Post("/v1/customers/"+customer, M{"status": "active"}))
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "suspended"}))
	require.Equal(t, "no_commission_from_rules", warning(nil), "suspended partner")
}

func TestSaleRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	other := s.Program()
	stranger := apitest.On(t, s.DSN, s.Clock)
	foreign := stranger.Program()
	foreignCustomer := stranger.Customer(foreign, stranger.Partner(foreign))
	post := func(more M) apitest.Answer { return s.Post("/v1/sales", apitest.SaleBody(program, customer, more)) }
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"amount_minor": 0}, 400, "parameter_invalid", "amount_minor"},
		{M{"amount_minor": -1}, 400, "parameter_invalid", "amount_minor"},
		{M{"amount_minor": nil}, 400, "parameter_invalid", "amount_minor"},
		{M{"amount_minor": "10"}, 400, "parameter_invalid", "amount_minor"},
		{M{"amount_minor": 1000000000000}, 400, "parameter_invalid", "amount_minor"},
		{M{"tax_minor": 5000}, 400, "parameter_invalid", "tax_minor"},
		{M{"tax_minor": -1}, 400, "parameter_invalid", "tax_minor"},
		{M{"currency": "XXX"}, 400, "parameter_invalid", "currency"},
		{M{"currency": "US"}, 400, "parameter_invalid", "currency"},
		{M{"interval": "month", "billing_type": "one_time"}, 400, "parameter_invalid", "interval"},
		{M{"interval": "hour"}, 400, "parameter_invalid", "interval"},
		{M{"occurred_at": "2026-09-01T12:05:01Z"}, 400, "parameter_invalid", "occurred_at"},
		{M{"occurred_at": "2026-02-30T00:00:00Z"}, 400, "parameter_invalid", "occurred_at"},
		{M{"external_charge_id": ""}, 400, "parameter_invalid", "external_charge_id"},
		{M{"customer_id": "part_1"}, 400, "parameter_invalid", "customer_id"},
		{M{"customer_id": "cus_none"}, 404, "resource_not_found", "customer_id"},
		{M{"customer_id": foreignCustomer}, 404, "resource_not_found", "customer_id"},
		{M{"program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
		{M{"program_id": foreign}, 404, "resource_not_found", "program_id"},
		{M{"program_id": other}, 400, "invalid_reference", "customer_id"},
		{M{"amount": 5}, 400, "parameter_unknown", "amount"},
		{M{"metadata": M{"": 1}}, 400, "parameter_invalid", "metadata"},
		{M{"metadata": []any{1}}, 400, "parameter_invalid", "metadata"},
	} {
		s.Refused(c.status, c.code, c.param, post(c.body))
	}
	require.EqualValues(t, 0, s.Get("/v1/sales?program_id="+program).Int("total_count"), "a refusal writes nothing")
	s.Must(201, post(M{"occurred_at": "2026-09-01T12:05:00Z"}))
}

func TestNetRevenueAndHold(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"commission_on_net_revenue": true, "holding_period_days": 30})
	partner := s.Partner(program)
	customer := s.Customer(program, partner)
	s.Flow(program, M{"rate_value": 1000})
	sale := s.Sale(program, customer, M{
		"amount_minor": 10000, "tax_minor": 1900, "occurred_at": "2026-08-31T00:00:00+02:00",
	})
	require.Equal(t, "2026-08-30T22:00:00.000Z", sale.String("occurred_at"))
	k := apitest.Answer{Body: s.Get("/v1/commissions?program_id=" + program).Data()[0]}
	require.EqualValues(t, 810, k.Int("amount_minor"))
	require.EqualValues(t, 8100, k.Int("revenue_minor"))
	require.Equal(t, "approved", k.String("status"))
	require.Equal(t, "2026-09-29T22:00:00.000Z", k.String("mature_at"))
	types := s.EventTypes(program)
	require.Equal(t, []string{"sale.created", "commission.created", "commission.updated"}, types[len(types)-3:])
	pending, due, _ := s.Balance(program, partner, "USD")
	require.EqualValues(t, 810, pending)
	require.EqualValues(t, 0, due)
}

// TestFees: a program can deduct the processor's fee from a sale, if the fee is known. Refunds take
// the same share of the commission, and nothing of the fee.
func TestFees(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for base, want := range map[string][]int64{
		"gross": {10000, 10000, 10000}, "net_of_tax": {8100, 10000, 8100}, "net_of_tax_and_fee": {7780, 9700, 0},
	} {
		program := s.Program(M{"commission_base": base})
		customer := s.Customer(program, s.Partner(program))
		s.Flow(program, M{"rate_value": 1000})
		for i, sale := range []M{
			{"tax_minor": 1900, "fee_minor": 320}, {"fee_minor": 300}, {"tax_minor": 1900, "fee_minor": 9000},
		} {
			sale["amount_minor"] = 10000
			one := s.Sale(program, customer, sale)
			require.Equal(t, fmt.Sprint(sale["fee_minor"]), fmt.Sprint(one.Body["fee_minor"]))
			if want[i] == 0 {
				require.Equal(t, "sale_recorded", one.String("activity_outcome"), base)
				continue
			}
			k := apitest.Answer{Body: s.Get("/v1/commissions?sale_id=" + one.String("id") + "&program_id=" + program).Data()[0]}
			require.Equal(t, []int64{want[i], want[i] / 10}, []int64{k.Int("revenue_minor"), k.Int("amount_minor")}, base)
			s.Must(200, s.Post("/v1/sales/"+one.String("id")+"/refund", M{"amount_minor": 9900}))
			left := s.Get("/v1/sales/" + one.String("id"))
			require.Equal(t, one.Body["fee_minor"], left.Body["fee_minor"], "it may be more than what is left of the sale")
			k = s.Get("/v1/commissions/" + k.String("id"))
			require.Equal(t, (want[i]/10+50)/100, k.Int("amount_minor"), base)
			s.Must(200, s.Post("/v1/sales/"+one.String("id")+"/refund", nil))
			require.Equal(t, "voided", s.Get("/v1/commissions/"+k.String("id")).String("status"))
		}
	}
	apitest.Balanced(t, s)
}

// TestFeeOfBatch: a batch accepts fees as single calls do, and a repeat with another fee gets a
// warning.
func TestFeeOfBatch(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	customer := s.Customer(program, s.Partner(program))
	item := func(charge string, fee any) M {
		return M{
			"customer_id": customer, "external_charge_id": charge, "amount_minor": 500, "currency": "USD", "fee_minor": fee,
		}
	}
	post := func(items ...M) []M {
		a := s.Must(200, s.Post("/v1/sales/batch", M{"program_id": program, "items": items}))
		return a.Data()
	}
	first := post(item("a", 500), item("b", nil), item("c", 501), item("d", -1))
	require.Equal(t, json.Number("500"), first[0]["result"].(M)["fee_minor"])
	require.Nil(t, first[1]["result"].(M)["fee_minor"])
	for _, refused := range first[2:] {
		require.Equal(t, "fee_minor", refused["error"].(M)["param"])
	}
	again := post(item("a", nil), item("a", 499), item("b", 7))
	require.Empty(t, again[0]["result"].(M)["warnings"])
	for _, other := range again[1:] {
		require.Contains(t, other["result"].(M)["warnings"].([]any)[0].(M)["message"], ": fee_minor.")
	}
}

// TestSalesInParallel: parallel sales for one partner leave an exact balance, and each customer has
// one first sale.
func TestSalesInParallel(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	s.Flow(program)
	customers := []string{s.Customer(program, partner), s.Customer(program, partner), s.Customer(program, partner)}
	answers := apitest.AtOnce(60,
		func(i int) apitest.Answer { return s.Sale(program, customers[i%3], M{"amount_minor": 1000 + i}) })
	first, want := 0, int64(0)
	for i, a := range answers {
		if a.Body["is_first_sale"] == true {
			first++
		}
		want += (int64(1000+i)*2000 + 5000) / 10000
	}
	require.Equal(t, 3, first)
	_, due, _ := s.Balance(program, partner, "USD")
	require.Equal(t, want, due)
}

func TestSaleListFilters(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ada, ben := s.Partner(program), s.Partner(program)
	a, b := s.Customer(program, ada), s.Customer(program, ben)
	for i := range 5 {
		s.Clock.Advance(time.Hour)
		s.Sale(program, a, M{"occurred_at": fmt.Sprintf("2026-08-0%dT00:00:00Z", i+1)})
	}
	s.Sale(program, b)
	count := func(query string) int64 {
		return s.Must(200, s.Get("/v1/sales?program_id="+program+query)).Int("total_count")
	}
	require.EqualValues(t, 6, count(""))
	require.EqualValues(t, 5, count("&partner_id="+ada))
	require.EqualValues(t, 1, count("&customer_id="+b))
	require.EqualValues(t, 4, count("&occurred_after=2026-08-03"))
	require.EqualValues(t, 2, count("&occurred_before=2026-08-03T00:00:00Z"))
	require.EqualValues(t, 0, count("&refunded=true"))
	require.EqualValues(t, 6, count("&refunded=false"))
	s.Refused(400, "parameter_invalid", "occurred_after", s.Get("/v1/sales?program_id="+program+"&occurred_after=soon"))
	s.Refused(404, "resource_not_found", "partner_id", s.Get("/v1/sales?program_id="+program+"&partner_id=part_none"))
	other := s.Program()
	s.Refused(400, "invalid_reference", "partner_id", s.Get("/v1/sales?program_id="+other+"&partner_id="+ada))
	got := s.Must(200, s.Get("/v1/sales?program_id="+program+"&expand[]=partner&expand[]=customer&limit=1"))
	sale := got.Data()[0]
	require.Equal(t, ben, sale["partner"].(M)["id"])
	require.Equal(t, b, sale["customer"].(M)["id"])
	require.Equal(t, true, got.Body["has_more"])
}
