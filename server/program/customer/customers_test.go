package customer_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestCustomerRoutes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann := s.Partner(program, M{"handle": "ann"})
	link := s.Must(201,
		s.Post("/v1/links",
			M{"program_id": program, "partner_id": ann, "destination_url": "https://shop.example/"})).String("id")
	direct := s.Must(201, s.Post("/v1/customers", M{
		"program_id": program, "partner_id": ann, "email": "Buyer@Example.org", "name": "B", "identifier": "u-1",
		"external_customer_id": "cus_ext", "status": "trial", "metadata": M{"plan": "pro"},
	}))
	require.Equal(t, M{
		"id": direct.String("id"), "object": "customer", "program_id": program, "partner_id": ann, "referral_id": nil,
		"link_id": nil, "coupon_id": nil, "processor": "api",
		"external_customer_id": "cus_ext", "external_subscription_id": nil, "email": "Buyer@Example.org", "name": "B",
		"identifier": "u-1", "status": "trial", "tracked_by": "api",
		"attribution": M{"rule": "api", "detail": ann, "at": "2026-09-01T12:00:00.000Z"},
		"lead_at":     "2026-09-01T12:00:00.000Z", "converted_at": nil, "metadata": M{"plan": "pro"},
		"created_at": "2026-09-01T12:00:00.000Z", "updated_at": "2026-09-01T12:00:00.000Z",
	}, direct.Body)
	require.Equal(t, direct.Body, s.Must(200, s.Get("/v1/customers/"+direct.String("id"))).Body)
	click := s.Click(program, "ann")
	through := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")}))
	require.Equal(t, ann, through.String("partner_id"))
	require.Equal(t, click.String("referral_id"), through.String("referral_id"))
	require.Equal(t, link, through.String("link_id"))
	require.Equal(t, "link", through.String("tracked_by"))
	require.Equal(t, "lead", through.String("status"))
	require.Nil(t, through.Body["metadata"])
	require.Equal(t, []string{"affiliate.created", "affiliate_link.created", "referral.created", "referral.lead"},
		s.EventTypes(program), "no event for the direct route")
}

func TestCustomerRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	ann, eve := s.Partner(program, M{"handle": "ann"}), s.Partner(program)
	s.Must(200, s.Post("/v1/partners/"+eve, M{"status": "suspended"}))
	elsewhere := s.Partner(other, M{"handle": "far"})
	farClick := s.Click(other, "far").String("id")
	click := s.Click(program, "ann")
	stranger := apitest.On(t, s.DSN, s.Clock)
	foreign := stranger.Partner(stranger.Program())
	existing := s.Must(201, s.Post("/v1/customers", M{
		"program_id": program, "partner_id": ann, "external_customer_id": "ext_1", "email": "one@example.org",
	}))
	before := len(s.Events(program))
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{}, 400, "parameter_missing", "partner_id"},
		{M{"partner_id": ann, "click_id": click.String("id")}, 400, "parameters_exclusive", "click_id"},
		{M{"partner_id": eve}, 409, "partner_not_active", "partner_id"},
		{M{"partner_id": elsewhere}, 400, "invalid_reference", "partner_id"},
		{M{"click_id": farClick}, 400, "invalid_reference", "click_id"},
		{M{"partner_id": foreign}, 404, "resource_not_found", "partner_id"},
		{M{"click_id": "clk_none"}, 404, "resource_not_found", "click_id"},
		{M{"partner_id": ann, "program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
		{M{"partner_id": ann, "status": "refunded"}, 400, "parameter_invalid", "status"},
		{M{"partner_id": ann, "email": "nobody"}, 400, "parameter_invalid", "email"},
		{M{"partner_id": ann, "external_customer_id": ""}, 400, "parameter_invalid", "external_customer_id"},
		{M{"partner_id": ann, "tracked_by": "link"}, 400, "parameter_unknown", "tracked_by"},
		{M{"partner_id": ann, "external_customer_id": "ext_1"}, 409, "customer_external_id_taken", "external_customer_id"},
		{
			M{"click_id": click.String("id"), "external_customer_id": "ext_1"}, 409, "customer_external_id_taken",
			"external_customer_id",
		},
	} {
		body := M{"program_id": program}
		maps.Copy(body, c.body)
		a := s.Refused(c.status, c.code, c.param, s.Post("/v1/customers", body))
		if c.code == "customer_external_id_taken" {
			require.Equal(t, existing.Body, a.Body["existing"])
		}
	}
	require.EqualValues(t, 1, s.Get("/v1/customers?program_id="+program).Int("total_count"))
	require.Equal(t, "visit", s.Get("/v1/referrals/"+click.String("referral_id")).String("status"))
	s.Clock.Advance(30 * 24 * time.Hour)
	s.Refused(409, "referral_expired", "click_id", s.Post("/v1/customers", M{
		"program_id": program, "click_id": click.String("id"),
	}))
	require.Len(t, s.Events(program), before)
	// email is not unique
	s.Must(201, s.Post("/v1/customers", M{
		"program_id": program, "partner_id": ann, "email": "one@example.org", "external_customer_id": "EXT_1",
	}))
	s.Must(201, s.Post("/v1/customers", M{"program_id": other, "partner_id": elsewhere, "external_customer_id": "ext_1"}))
	stranger.Refused(404, "resource_not_found", "", stranger.Post("/v1/customers/"+existing.String("id"), M{"name": "x"}))
	stranger.Refused(404, "resource_not_found", "", stranger.Delete("/v1/customers/"+existing.String("id")))
}

// TestSelfReferral: a self-referral is the only refused request that has effects (decisions, 66 and
// 216).
func TestSelfReferral(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann := s.Partner(program, M{"handle": "ann", "email": "Ann.Lee@gmail.com"})
	click := s.Click(program, "ann", M{"visitor_token": "visitor-1"})
	before := len(s.Events(program))
	blocked := func(more M) apitest.Answer {
		body := M{"program_id": program, "email": "annlee+shop@GoogleMail.com"}
		maps.Copy(body, more)
		return s.Refused(409, "self_referral_blocked", "email", s.Post("/v1/customers", body))
	}
	through := blocked(M{"click_id": click.String("id")})
	require.Nil(t, through.Body["existing"])
	s.Refused(404, "resource_not_found", "", s.Get("/v1/referrals/"+click.String("referral_id")))
	require.Nil(t, s.Get("/v1/clicks/" + click.String("id")).Body["referral_id"])
	recorded := s.Events(program)[before:]
	require.Len(t, recorded, 2)
	data := map[string]M{}
	for _, e := range recorded {
		data[e.String("type")] = e.Body["data"].(M)
		require.Equal(t, through.Header.Get("Rail-Request-Id"), e.Body["request"].(M)["id"])
	}
	require.Equal(t, M{"referral_id": click.String("referral_id"), "partner_id": ann, "reason": "self_referral"},
		data["referral.deleted"])
	flag := data["risk_flag.created"]
	require.Equal(t, ann, flag["partner_id"])
	require.Equal(t, "self_referral", flag["kind"])
	require.Equal(t, "high", flag["severity"])
	require.Nil(t, flag["customer_id"])
	blocked(M{"partner_id": ann})
	require.Len(t, s.Events(program)[before:], 2, "the flag is open already")
	require.EqualValues(t, 0, s.Get("/v1/customers?program_id="+program).Int("total_count"))
	s.Must(201, s.Post("/v1/customers", M{"program_id": program, "partner_id": ann, "email": "ann.lee@example.com"}))
	require.NotEqual(t, click.String("referral_id"),
		s.Click(program, "ann", M{"visitor_token": "visitor-1"}).String("referral_id"))

	open := s.Program(M{"block_self_referrals": false})
	bob := s.Partner(open, M{"handle": "bob", "email": "bob@example.com"})
	visit := s.Click(open, "bob")
	allowed := s.Must(201, s.Post("/v1/customers", M{
		"program_id": open, "click_id": visit.String("id"), "email": "BOB+1@example.com",
	}))
	require.Equal(t, bob, allowed.String("partner_id"))
	require.Equal(t, "lead", s.Get("/v1/referrals/"+visit.String("referral_id")).String("status"))
	second := s.Customer(open, bob, M{"email": "bob+2@example.com"})
	other := s.Customer(open, s.Partner(open, M{"email": "eve@elsewhere.example"}), M{"email": "bob+3@Example.com"})
	s.Must(200, s.Post("/v1/customers/"+other, M{"partner_id": bob}))
	later := s.Customer(open, bob)
	s.Must(200, s.Post("/v1/customers/"+later, M{"email": "bob@example.com"}))
	var flagged []string
	for _, f := range s.Get("/v1/risk_flags?program_id=" + open).Data() {
		require.Equal(t, "self_referral", f["kind"])
		flagged = append(flagged, f["customer"].(M)["id"].(string))
	}
	require.ElementsMatch(t, []string{allowed.String("id"), second, other, later}, flagged,
		"one a customer, however it came to be the partner's")
	types := s.EventTypes(open)
	slices.Sort(types)
	require.Equal(t,
		[]string{
			"affiliate.created", "affiliate.created", "referral.created", "referral.lead", "risk_flag.created",
			"risk_flag.created", "risk_flag.created", "risk_flag.created",
		}, types)
}

func TestCustomerUpdate(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann, bob := s.Partner(program, M{"handle": "ann"}), s.Partner(program, M{"handle": "bob"})
	eve := s.Partner(program)
	s.Must(200, s.Post("/v1/partners/"+eve, M{"status": "suspended"}))
	s.Flow(program)
	click := s.Click(program, "ann")
	id := s.Must(201,
		s.Post("/v1/customers",
			M{
				"program_id": program, "click_id": click.String("id"), "email": "a@example.org", "metadata": M{"a": 1, "b": 2},
			})).String("id")
	path := "/v1/customers/" + id
	coupon := s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "C"})).String("id")
	_, err := s.Pool.Exec(t.Context(), "UPDATE customers SET coupon_id = $1 WHERE id = $2", coupon, id)
	require.NoError(t, err)
	first := s.Sale(program, id)
	stored := s.Get(path)
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"status": "refunded"}, 400, "parameter_invalid", "status"},
		{M{"status": nil}, 400, "parameter_invalid", "status"},
		{M{"partner_id": nil}, 400, "parameter_invalid", "partner_id"},
		{M{"partner_id": "part_none", "name": "x"}, 404, "resource_not_found", "partner_id"},
		{M{"partner_id": s.Partner(s.Program()), "name": "x"}, 400, "invalid_reference", "partner_id"},
		{M{"partner_id": eve, "name": "x"}, 409, "partner_not_active", "partner_id"},
		{M{"external_customer_id": "x"}, 400, "parameter_unknown", "external_customer_id"},
	} {
		s.Refused(c.status, c.code, c.param, s.Post(path, c.body))
	}
	require.Equal(t, stored.Body, s.Get(path).Body)
	changed := s.Must(200, s.Post(path, M{"email": nil, "name": "N", "metadata": M{"c": 3}}))
	require.Nil(t, changed.Body["email"])
	require.Equal(t, "N", changed.String("name"))
	require.Len(t, changed.Body["metadata"], 1, "replaced as a whole")
	for _, status := range []string{"trial", "suspended", "cancelled", "lead", "active"} {
		require.Equal(t, status, s.Must(200, s.Post(path, M{"status": status})).String("status"))
	}

	moved := s.Must(200, s.Post(path, M{"partner_id": bob}))
	require.Equal(t, bob, moved.String("partner_id"))
	require.Equal(t, "manual", moved.String("tracked_by"))
	for _, name := range []string{"referral_id", "link_id", "coupon_id"} {
		require.Nil(t, moved.Body[name], name)
	}
	require.Equal(t, moved.Body, s.Get(path).Body)
	second := s.Sale(program, id)
	for sale, partner := range map[string]string{first.String("id"): ann, second.String("id"): bob} {
		k := s.Must(200, s.Get("/v1/commissions?program_id="+program+"&sale_id="+sale)).Data()
		require.Len(t, k, 1)
		require.Equal(t, partner, k[0]["partner_id"])
	}
	require.Equal(t, false, second.Body["is_first_sale"])
}

// TestCustomerStates: a sale changes each customer state as specified (decisions, 85 and 86).
func TestCustomerStates(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	for before, after := range map[string]string{
		"lead": "active", "trial": "active", "active": "active", "cancelled": "active", "suspended": "suspended",
	} {
		id := s.Customer(program, partner, M{"status": before})
		s.Sale(program, id, M{"occurred_at": "2026-08-15T10:00:00Z"})
		s.Sale(program, id, M{"occurred_at": "2026-08-20T10:00:00Z"})
		k := s.Must(200, s.Get("/v1/customers/"+id))
		require.Equal(t, after, k.String("status"), before)
		require.Equal(t, "2026-08-15T10:00:00.000Z", k.String("converted_at"), before)
	}
	id := s.Customer(program, partner)
	_, err := s.Pool.Exec(t.Context(), "UPDATE customers SET status = 'refunded' WHERE id = $1", id)
	require.NoError(t, err)
	s.Sale(program, id)
	require.Equal(t, "active", s.Get("/v1/customers/"+id).String("status"))
}

func TestCustomerDelete(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{"handle": "ann"})
	s.Flow(program, M{"trigger": "new_signup", "rate_type": "fixed", "rate_value": 500})
	click := s.Click(program, "ann")
	signup := func(customer string) apitest.Answer {
		for _, k := range s.Must(200, s.Get("/v1/commissions?program_id="+program)).Data() {
			if k["customer_id"] == customer {
				return apitest.Answer{Body: k}
			}
		}
		t.Fatal("no commission")
		return apitest.Answer{}
	}
	id := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")})).String("id")
	commission := signup(id).String("id")
	_, due, _ := s.Balance(program, partner, "USD")
	require.EqualValues(t, 500, due)
	before := len(s.Events(program))
	require.Equal(t, M{"id": id, "object": "customer", "deleted": true}, s.Must(200, s.Delete("/v1/customers/"+id)).Body)
	s.Refused(404, "resource_not_found", "", s.Get("/v1/customers/"+id))
	require.Equal(t, "visit", s.Get("/v1/referrals/"+click.String("referral_id")).String("status"))
	voided := s.Must(200, s.Get("/v1/commissions/"+commission))
	require.Equal(t, "voided", voided.String("status"))
	require.Equal(t, "customer_deleted", voided.String("void_reason"))
	require.Equal(t, "2026-09-01T12:00:00.000Z", voided.String("voided_at"))
	_, due, _ = s.Balance(program, partner, "USD")
	require.EqualValues(t, 0, due)
	recorded := s.Events(program)[before:]
	require.Len(t, recorded, 1)
	require.Equal(t, "commission.voided", recorded[0].String("type"))
	data := apitest.Answer{Body: recorded[0].Body["data"].(M)}
	require.Equal(t, "customer_deleted", data.String("reason"))
	require.EqualValues(t, 500, data.Int("amount_minor"))
	require.Nil(t, data.Body["sale_id"])

	buyer := s.Customer(program, partner)
	s.Sale(program, buyer)
	paid := s.Customer(program, partner)
	for _, sql := range []string{
		`INSERT INTO payout_batches SELECT 'batch_1', org_id, id, '2026-08-01', now(), now(), now() FROM programs WHERE id = $1`,
		`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, period_month, period_end, due_at, paid_at, created_at, updated_at)
			SELECT 'pyt_1', org_id, program_id, partner_id, 'batch_1', amount_minor, currency, 'paid', '2026-08-01', now(), now(), now(), now(), now() FROM commissions WHERE id = $1`,
		`UPDATE commissions SET status = 'paid', payout_id = 'pyt_1' WHERE id = $1`,
	} {
		id := signup(paid).String("id")
		if strings.Contains(sql, "programs") {
			id = program
		}
		_, err := s.Pool.Exec(t.Context(), sql, id)
		require.NoError(t, err)
	}
	before = len(s.Events(program))
	s.Refused(409, "customer_has_sales", "", s.Delete("/v1/customers/"+buyer))
	s.Refused(409, "customer_has_paid_commissions", "", s.Delete("/v1/customers/"+paid))
	s.Must(200, s.Get("/v1/customers/"+buyer))
	s.Must(200, s.Get("/v1/customers/"+paid))
	require.Equal(t, "due", signup(buyer).String("status"))
	require.Len(t, s.Events(program), before)
}

func TestCustomerList(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann, bob := s.Partner(program, M{"handle": "ann"}), s.Partner(program)
	var all, anns []string
	for i := range 5 {
		s.Clock.Advance(time.Minute)
		partner := []string{ann, bob}[i%2]
		id := s.Customer(program, partner, M{
			"email": apitest.Unique("b") + "@example.org", "external_customer_id": apitest.Unique("ext"),
		})
		all = slices.Insert(all, 0, id)
		if partner == ann {
			anns = slices.Insert(anns, 0, id)
		}
	}
	s.Must(200, s.Post("/v1/customers/"+all[1], M{"status": "trial", "email": "Only@Example.org"}))
	base := "/v1/customers?program_id=" + program
	apitest.PagedBothWays(t, s, base, all)
	apitest.PagedBothWays(t, s, base+"&partner_id="+ann, anns)
	apitest.PagedBothWays(t, s, base+"&status=trial", all[1:2])
	apitest.PagedBothWays(t, s, base+"&status=lead,trial", all)
	apitest.PagedBothWays(t, s, base+"&email=ONLY@example.ORG", all[1:2])
	require.EqualValues(t, 0, s.Get(base+"&email=nly@example.org").Int("total_count"), "exact")
	external := s.Get("/v1/customers/" + all[2]).String("external_customer_id")
	apitest.PagedBothWays(t, s, base+"&external_customer_id="+external, all[2:3])
	s.Refused(400, "invalid_expand", "expand[]", s.Get(base+"&expand=coupon"))
	click := s.Click(program, "ann")
	s.Clock.Advance(time.Minute)
	s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")}))
	list := s.Must(200, s.Get(base+"&expand=partner,referral,link")).Data()
	require.Equal(t, ann, list[0]["partner"].(M)["id"])
	require.Equal(t, click.String("referral_id"), list[0]["referral"].(M)["id"])
	require.Nil(t, list[0]["link"])
	require.Nil(t, list[1]["referral"])
}
