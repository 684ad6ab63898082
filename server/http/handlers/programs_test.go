package handlers_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestCreateProgram(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	p := s.Must(201, s.Post("/v1/programs", M{
		"name": "Acme Shop", "website_url": "https://acme.example", "currency": "eur",
	}))
	require.True(t, strings.HasPrefix(p.String("id"), "prg_"))
	require.Equal(t, M{
		"id": p.String("id"), "object": "program", "name": "Acme Shop", "product_name": "Acme Shop",
		"website_url": "https://acme.example",
		"currency":    "EUR", "status": "active", "subdomain": "acme-shop", "custom_domain": nil, "terms_url": nil,
		"terms_version": nil,
		"cookie_days":   json.Number("30"), "url_params": []any{"ref"}, "commission_on_net_revenue": false,
		"commission_base": "gross", "holding_period_days": json.Number("30"),
		"min_payout_minor": json.Number("0"), "payout_term": "net_30", "payout_methods": []any{}, "block_self_referrals": true,
		"blocked_countries": []any{}, "require_tax_forms": false, "auto_payouts_enabled": false, "processor": "api",
		"attribution_model": "last", "click_on_redirect": true, "auto_enrol_customers": false,
		"lead_match_days": nil, "min_paying_customers": json.Number("0"), "time_zone": "UTC", "coupon_beats_link": false, "ignore_late_clicks": false,
		"statement_prefix": "ACME-SHOP", "statement_seller": nil, "self_billing": false, "vat_rate_bps": nil,
		"agent_limit_minor": json.Number("0"),
		"created_at":        "2026-09-01T12:00:00.000Z", "updated_at": "2026-09-01T12:00:00.000Z",
	}, p.Body, "the defaults")
	require.Equal(t, p.Body, s.Must(200, s.Get("/v1/programs/"+p.String("id"))).Body)
	require.Len(t, s.DefaultGroups(p.String("id")), 1, "the Default group is made with it")
	require.EqualValues(t, 1, s.Get("/v1/groups?program_id="+p.String("id")).Int("total_count"))

	body := M{
		"name": "Full", "product_name": "Product", "website_url": "https://full.example", "currency": "JPY",
		"status": "paused", "subdomain": "full-1",
		"terms_url": "https://full.example/terms", "cookie_days": 365, "url_params": []string{"via", "ref"},
		"commission_on_net_revenue": true,
		"holding_period_days":       180, "min_payout_minor": 5000, "payout_term": "net_60",
		"payout_methods":       []string{"wise", "paypal"},
		"block_self_referrals": false, "blocked_countries": []string{"ru", "RU", "kp"}, "require_tax_forms": true,
		"auto_payouts_enabled": true,
		"statement_prefix":     "Full-1", "self_billing": true, "agent_limit_minor": 2500,
		"statement_seller": M{"name": "Full Ltd", "address": nil, "tax_ids": []string{"DE123456789"}},
	}
	full := s.Must(201, s.Post("/v1/programs", body))
	for name, v := range body {
		if name != "blocked_countries" {
			want, _ := json.Marshal(v)
			got, _ := json.Marshal(full.Body[name])
			require.JSONEq(t, string(want), string(got), name)
		}
	}
	require.Equal(t, []any{"RU", "KP"}, full.Body["blocked_countries"], "upper case, each once")
	require.Equal(t, full.Body, s.Must(200, s.Get("/v1/programs/"+full.String("id"))).Body)
}

func TestUpdateProgram(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	path := "/v1/programs/" + program
	before := s.Must(200, s.Get(path))
	s.Clock.Advance(time.Second)
	require.Equal(t, before.Body, s.Must(200, s.Post(path, M{"name": before.String("name")})).Body,
		"nothing changed, the time neither")
	require.Equal(t, before.Body, s.Must(200, s.Post(path, M{})).Body)
	for _, c := range []struct {
		name         string
		value, shown any
	}{
		{"name", "N", "N"}, {"product_name", "P", "P"}, {"website_url", "https://n.example", "https://n.example"},
		{"status", "paused", "paused"},
		{"terms_url", "https://n.example/t", "https://n.example/t"}, {"terms_url", nil, nil}, {"cookie_days", 1, json.Number("1")},
		{"holding_period_days", 180, json.Number("180")},
		{"min_payout_minor", 7, json.Number("7")},
		{"payout_term", "net_15", "net_15"}, {"block_self_referrals", false, false},
		{"blocked_countries", []string{"de", "DE"}, []any{"DE"}},
		{"blocked_countries", []string{}, []any{}}, {"require_tax_forms", true, true},
		{"auto_enrol_customers", true, true},
		{"lead_match_days", 14, json.Number("14")}, {"lead_match_days", nil, nil}, {"time_zone", "Australia/Sydney", "Australia/Sydney"},
		{"payout_methods", []string{"wise", "wise", "paypal"}, []any{"wise", "paypal"}}, {"payout_methods", []string{}, []any{}},
		{"url_params", []string{"via", "ref", "via"}, []any{"via", "ref"}},
		{"auto_payouts_enabled", true, true}, {"auto_payouts_enabled", false, false},
		{"coupon_beats_link", true, true}, {"ignore_late_clicks", true, true},
		{"vat_rate_bps", 1900, json.Number("1900")}, {"vat_rate_bps", nil, nil},
	} {
		before = s.Must(200, s.Get(path))
		s.Clock.Advance(time.Second)
		after := s.Must(200, s.Post(path, M{c.name: c.value}))
		require.Equal(t, c.shown, after.Body[c.name], c.name)
		require.Equal(t, after.Body, s.Must(200, s.Get(path)).Body)
		require.Greater(t, after.String("updated_at"), before.String("updated_at"))
		after.Body[c.name], after.Body["updated_at"] = before.Body[c.name], before.Body["updated_at"]
		require.Equal(t, before.Body, after.Body, "%s alone changed", c.name)
	}
	require.Empty(t, s.Events(program))
}

// TestCommissionBase: both names of the commission's base have the same value, whichever name the
// request used.
func TestCommissionBase(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	says := func(a apitest.Answer, base string) {
		t.Helper()
		require.Equal(t, []any{base, base != "gross"}, []any{
			a.String("commission_base"), a.Body["commission_on_net_revenue"],
		})
	}
	for _, c := range []struct {
		body M
		base string
	}{
		{M{"commission_on_net_revenue": true}, "net_of_tax"},
		{M{"commission_base": "net_of_tax_and_fee"}, "net_of_tax_and_fee"},
		{M{"commission_on_net_revenue": true}, "net_of_tax_and_fee"}, {M{"commission_on_net_revenue": false}, "gross"},
		{M{"commission_on_net_revenue": true}, "net_of_tax"}, {M{"commission_base": "gross"}, "gross"},
		{M{"commission_base": "net_of_tax_and_fee", "commission_on_net_revenue": true}, "net_of_tax_and_fee"},
		{M{"commission_base": "net_of_tax", "commission_on_net_revenue": true}, "net_of_tax"},
		{M{"commission_base": "gross", "commission_on_net_revenue": false}, "gross"},
	} {
		says(s.Must(200, s.Post("/v1/programs/"+program, c.body)), c.base)
		says(s.Get("/v1/programs/"+program), c.base)
		if c.base != "net_of_tax_and_fee" || len(c.body) > 1 || c.body["commission_base"] != nil {
			says(s.Get("/v1/programs/"+s.Program(c.body)), c.base)
		}
	}
	for _, base := range []string{"gross", "net_of_tax", "net_of_tax_and_fee"} {
		both := M{"commission_base": base, "commission_on_net_revenue": base == "gross"}
		s.Refused(400, "parameter_invalid", "commission_base", s.Post("/v1/programs/"+program, both))
		maps.Copy(both, M{"name": "n", "website_url": "https://acme.example", "currency": "USD"})
		s.Refused(400, "parameter_invalid", "commission_base", s.Post("/v1/programs", both))
	}
	says(s.Get("/v1/programs/"+program), "gross")
}

// TestTermsVersion: the version of the terms can be set and cleared.
func TestTermsVersion(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Must(201, s.Post("/v1/programs", M{
		"name": "n", "website_url": "https://acme.example", "currency": "USD", "terms_version": "1",
	}))
	require.Equal(t, "1", program.Body["terms_version"])
	for _, version := range []any{"2026-09-01", nil} {
		s.Must(200, s.Post("/v1/programs/"+program.String("id"), M{"terms_version": version}))
		require.Equal(t, version, s.Get("/v1/programs/" + program.String("id")).Body["terms_version"])
	}
}

func TestProgramRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	before := apitest.Rows(s, s.Org)
	for _, c := range []struct {
		body  M
		param string
	}{
		{M{"name": ""}, "name"}, {M{"name": nil}, "name"}, {M{"product_name": ""}, "product_name"},
		{M{"website_url": "acme"}, "website_url"},
		{M{"website_url": "ftp://acme.example"}, "website_url"}, {M{"website_url": nil}, "website_url"},
		{M{"status": "stopped"}, "status"}, {M{"terms_version": ""}, "terms_version"},
		{M{"terms_url": "x"}, "terms_url"}, {M{"cookie_days": 0}, "cookie_days"}, {M{"cookie_days": 366}, "cookie_days"},
		{M{"cookie_days": nil}, "cookie_days"},
		{M{"holding_period_days": -1}, "holding_period_days"}, {M{"holding_period_days": 181}, "holding_period_days"},
		{M{"min_payout_minor": -1}, "min_payout_minor"}, {M{"payout_term": "net_45"}, "payout_term"},
		{M{"block_self_referrals": 1}, "block_self_referrals"},
		{M{"blocked_countries": []string{"DEU"}}, "blocked_countries[0]"},
		{M{"blocked_countries": []string{"DE", "1"}}, "blocked_countries[1]"},
		{M{"blocked_countries": nil}, "blocked_countries"}, {M{"require_tax_forms": nil}, "require_tax_forms"},
	} {
		s.Refused(400, "parameter_invalid", c.param, s.Post("/v1/programs/"+program, c.body))
		create := M{"name": "n", "website_url": "https://acme.example", "currency": "USD"}
		maps.Copy(create, c.body)
		s.Refused(400, "parameter_invalid", c.param, s.Post("/v1/programs", create))
	}
	create := func(more M) apitest.Answer {
		body := M{"name": "n", "website_url": "https://acme.example", "currency": "USD"}
		maps.Copy(body, more)
		return s.Post("/v1/programs", body)
	}
	for _, currency := range []any{"XXX", "US", "USDX", "", nil, 1, "€€€"} {
		s.Refused(400, "parameter_invalid", "currency", create(M{"currency": currency}))
	}
	s.Refused(400, "parameter_invalid", "subdomain", create(M{"subdomain": "-x"}))
	s.Refused(400, "parameter_invalid", "subdomain", create(M{"subdomain": "a.b"}))
	s.Refused(400, "parameter_invalid", "url_params[0]", create(M{"url_params": []string{"a b"}}))
	s.Refused(400, "parameter_invalid", "payout_methods[0]", create(M{"payout_methods": []string{"cash"}}))
	for _, missing := range []string{"name", "website_url", "currency"} {
		body := M{"name": "n", "website_url": "https://acme.example", "currency": "USD"}
		delete(body, missing)
		s.Refused(400, "parameter_missing", missing, s.Post("/v1/programs", body))
	}
	fixed := M{ // can only be set at creation or by the operator
		"currency": "EUR", "subdomain": "x",
		"custom_domain": "x.example", "processor": "stripe", "id": program,
	}
	s.Refused(400, "parameter_invalid", "url_params", s.Post("/v1/programs/"+program, M{"url_params": []string{}}))
	s.Refused(400, "parameter_invalid", "payout_methods[0]", s.Post("/v1/programs/"+program, M{"payout_methods": []string{"cash"}}))
	for name, v := range fixed {
		s.Refused(400, "parameter_unknown", name, s.Post("/v1/programs/"+program, M{name: v}))
	}
	s.Refused(404, "resource_not_found", "", s.Post("/v1/programs/prg_none", M{"name": "x"}))
	s.Refused(400, "invalid_expand", "expand[]", s.Get("/v1/programs/"+program+"?expand=group"))
	s.Refused(400, "invalid_include", "include[]", s.Get("/v1/programs?include=tags"))
	s.Refused(405, "method_not_allowed", "", s.Delete("/v1/programs/"+program))
	require.Equal(t, before, apitest.Rows(s, s.Org), "a refusal changes nothing")
}

func TestProgramStats(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	empty := s.Must(200, s.Get("/v1/programs/"+program+"?include=stats"))
	zero := M{}
	for _, name := range []string{
		"partners", "active_partners", "clicks", "referrals", "customers", "sales_minor", "commissions_minor",
	} {
		zero[name] = json.Number("0")
	}
	require.Equal(t, zero, empty.Body["stats"])
	require.NotContains(t, s.Get("/v1/programs/"+program).Body, "stats")
	partner := s.Partner(program, M{"handle": "ada"})
	s.Partner(program, M{"status": "pending"})
	s.Flow(program)
	s.Click(program, "ada", M{"visitor_token": "visitor-1"})
	s.Click(program, "ada", M{"visitor_token": "visitor-1"})
	customer := s.Customer(program, partner)
	s.Sale(program, customer, M{"amount_minor": 1000})
	s.Sale(program, customer, M{"amount_minor": 500})
	s.Sale(program, customer, M{"amount_minor": 99, "currency": "EUR"}) // not the program's currency
	want := M{
		"partners": json.Number("2"), "active_partners": json.Number("1"), "clicks": json.Number("2"), "referrals": json.Number("1"),
		"customers":   json.Number("1"),
		"sales_minor": json.Number("1500"), "commissions_minor": json.Number("300"),
	}
	require.Equal(t, want, s.Must(200, s.Get("/v1/programs/"+program+"?include[]=stats")).Body["stats"])
	other := s.Program()
	list := s.Must(200, s.Get("/v1/programs?include=stats"))
	require.EqualValues(t, 2, list.Int("total_count"))
	for _, p := range list.Data() {
		require.Equal(t, map[string]any{program: want, other: zero}[p["id"].(string)], p["stats"])
	}
}

func TestPausedProgram(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{"handle": "ada"})
	customer := s.Customer(program, partner)
	s.Flow(program)
	s.Must(200, s.Post("/v1/programs/"+program, M{"status": "paused"}))
	before := apitest.Rows(s, s.Org)
	s.Refused(409, "program_paused", "", s.Post("/v1/partners", M{"program_id": program, "email": "new@example.com"}))
	s.Refused(409, "program_paused", "", s.Post("/v1/clicks", M{
		"program_id": program, "value": "ada", "landing_url": "https://shop.example", "visitor_token": "visitor-1",
	}))
	require.Equal(t, before, apitest.Rows(s, s.Org))
	require.Equal(t, "commission_created", s.Sale(program, customer).String("activity_outcome"),
		"earned rights survive a pause")
	s.Must(200, s.Post("/v1/programs/"+program, M{"status": "active"}))
	s.Partner(program)
	s.Click(program, "ada")
}

// TestProgramSettingsLater: existing objects keep the settings from the time of their creation.
func TestProgramSettingsLater(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"cookie_days": 10, "holding_period_days": 10})
	partner := s.Partner(program, M{"handle": "ada"})
	s.Flow(program)
	customer := s.Customer(program, partner)
	first := s.Click(program, "ada")
	old := s.Sale(program, customer)
	s.Must(200, s.Post("/v1/programs/"+program, M{"cookie_days": 20, "holding_period_days": 20}))
	second := s.Click(program, "ada")
	recent := s.Sale(program, customer)
	expires := func(click apitest.Answer) string {
		return s.Get("/v1/referrals/" + click.String("referral_id")).String("expires_at")
	}
	require.Equal(t, "2026-09-11T12:00:00.000Z", expires(first))
	require.Equal(t, "2026-09-21T12:00:00.000Z", expires(second))
	mature := func(sale apitest.Answer) any {
		return s.Get("/v1/commissions?program_id=" + program + "&sale_id=" + sale.String("id")).Data()[0]["mature_at"]
	}
	require.Equal(t, "2026-09-11T12:00:00.000Z", mature(old))
	require.Equal(t, "2026-09-21T12:00:00.000Z", mature(recent))
}
