package webhook_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"rail/openapi"
	"rail/server/harness/apitest"
)

// eventSchemas returns the description's schemas without additional properties, so that an event
// cannot have members that its type does not list.
var eventSchemas = sync.OnceValues(func() (openapi3.Schemas, error) {
	doc, err := openapi.Read(openapi.Bundle)
	if err != nil {
		return nil, err
	}
	doc.OpenAPI = "3.0.3"
	closed := false
	for _, s := range doc.Components.Schemas {
		v := s.Value
		if v.Type.Is("object") && v.AdditionalProperties.Has == nil && v.AdditionalProperties.Schema == nil {
			v.AdditionalProperties = openapi3.AdditionalProperties{Has: &closed}
		}
	}
	return doc.Components.Schemas, nil
})

// schemaName returns the name of an event type's schema.
func schemaName(kind string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(kind, func(r rune) bool { return r == '.' || r == '_' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String() + "Event"
}

// described fails the test unless the stored body matches the description of its type.
func described(t *testing.T, e apitest.Answer) {
	t.Helper()
	schemas, err := eventSchemas()
	require.NoError(t, err)
	schema := schemas[schemaName(e.String("type"))]
	require.NotNil(t, schema, e.String("type"))
	var v any
	require.NoError(t, json.Unmarshal(e.Raw, &v))
	require.NoError(t, schema.Value.VisitJSON(v, openapi3.EnableFormatValidation()), "%s", e.Raw)
}

// stepper returns a function that checks the events of each request in turn. It adds
// their types to seen.
func stepper(t *testing.T, s *apitest.Server, program string, seen map[string]bool) func(apitest.Answer, ...string) apitest.Answer {
	t.Helper()
	earlier := 0
	return func(a apitest.Answer, types ...string) apitest.Answer {
		t.Helper()
		require.Contains(t, []int{200, 201, 409}, a.Status, "%s", a.Raw)
		all := s.Events(program)
		fresh := all[earlier:]
		earlier = len(all)
		var got []string
		for _, e := range fresh {
			got = append(got, e.String("type"))
			seen[e.String("type")] = true
			described(t, e)
			require.Equal(t, a.Header.Get("Rail-Request-Id"), e.Body["request"].(M)["id"])
			require.Regexp(t, `^req_`, e.Body["request"].(M)["id"])
			require.Equal(t, "2026-09-01T12:00:00.000Z", e.String("created_at"))
			require.Regexp(t, `^evt_[0-9A-Za-z]+$`, e.String("id"))
		}
		require.Equal(t, types, got)
		return a
	}
}

// TestEventBodies causes every event type of these resources. The call records each event once, in
// order, with a body that matches the description.
func TestEventBodies(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"holding_period_days": 30})
	seen := map[string]bool{}
	step := stepper(t, s, program, seen)
	ann := step(s.Post("/v1/partners", M{"program_id": program, "email": "ann@example.com", "handle": "ann"}),
		"affiliate.created").String("id")
	bob := step(s.Post("/v1/partners", M{"program_id": program, "email": "bob@example.com"}),
		"affiliate.created").String("id")
	step(s.Post("/v1/partners", M{"program_id": program, "email": "new@example.com", "status": "pending"}),
		"affiliate.created", "application.submitted")
	step(s.Post("/v1/partners", M{"program_id": program, "email": "ann@example.com"}))
	step(s.Post("/v1/partners/"+bob, M{"status": "suspended", "suspension_reason": "Spam"}), "affiliate.updated")
	step(s.Post("/v1/partners/"+bob, M{"status": "active"}), "affiliate.updated")
	link := step(s.Post("/v1/links",
		M{"program_id": program, "partner_id": ann, "destination_url": "https://shop.example/"}),
		"affiliate_link.created").String("id")
	step(s.Post("/v1/links/"+link, M{"label": "L"}), "affiliate_link.updated")
	step(s.Delete("/v1/links/"+link), "affiliate_link.deleted")
	coupon := step(s.Post("/v1/coupons", M{"program_id": program, "code": "C"}), "affiliate_coupon.created").String("id")
	step(s.Post("/v1/coupons/"+coupon, M{"partner_id": ann}), "affiliate_coupon.updated")
	step(s.Delete("/v1/coupons/"+coupon), "affiliate_coupon.deleted")
	flow := step(s.Post("/v1/flows",
		M{"program_id": program, "name": "F", "rate_type": "percent", "rate_value": 1000})).String("id")
	signup := step(s.Post("/v1/flows",
		M{
			"program_id": program, "name": "S", "trigger": "new_signup", "rate_type": "fixed", "rate_value": 100,
			"partner_id": bob,
		})).String("id")
	step(s.Post("/v1/flows/"+flow, M{"rate_value": 2000, "status": "inactive"}), "rule.updated", "rule.status_changed")
	step(s.Post("/v1/flows/"+flow, M{"status": "active"}), "rule.status_changed")
	visit := func(visitor string, types ...string) string {
		return step(s.Click(program, "ann", M{"visitor_token": visitor}), types...).String("id")
	}
	click := visit("visitor-1", "referral.created")
	require.NotEqual(t, click, visit("visitor-1"))
	customer := step(s.Post("/v1/customers", M{"program_id": program, "click_id": click, "email": "b@example.org"}),
		"referral.lead").String("id")
	own := visit("visitor-2", "referral.created")
	step(s.Post("/v1/customers", M{"program_id": program, "click_id": own, "email": "ann@example.com"}),
		"risk_flag.created", "referral.deleted")
	lead := step(s.Post("/v1/customers", M{"program_id": program, "partner_id": bob}), "commission.created",
		"commission.updated").String("id")
	step(s.Delete("/v1/customers/"+lead), "commission.voided")
	sale := step(s.Post("/v1/sales", apitest.SaleBody(program, customer, M{"external_charge_id": "ch_1"})),
		"sale.created", "referral.converted", "commission.created", "commission.updated")
	step(s.Post("/v1/sales", apitest.SaleBody(program, customer, M{"external_charge_id": "ch_1"})))
	commission := apitest.Answer{
		Body: s.Get("/v1/commissions?program_id=" + program + "&sale_id=" + sale.String("id")).Data()[0],
	}
	require.Equal(t, "approved", commission.String("status"))
	step(s.Delete("/v1/flows/"+signup), "rule.deleted")
	step(s.Delete("/v1/partners/"+ann), "commission.voided", "affiliate.deleted")

	for _, kind := range provokedByResources {
		require.True(t, seen[kind], kind)
	}
}

// TestSaleEventData: the events of a sale have exactly this data, in order.
func TestSaleEventData(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"holding_period_days": 30})
	partner := s.Partner(program, M{"handle": "ann"})
	flow := s.Flow(program)
	click := s.Click(program, "ann")
	customer := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")})).String("id")
	before := len(s.Events(program))
	sale := s.Sale(program, customer, M{"external_charge_id": "ch_1", "occurred_at": "2026-08-31T00:00:00Z"}).String("id")
	commission := s.Get("/v1/commissions?program_id=" + program).Data()[0]["id"].(string)
	var got []string
	for _, e := range s.Events(program)[before:] {
		got = append(got, e.String("type")+" "+apitest.JSONOf(t, e.Body["data"]))
	}
	want := []struct {
		kind string
		data M
	}{
		{"sale.created", M{
			"sale_id": sale, "customer_id": customer, "partner_id": partner, "amount_minor": 4999, "currency": "USD",
			"is_first_sale":      true,
			"external_charge_id": "ch_1", "occurred_at": "2026-08-31T00:00:00.000Z",
		}},
		{
			"referral.converted",
			M{"referral_id": click.String("referral_id"), "customer_id": customer, "partner_id": partner, "sale_id": sale},
		},
		{"commission.created", M{
			"commission_id": commission, "sale_id": sale, "partner_id": partner, "amount_minor": 1000, "currency": "USD",
			"status":  "pending",
			"rule_id": flow, "mature_at": "2026-09-30T00:00:00.000Z",
		}},
		{"commission.updated", M{
			"commission_id": commission, "partner_id": partner, "amount_minor": 1000, "currency": "USD", "status": "approved",
			"previous_status": "pending",
		}},
	}
	var lines []string
	for _, w := range want {
		lines = append(lines, w.kind+" "+apitest.JSONOf(t, w.data))
	}
	require.Equal(t, lines, got)
	require.False(t, slices.Contains(s.EventTypes(program), "customer.created"))
}
