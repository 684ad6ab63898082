package claim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestTokenCredits: a token credits its partner with the customers of several sales, once each, and the customer's next
// sale counts too.
func TestTokenCredits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	created := s.Must(201, s.Post("/v1/attribution_tokens", M{"partner_id": s.partner}))
	require.Equal(t, []any{s.program, s.partner, nil, "rail.example", "2026-11-30T12:00:00.000Z"}, []any{
		created.Body["program_id"], created.Body["partner_id"], created.Body["link_id"], created.Body["provider"], created.Body["expires_at"],
	})
	token := created.String("token")
	require.NotContains(t, token, strings.TrimPrefix(s.Org, "org_"))
	require.Contains(t, created.String("snippet"), token)
	sale := s.credited(s.sell("cus_a", affiliate(token)))
	require.Equal(t, "commission_created", sale.String("activity_outcome"))
	k := s.Get("/v1/customers/" + sale.String("customer_id"))
	require.Equal(t, "agent", k.String("tracked_by"))
	require.Equal(t, "agent", k.Body["attribution"].(map[string]any)["rule"])
	s.credited(s.sell("cus_b", affiliate(token)))
	again := s.ignored("token_replayed", s.sell("cus_a", affiliate(token)))
	require.Equal(t, s.partner, again.String("partner_id"), "the customer keeps its partner")
	s.ignored("customer_has_partner", s.sell("cus_a", affiliate(s.token())))
	_, due, _ := s.Balance(s.program, s.partner, "USD")
	require.EqualValues(t, 4*1000, due)
	apitest.Balanced(t, s.Server)
}

// TestCustomerByClaim: a customer can be created with a claim of each protocol.
func TestCustomerByClaim(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": s.program, "partner_id": s.partner, "destination_url": "https://shop.example/", "value": "spring",
	})).String("id")
	for name, claim := range map[string]M{
		"token":         affiliate(s.token()),
		"port":          {"affiliate_attribution": M{"provider": "RAIL.example:443", "token": s.token()}},
		"unknown field": {"affiliate_attribution": M{"provider": "rail.example", "publisher_id": "ada", "later": M{"a": 1}}},
		"id":            {"affiliate_attribution": M{"provider": "rail.example", "publisher_id": s.partner}},
		"parameter":     {"attribution": M{"utm_source": "assistant", "ref": "ada"}},
		"case":          {"attribution": M{"Ref": "Ada"}},
		"pasted":        {"attribution": M{"ref": "ada%20"}},
	} {
		claim["program_id"] = s.program
		k := s.credited(s.Must(201, s.Post("/v1/customers", claim)))
		require.Equal(t, "agent", k.String("tracked_by"), name)
		require.Nil(t, k.Body["link_id"], name)
	}
	for _, claim := range []M{
		affiliate(s.Must(201, s.Post("/v1/attribution_tokens", M{"link_id": link})).String("token")), {"attribution": M{"ref": "spring"}},
	} {
		claim["program_id"] = s.program
		require.Equal(t, link, s.credited(s.Must(201, s.Post("/v1/customers", claim))).String("link_id"))
	}
	other := s.Program(M{"url_params": []string{"via", "ref"}})
	ada, bob := s.Partner(other), s.Partner(other)
	handle := func(id string) string { return s.Get("/v1/partners/" + id).String("handle") }
	k := s.Must(201, s.Post("/v1/customers", M{
		"program_id": other, "attribution": M{"ref": handle(bob), "via": handle(ada)},
	}))
	require.Equal(t, ada, k.String("partner_id"), "the program's first parameter precedes")
}

// TestIgnoredClaims: a claim that does not count leaves customer and sale without it, and the answer says why.
func TestIgnoredClaims(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": s.program, "partner_id": s.partner, "destination_url": "https://shop.example/",
	})).String("id")
	ofLink := s.Must(201, s.Post("/v1/attribution_tokens", M{"link_id": link})).String("token")
	s.Must(200, s.Delete("/v1/links/"+link))
	gone := s.Partner(s.program)
	ofGone := s.token(M{"partner_id": gone})
	s.Must(200, s.Delete("/v1/partners/"+gone))
	suspended := s.Partner(s.program)
	ofSuspended := s.token(M{"partner_id": suspended})
	s.Must(200, s.Post("/v1/partners/"+suspended, M{"status": "suspended"}))
	foreign := s.Partner(s.Program())
	publisher := func(id string) M {
		return M{"affiliate_attribution": M{"provider": "rail.example", "publisher_id": id}}
	}
	for _, c := range []struct {
		reason string
		claim  M
	}{
		{"provider_unknown", M{"affiliate_attribution": M{"provider": "impact.com", "token": s.token()}}},
		{"provider_unknown", M{"affiliate_attribution": M{"provider": "rail.example.evil", "publisher_id": "ada"}}},
		{"token_invalid", affiliate("atp_01J8Z3WXYZ9ABC")},
		{"token_invalid", affiliate("rat_")},
		{"token_invalid", affiliate(s.token() + "\n")},
		{"token_invalid", affiliate(s.token(M{"partner_id": foreign}))},
		{"link_deleted", affiliate(ofLink)},
		{"partner_not_found", affiliate(ofGone)},
		{"partner_not_found", publisher(foreign)},
		{"partner_not_found", publisher("part_01kb2m4q8e7v9t3n5x6c0d1f2g")},
		{"partner_not_found", publisher("nobody")},
		{"partner_not_found", M{"attribution": M{"ref": "nobody"}}},
		{"partner_not_active", affiliate(ofSuspended)},
		{"partner_not_active", publisher(suspended)},
		{"parameter_absent", M{"attribution": M{"utm_source": "assistant", "ref": " "}}},
		{"parameter_absent", M{"attribution": M{}}},
	} {
		s.noPartner(c.reason, s.sell(apitest.Unique("cus_"), c.claim))
		c.claim["program_id"] = s.program
		s.noPartner(c.reason, s.Must(201, s.Post("/v1/customers", c.claim)))
	}
	_, due, _ := s.Balance(s.program, s.partner, "USD")
	require.Zero(t, due)
	apitest.Balanced(t, s.Server)
}

// TestTokenExpires: a token counts until its expiry by the server's clock, and lives a year at most.
func TestTokenExpires(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	usual, short := s.token(), s.token(M{"expires_at": s.Clock.Now().Plus(time.Hour)})
	s.Clock.Advance(time.Hour - time.Second)
	s.credited(s.sell("cus_1", affiliate(short)))
	s.Clock.Advance(time.Second)
	s.noPartner("token_expired", s.sell("cus_2", affiliate(short)))
	s.credited(s.sell("cus_2b", affiliate(usual)))
	s.Clock.Advance(90 * 24 * time.Hour)
	s.noPartner("token_expired", s.sell("cus_3", affiliate(usual)))
	now := s.Clock.Now()
	for _, wrong := range []any{now, now.Days(-1), now.Days(366), "soon", "9999-12-31T23:59:59Z"} {
		a := s.Post("/v1/attribution_tokens", M{"partner_id": s.partner, "expires_at": wrong})
		s.Refused(400, "parameter_invalid", "expires_at", a)
	}
	s.Must(201, s.Post("/v1/attribution_tokens", M{"partner_id": s.partner, "expires_at": now.Days(365)}))
}

// TestTokenOwners: a token names exactly one active partner of the caller's.
func TestTokenOwners(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": s.program, "partner_id": s.partner, "destination_url": "https://shop.example/",
	})).String("id")
	create := func(body M) apitest.Answer { return s.Post("/v1/attribution_tokens", body) }
	s.Refused(400, "parameter_missing", "partner_id", create(M{}))
	s.Refused(400, "parameters_exclusive", "link_id", create(M{"partner_id": s.partner, "link_id": link}))
	s.Refused(404, "resource_not_found", "partner_id", create(M{"partner_id": "part_01kb2m4q8e7v9t3n5x6c0d1f2g"}))
	s.Refused(404, "resource_not_found", "link_id", create(M{"link_id": "lnk_01kb2m4q8e7v9t3n5x6c0d1f2g"}))
	stranger := s.NewKey(s.NewOrg("Other"), true, "write")
	foreign := s.Do("POST", "/v1/attribution_tokens", stranger, M{"partner_id": s.partner})
	s.Refused(404, "resource_not_found", "partner_id", foreign)
	s.Must(200, s.Post("/v1/partners/"+s.partner, M{"status": "suspended"}))
	s.Refused(409, "partner_not_active", "link_id", create(M{"link_id": link}))
	log := s.Get("/v1/audit_log?program_id=" + s.program + "&action=attribution_token.created")
	require.Zero(t, log.Int("total_count"))
}

// TestFirstClaimCounts: the first valid claim about a customer counts, whatever its touchpoint, and an invalid one before
// does not prevent it. A customer that has paid without a partner stays without one.
func TestFirstClaimCounts(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	bob := s.Partner(s.program)
	first := affiliate("rat_x")
	first["program_id"], first["external_customer_id"] = s.program, "cus_1"
	k := s.Must(201, s.Post("/v1/customers", first))
	s.noPartner("token_invalid", k)
	last := M{"affiliate_attribution": M{
		"provider": "rail.example", "token": s.token(), "touchpoint": "last", "campaign_id": "spring", "creative_id": "card",
		"sub_id": "u1=abc", "source": M{"type": "url", "url": "https://blog.example/best"}, "metadata": M{"a": 1, "b": true, "c": "d"},
	}}
	sale := s.credited(s.sell("cus_1", last))
	s.ignored("customer_has_partner", s.sell("cus_1", affiliate(s.token(M{"partner_id": bob}))))
	claims := s.Get("/v1/customers/" + k.String("id") + "?include[]=attribution_claims").Body["attribution_claims"].([]any)
	require.Len(t, claims, 3)
	require.Equal(t, map[string]any{
		"protocol": "acp", "status": "credited", "reason": nil, "sale_id": sale.String("id"), "touchpoint": "last",
		"publisher_id": nil, "campaign_id": "spring", "creative_id": "card", "sub_id": "u1=abc",
		"source_url": "https://blog.example/best", "created_at": "2026-09-01T12:00:00.000Z",
	}, claims[1])

	s.Must(201, s.Post("/v1/sales", s.body("cus_2", affiliate("rat_x"))))
	s.noPartner("customer_has_paid", s.sell("cus_2", affiliate(s.token())))
	customer := s.Customer(s.program, bob)
	byID := apitest.SaleBody(s.program, customer, affiliate(s.token()))
	a := s.ignored("customer_has_partner", s.Must(201, s.Post("/v1/sales", byID)))
	require.Equal(t, bob, a.String("partner_id"))
	s.ignored("sale_recorded", s.Must(200, s.Post("/v1/sales", byID)))
	lone := s.Must(201, s.Post("/v1/customers", M{"program_id": s.program, "attribution": M{}})).String("id")
	s.credited(s.Must(201, s.Post("/v1/sales", apitest.SaleBody(s.program, lone, M{"attribution": M{"ref": "ada"}}))))
	s.Refused(404, "resource_not_found", "customer_id",
		s.Post("/v1/sales", apitest.SaleBody(s.program, "cus_01kb2m4q8e7v9t3n5x6c0d1f2g", affiliate(s.token()))))
	s.Refused(404, "resource_not_found", "external_customer_id", s.Post("/v1/sales", s.body("cus_9", nil)))
	apitest.Balanced(t, s.Server)
}

// TestOtherRoutePrecedes: the claim beside a partner, a click or a coupon is ignored.
func TestOtherRoutePrecedes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	bob := s.PartnerObject(s.program)
	s.Must(201, s.Post("/v1/coupons", M{"program_id": s.program, "partner_id": bob.String("id"), "code": "BOB10"}))
	for name, value := range map[string]string{
		"partner_id": bob.String("id"), "click_id": s.Click(s.program, bob.String("handle")).String("id"), "coupon_code": "bob10",
	} {
		claim := affiliate(s.token())
		claim[name] = value
		a := s.ignored("other_route", s.sell(apitest.Unique("cus_"), claim))
		require.Equal(t, bob.String("id"), a.String("partner_id"), name)
		claim["program_id"] = s.program
		a = s.ignored("other_route", s.Must(201, s.Post("/v1/customers", claim)))
		require.Equal(t, bob.String("id"), a.String("partner_id"), name)
	}
}

// TestSelfReferralByClaim: the claim of a customer with the partner's email is ignored and flagged; the customer is
// created.
func TestSelfReferralByClaim(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	claim := affiliate(s.token())
	claim["program_id"], claim["email"] = s.program, "Ada+shop@partner.example"
	s.noPartner("self_referral", s.Must(201, s.Post("/v1/customers", claim)))
	flags := s.Get("/v1/risk_flags?program_id=" + s.program).Data()
	require.Len(t, flags, 1)
	require.Equal(t, "self_referral", flags[0]["kind"])
	open := s.Program(M{"block_self_referrals": false})
	partner := s.Partner(open, M{"email": "eve@partner.example"})
	claim = affiliate(s.token(M{"partner_id": partner}))
	claim["program_id"], claim["email"] = open, "eve@partner.example"
	require.Equal(t, partner, s.Must(201, s.Post("/v1/customers", claim)).String("partner_id"))
	require.Len(t, s.Get("/v1/risk_flags?program_id="+open).Data(), 1)
}

// TestMalformedClaims: a claim of the wrong form is refused, with the name of the member.
func TestMalformedClaims(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	long, many := strings.Repeat("x", 2049), M{}
	for i := range 21 {
		many[strings.Repeat("k", i+1)] = 1
	}
	for _, c := range []struct {
		claim       any
		code, param string
	}{
		{M{"token": "x"}, "parameter_missing", "affiliate_attribution.provider"},
		{M{"provider": "rail.example"}, "parameter_missing", "affiliate_attribution.token"},
		{M{"provider": 1, "token": "x"}, "parameter_invalid", "affiliate_attribution.provider"},
		{M{"provider": "rail.example", "token": long}, "parameter_invalid", "affiliate_attribution.token"},
		{M{"provider": "rail.example", "token": "x", "touchpoint": "middle"}, "parameter_invalid", "affiliate_attribution.touchpoint"},
		{M{"provider": "rail.example", "token": "x", "metadata": M{"a": M{}}}, "parameter_invalid", "affiliate_attribution.metadata.a"},
		{M{"provider": "rail.example", "token": "x", "metadata": many}, "parameter_invalid", "affiliate_attribution.metadata"},
		{M{"provider": "rail.example", "token": "x", "source": M{"type": 1}}, "parameter_invalid", "affiliate_attribution.source.type"},
		{"rail.example", "parameter_invalid", "affiliate_attribution"},
	} {
		s.Refused(400, c.code, c.param, s.Post("/v1/sales", s.body("cus_1", M{"affiliate_attribution": c.claim})))
		s.Refused(400, c.code, c.param, s.Post("/v1/customers", M{"program_id": s.program, "affiliate_attribution": c.claim}))
	}
	s.Refused(400, "parameter_invalid", "attribution.ref", s.Post("/v1/sales", s.body("cus_1", M{"attribution": M{"ref": 1}})))
	both := affiliate("x")
	both["attribution"] = M{"ref": "ada"}
	s.Refused(400, "parameters_exclusive", "attribution", s.Post("/v1/sales", s.body("cus_1", both)))
}

// TestPersonalDataIsNotStored: texts that look like an address or a phone number are left out, and the sale counts.
func TestPersonalDataIsNotStored(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.credited(s.sell("cus_1", M{"affiliate_attribution": M{
		"provider": "rail.example", "token": s.token(), "sub_id": "grace@example.com", "campaign_id": "+49 151 2345 6789",
		"creative_id": "18234567890", "source": M{"type": "url", "url": "https://blog.example/?mail=grace%40example.com"},
	}}))
	k := s.Get("/v1/customers/" + sale.String("customer_id") + "?include[]=attribution_claims")
	claim := k.Body["attribution_claims"].([]any)[0].(map[string]any)
	require.Equal(t, []any{nil, nil, "18234567890", nil},
		[]any{claim["sub_id"], claim["campaign_id"], claim["creative_id"], claim["source_url"]})
	require.NotContains(t, s.Get("/v1/events?program_id="+s.program).Raw, "rat_")
}

// TestMergeKeepsClaims: a merge moves the claims, and the survivor's token stays used.
func TestMergeKeepsClaims(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.token()
	a, b := s.sell("cus_a", affiliate(token)).String("customer_id"), s.sell("cus_b", affiliate(token)).String("customer_id")
	s.Must(200, s.Post("/v1/customers/"+a+"/merge", M{"customer_id": b}))
	require.Len(t, s.Get("/v1/customers/" + a + "?include[]=attribution_claims").Body["attribution_claims"], 2)
	s.ignored("token_replayed", s.sell("cus_b", affiliate(token)))
	apitest.Balanced(t, s.Server)
}

// TestBatchOfClaims: each sale of a batch has its own claim, and a replay in the batch is ignored.
func TestBatchOfClaims(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	claim := affiliate(s.token())
	items := []M{s.body("cus_1", claim), s.body("cus_1", claim), s.body("cus_2", M{"attribution": M{"ref": "nobody"}})}
	for _, item := range items {
		delete(item, "program_id")
	}
	a := s.Must(200, s.Post("/v1/sales/batch", M{"program_id": s.program, "items": items}))
	var got []any
	for _, item := range a.Data() {
		got = append(got, item["result"].(map[string]any)["attribution_result"].(map[string]any)["reason"])
	}
	require.Equal(t, []any{nil, "token_replayed", "partner_not_found"}, got)
}
