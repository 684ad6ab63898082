package customer_test

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestSaleOfANewCustomer: a shop only has to send a sale with the processor's id of the customer
// and the click, coupon or partner.
func TestSaleOfANewCustomer(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.PartnerObject(program)
	s.Flow(program)
	s.Flow(program, M{"trigger": "new_signup", "rate_type": "fixed", "rate_value": 300})
	click := s.Click(program, partner.String("handle"))
	coupon := s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "Ada20",
		"partner_id": partner.String("id")}))
	for external, c := range map[string]struct {
		route     M
		trackedBy string
		events    []string
	}{
		"cus_click": {M{"click_id": click.String("id")}, "link", []string{"referral.lead", "commission.created",
			"sale.created", "referral.converted", "commission.created"}},
		"cus_coupon": {M{"coupon_code": "ADA20"}, "coupon", []string{"commission.created", "sale.created",
			"commission.created"}},
		"cus_partner": {M{"partner_id": partner.String("id")}, "api", []string{"commission.created", "sale.created",
			"commission.created"}},
	} {
		before := len(s.Events(program))
		body := M{"program_id": program, "external_customer_id": external, "external_charge_id": "ch_" + external,
			"amount_minor": 5000, "currency": "USD"}
		s.Refused(404, "resource_not_found", "external_customer_id", s.Post("/v1/sales", body))
		maps.Copy(body, c.route)
		sale := s.Must(201, s.Post("/v1/sales", body))
		require.Equal(t, []any{"commission_created", partner.String("id"), true},
			[]any{sale.String("activity_outcome"), sale.String("partner_id"), sale.Body["is_first_sale"]})
		require.Equal(t, c.events, s.EventTypes(program)[before:])
		customer := s.Get("/v1/customers/" + sale.String("customer_id"))
		require.Equal(t, []any{external, c.trackedBy, "active"}, []any{customer.String("external_customer_id"),
			customer.String("tracked_by"), customer.String("status")})
		if c.trackedBy == "coupon" {
			require.Equal(t, coupon.String("id"), customer.String("coupon_id"))
		}
		again := s.Must(200, s.Post("/v1/sales", body))
		require.Equal(t, string(sale.Raw), string(again.Raw))
		body["external_charge_id"] = "ch_2_" + external
		require.Equal(t, sale.String("customer_id"), s.Must(201, s.Post("/v1/sales", body)).String("customer_id"),
			"a known customer keeps its partner")
		delete(body, "click_id")
		found := s.Get("/v1/sales?program_id=" + program + "&external_customer_id=" + external)
		require.EqualValues(t, 2, found.Int("total_count"))
	}
	require.EqualValues(t, 3, s.Get("/v1/customers?program_id="+program).Int("total_count"))
	apitest.Balanced(t, s)
}

// TestNewCustomerManyCallers: concurrent sales of one new customer create one customer and all the
// sales.
func TestNewCustomerManyCallers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	replica := apitest.On(t, s.DSN, s.Clock)
	program := s.Program()
	partner := s.Partner(program)
	s.Flow(program)
	answers := apitest.AtOnce(32, func(i int) apitest.Answer {
		via := *s
		if i%2 == 1 {
			via.URL = replica.URL
		}
		return via.Post("/v1/sales", M{
			"program_id": program, "external_customer_id": "cus_1", "partner_id": partner,
			"external_charge_id": apitest.Unique("ch_"), "amount_minor": 1000, "currency": "USD",
		})
	})
	first := 0
	for _, a := range answers {
		s.Must(201, a)
		if a.Body["is_first_sale"] == true {
			first++
		}
	}
	require.Equal(t, 1, first)
	require.EqualValues(t, 1, s.Get("/v1/customers?program_id="+program).Int("total_count"))
	apitest.Balanced(t, s)
}

// TestChargeOfDeletedPartner: a charge stays one sale, even after its customer was deleted with
// the partner.
func TestChargeOfDeletedPartner(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	body := M{"program_id": program, "external_customer_id": "cus_1", "partner_id": partner,
		"external_charge_id": "ch_1", "amount_minor": 1000, "currency": "USD"}
	sale := s.Must(201, s.Post("/v1/sales", body))
	s.Must(200, s.Delete("/v1/partners/"+partner))
	require.Equal(t, sale.String("id"), s.Must(200, s.Post("/v1/sales", body)).String("id"))
	require.EqualValues(t, 0, s.Get("/v1/customers?program_id="+program).Int("total_count"), "a repeat makes nobody")
}

func TestPayerRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.PartnerObject(program)
	customer := s.Customer(program, partner.String("id"), M{"external_customer_id": "cus_known"})
	other := s.Program()
	s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "NOBODY"}))
	s.Must(201, s.Post("/v1/coupons", M{"program_id": other, "code": "OTHER", "partner_id": s.Partner(other)}))
	off := s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "OFF",
		"partner_id": partner.String("id")}))
	_, err := s.Pool.Exec(t.Context(), "UPDATE coupons SET active = false WHERE id = $1", off.String("id"))
	require.NoError(t, err)
	click := s.Click(program, partner.String("handle"))
	s.Clock.Advance(31 * 24 * time.Hour)
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{}, 400, "parameter_missing", "customer_id"},
		{M{"customer_id": customer, "external_customer_id": "cus_known"}, 400, "parameters_exclusive",
			"external_customer_id"},
		{M{"customer_id": customer, "click_id": click.String("id")}, 400, "parameters_exclusive", "click_id"},
		{M{"customer_id": customer, "coupon_code": "OFF"}, 400, "parameters_exclusive", "coupon_code"},
		{M{"external_customer_id": "cus_1", "partner_id": partner.String("id"), "coupon_code": "OFF"}, 400,
			"parameters_exclusive", "coupon_code"},
		{M{"external_customer_id": ""}, 400, "parameter_invalid", "external_customer_id"},
		{M{"external_customer_id": "cus_1"}, 404, "resource_not_found", "external_customer_id"},
		{M{"external_customer_id": "cus_known", "program_id": other}, 404, "resource_not_found",
			"external_customer_id"},
		{M{"external_customer_id": "cus_1", "program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
		{M{"external_customer_id": "cus_1", "coupon_code": "NONE"}, 404, "resource_not_found", "coupon_code"},
		{M{"external_customer_id": "cus_1", "coupon_code": "OFF"}, 404, "resource_not_found", "coupon_code"},
		{M{"external_customer_id": "cus_1", "coupon_code": "OTHER"}, 404, "resource_not_found", "coupon_code"},
		{M{"external_customer_id": "cus_1", "coupon_code": "NOBODY"}, 400, "invalid_reference", "coupon_code"},
		{M{"external_customer_id": "cus_1", "click_id": "clk_none"}, 404, "resource_not_found", "click_id"},
		{M{"external_customer_id": "cus_1", "click_id": click.String("id")}, 409, "referral_expired", "click_id"},
		{M{"external_customer_id": "cus_1", "partner_id": "part_none"}, 404, "resource_not_found", "partner_id"},
	} {
		body := apitest.SaleBody(program, "", c.body)
		if body["customer_id"] == "" {
			delete(body, "customer_id")
		}
		s.Refused(c.status, c.code, c.param, s.Post("/v1/sales", body))
	}
	require.EqualValues(t, 1, s.Get("/v1/customers?program_id="+program).Int("total_count"), "a refusal makes nobody")
}

// TestForeignProcessorIDs: the processor's ids find sales, commissions and coupons, and can be used to
// create commissions.
func TestForeignProcessorIDs(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	s.Flow(program)
	customer := s.Customer(program, partner, M{"external_customer_id": "cus_1"})
	sale := s.Sale(program, customer, M{"external_charge_id": "ch_1"})
	s.Sale(program, customer)
	s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "Ada20", "external_id": "promo_1"}))
	s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "Ada30"}))
	k := s.Must(201, apitest.Grant(s, program, partner, M{"external_charge_id": "ch_1", "external_customer_id": "cus_1"}))
	require.Equal(t, []string{sale.String("id"), customer}, []string{k.String("sale_id"), k.String("customer_id")})
	count := func(path string) int64 { return s.Must(200, s.Get(path+"&program_id="+program)).Int("total_count") }
	for path, want := range map[string]int64{
		"/v1/sales?external_charge_id=ch_1": 1, "/v1/sales?external_charge_id=ch_none": 0,
		"/v1/sales?external_customer_id=cus_1":                                        2,
		"/v1/sales?external_customer_id=cus_1&external_charge_id=ch_1&refunded=false": 1,
		"/v1/sales?external_charge_id=ch_1&refunded=true":                             0,
		"/v1/coupons?code=ADA20":                                                      1, "/v1/coupons?code=none": 0,
		"/v1/coupons?external_id=promo_1":         1,
		"/v1/commissions?external_charge_id=ch_1": 2,
	} {
		require.Equal(t, want, count(path), path)
	}
	s.Refused(404, "resource_not_found", "external_customer_id",
		s.Get("/v1/sales?external_customer_id=none&program_id="+program))
	s.Refused(404, "resource_not_found", "external_charge_id",
		s.Get("/v1/commissions?external_charge_id=none&program_id="+program))
	s.Refused(404, "resource_not_found", "program_id",
		s.Get("/v1/commissions?external_charge_id=ch_1&program_id=prg_none"))
	s.Refused(400, "parameters_exclusive", "external_customer_id",
		s.Get("/v1/sales?external_customer_id=cus_1&customer_id="+customer+"&program_id="+program))
	s.Refused(404, "resource_not_found", "external_charge_id", apitest.Grant(s, program, partner,
		M{"external_charge_id": "none"}))
}

// TestOneChargeOneNewCustomer: callers that name different new customers for one charge create one
// customer.
func TestOneChargeOneNewCustomer(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	answers := apitest.AtOnce(8, func(i int) apitest.Answer {
		return s.Post("/v1/sales", M{
			"program_id": program, "external_customer_id": "cus_" + strconv.Itoa(i), "partner_id": partner,
			"external_charge_id": "ch_1", "amount_minor": 100, "currency": "USD",
		})
	})
	for _, a := range answers {
		require.Contains(t, []int{200, 201}, a.Status, "%s", a.Raw)
	}
	require.EqualValues(t, 1, s.Get("/v1/customers?program_id="+program).Int("total_count"))
}
