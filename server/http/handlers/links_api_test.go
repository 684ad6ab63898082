package handlers_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

// events lists the types of the events about an object, in order.
func events(t *testing.T, s *apitest.Server, id string) []string {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), "SELECT type FROM events WHERE subject_id = $1 ORDER BY seq", id)
	require.NoError(t, err)
	types, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return types
}

func TestLinks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann, bob := s.Partner(program, M{"handle": "ann"}), s.Partner(program, M{"handle": "bob"})
	post := func(partner string, more M) apitest.Answer {
		body := M{"program_id": program, "partner_id": partner, "destination_url": "https://example.com/Pricing?ref=x#top"}
		maps.Copy(body, more)
		return s.Post("/v1/links", body)
	}
	link := s.Must(201, post(ann, M{"value": "Summer.24", "label": "L"}))
	require.Equal(t, "https://example.com/Pricing?ref=Summer.24#top", link.String("url"))
	require.Len(t, link.String("short_slug"), 7)
	s.Must(201, post(ann, nil))
	s.Must(201, post(ann, M{"value": "ANN"}))
	s.Refused(409, "link_value_taken", "value", post(ann, M{"value": "summer.24"}))
	taken := post(bob, M{"value": "Ann"})
	s.Refused(409, "link_value_taken", "value", taken)
	require.Equal(t, ann, taken.Body["existing"].(M)["id"])
	s.Refused(404, "resource_not_found", "partner_id", post("part_000000000000000000000000", nil))
	s.Refused(400, "parameter_invalid", "value", post(ann, M{"value": "-x"}))

	path := "/v1/links/" + link.String("id")
	got := s.Must(200, s.Get(path+"?expand=partner&include[]=stats"))
	require.Equal(t, ann, got.Body["partner"].(M)["id"])
	require.NotNil(t, got.Body["stats"])
	updated := s.Must(200, s.Post(path, M{"destination_url": "https://example.com/new", "label": nil}))
	require.Equal(t, "https://example.com/new?ref=Summer.24", updated.String("url"))
	require.Nil(t, updated.Body["label"])
	list := s.Must(200, s.Get("/v1/links?program_id="+program+"&partner_id="+ann+"&expand=partner&include=stats&limit=2"))
	require.EqualValues(t, 3, list.Int("total_count"))
	require.Len(t, list.Body["data"], 2)
	s.Must(200, s.Delete(path))
	s.Refused(404, "resource_not_found", "", s.Get(path))
	gone := post(bob, M{"value": "SUMMER.24"})
	s.Refused(409, "link_value_taken", "value", gone)
	require.Equal(t, link.String("id"), gone.Body["existing"].(M)["id"])
	require.Equal(t, []string{"affiliate_link.created", "affiliate_link.updated", "affiliate_link.deleted"},
		events(t, s, link.String("id")))
}

func TestCoupons(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann := s.Partner(program)
	coupon := s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "Save10", "partner_id": ann}))
	taken := s.Post("/v1/coupons", M{"program_id": program, "code": "SAVE10"})
	s.Refused(409, "coupon_code_taken", "code", taken)
	require.Equal(t, coupon.String("id"), taken.Body["existing"].(M)["id"])
	s.Refused(404, "resource_not_found", "group_id", s.Post("/v1/coupons", M{
		"program_id": program, "code": "x", "group_id": "grp_000000000000000000000000",
	}))
	path := "/v1/coupons/" + coupon.String("id")
	got := s.Must(200, s.Get(path+"?expand=partner,group&include=stats"))
	require.Equal(t, ann, got.Body["partner"].(M)["id"])
	require.Nil(t, got.Body["group"])
	updated := s.Must(200, s.Post(path, M{"partner_id": nil, "external_id": "promo_1"}))
	require.Nil(t, updated.Body["partner_id"])
	require.Equal(t, "promo_1", updated.String("external_id"))
	require.EqualValues(t, 1,
		s.Must(200, s.Get("/v1/coupons?program_id="+program+"&expand=group&include=stats")).Int("total_count"))
	s.Must(200, s.Delete(path))
	s.Refused(404, "resource_not_found", "", s.Delete(path))
	require.Equal(t, []string{"affiliate_coupon.created", "affiliate_coupon.updated", "affiliate_coupon.deleted"},
		events(t, s, coupon.String("id")))
}

func TestFlows(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann := s.Partner(program)
	other := s.Program()
	post := func(more M) apitest.Answer {
		body := M{"program_id": program, "name": "Rule", "rate_type": "percent", "rate_value": 1000}
		maps.Copy(body, more)
		return s.Post("/v1/flows", body)
	}
	wide := s.Must(201, post(nil)).String("id")
	narrow := s.Must(201, post(M{"partner_id": ann, "branches": []any{M{
		"label": "first", "rate_type": "fixed", "rate_value": 5,
		"conditions": []any{M{"field": "sale.is_first_sale", "operator": "eq", "value": true}},
	}}}))
	early := s.Must(201, post(M{"priority": 1, "status": "inactive"})).String("id")
	s.Refused(400, "invalid_reference", "partner_id", s.Post("/v1/flows", M{
		"program_id": other, "name": "x", "rate_type": "fixed", "rate_value": 1, "partner_id": ann,
	}))
	s.Refused(400, "invalid_condition", "branches[0].conditions[0].operator", post(M{"branches": []any{M{
		"rate_type": "fixed", "rate_value": 5,
		"conditions": []any{M{"field": "sale.is_first_sale", "operator": "gt", "value": true}},
	}}}))
	var order []string
	for _, f := range s.Must(200, s.Get("/v1/flows?program_id="+program+"&expand=partner,group")).Body["data"].([]any) {
		order = append(order, f.(M)["id"].(string))
	}
	require.Equal(t, []string{early, narrow.String("id"), wide}, order)
	page := s.Must(200, s.Get(fmt.Sprintf("/v1/flows?program_id=%s&limit=1&ending_before=%s", program, wide)))
	require.Equal(t, narrow.String("id"), page.Body["data"].([]any)[0].(M)["id"])
	require.Equal(t, true, page.Body["has_more"])

	path := "/v1/flows/" + narrow.String("id")
	branches := narrow.Body["branches"].([]any)
	link := s.Must(200, s.Post(path, M{"status": "inactive", "name": "New", "branches": branches}))
	require.Equal(t, branches, link.Body["branches"])
	require.Equal(t, "inactive", link.String("status"))
	s.Must(200, s.Post(path, M{"status": "inactive"})) // nothing new: no event
	s.Must(200, s.Delete(path))
	s.Refused(404, "resource_not_found", "", s.Get(path))
	require.Equal(t, []string{"rule.updated", "rule.status_changed", "rule.deleted"}, events(t, s, narrow.String("id")))
}

func TestFlowQuota(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.FlowQuota = 1 })
	program := s.Program()
	body := M{"program_id": program, "name": "Rule", "rate_type": "fixed", "rate_value": 1}
	first := s.Must(201, s.Post("/v1/flows", body)).String("id")
	s.Refused(402, "flow_quota_exceeded", "", s.Post("/v1/flows", body))
	body["status"] = "inactive"
	second := s.Must(201, s.Post("/v1/flows", body)).String("id")
	s.Refused(402, "flow_quota_exceeded", "", s.Post("/v1/flows/"+second, M{"status": "active"}))
	s.Must(200, s.Post("/v1/flows/"+first, M{"status": "inactive"}))
	s.Must(200, s.Post("/v1/flows/"+second, M{"status": "active"}))
}

// A fault in a condition is reported with its path.
func TestFlowConditionPaths(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	for conditions, param := range map[string]string{
		`[{"field":"sale.amount_minor","operator":"eq","value":1.5}]`: "branches[0].conditions[0].value",
		`[{"any":[{"field":"nope","operator":"eq","value":1}]}]`:      "branches[0].conditions[0].any[0].field",
	} {
		s.Refused(400, "invalid_condition", param, s.Post("/v1/flows", fmt.Sprintf(
			`{"program_id":%q,"name":"R","rate_type":"fixed","rate_value":1,"branches":[{"conditions":%s,"rate_type":"fixed","rate_value":1}]}`, program, conditions)))
	}
}

func TestListReads(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann := s.Partner(program)
	customer := s.Customer(program, ann, M{"email": "Buyer@Example.org"})
	got := s.Must(200, s.Get("/v1/customers/"+customer+"?expand=partner,referral,link"))
	require.Equal(t, ann, got.Body["partner"].(M)["id"])
	require.Nil(t, got.Body["referral"])
	for path, count := range map[string]int{
		"customers?email=buyer@example.ORG&status=lead,active&expand=partner,referral,link": 1,
		"customers?status=refunded":                                                   0,
		"clicks?expand=partner,link,referral":                                         0,
		"referrals?status=visit,lead&expand=link":                                     0,
		"commissions?kind=reward&status=due&expand=partner,customer,sale,payout,flow": 0,
		"sales?occurred_after=2026-01-01&refunded=true&expand=partner,customer":       0,
		"balances?currency=usd&expand=partner":                                        0,
	} {
		list := s.Must(200, s.Get("/v1/"+path+"&program_id="+program))
		require.EqualValues(t, count, list.Int("total_count"), path)
	}
	s.Refused(400, "parameter_invalid", "status", s.Get("/v1/customers?program_id="+program+"&status=lead,x"))
	s.Refused(400, "parameter_invalid", "occurred_after",
		s.Get("/v1/sales?program_id="+program+"&occurred_after=yesterday"))
	s.Refused(404, "resource_not_found", "sale_id",
		s.Get("/v1/commissions?program_id="+program+"&sale_id=sale_000000000000000000000000"))
}
