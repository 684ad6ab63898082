package tracking_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestClickFields(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{"handle": "ann"})
	before := len(s.Events(program))
	click := s.Click(program, "Ann", M{
		"landing_url": "https://shop.example/p?ref=ann&utm_medium=mail&utm_source=a&utm_source=b",
		"referrer":    "https://blog.example/", "ip": "203.0.113.9",
		"user_agent": "UA", "country": "de", "device": "mobile", "param": "via", "visitor_token": "token-secret-1",
	})
	require.Equal(t, M{
		"id": click.String("id"), "object": "click", "program_id": program, "partner_id": partner, "link_id": nil,
		"referral_id": click.String("referral_id"),
		"user_agent":  "UA", "referer": "https://blog.example/", "country": "DE", "device": "mobile",
		"landing_url": "https://shop.example/p?ref=ann&utm_medium=mail&utm_source=a&utm_source=b",
		"created_at":  "2026-09-01T12:00:00.000Z",
	}, click.Body)
	var stored string
	require.NoError(t,
		s.Pool.QueryRow(t.Context(), "SELECT param FROM clicks WHERE id = $1", click.String("id")).Scan(&stored))
	require.Equal(t, "via", stored)
	var hash []byte
	require.NoError(t,
		s.Pool.QueryRow(t.Context(), "SELECT ip_hash FROM clicks WHERE id = $1", click.String("id")).Scan(&hash))
	require.Len(t, hash, 16)
	require.NotContains(t, string(hash), "203.0.113.9")
	referral := s.Must(200, s.Get("/v1/referrals/"+click.String("referral_id")))
	require.Equal(t, M{
		"id": click.String("referral_id"), "object": "referral", "program_id": program, "partner_id": partner, "link_id": nil,
		"landing_url": click.String("landing_url"),
		"utm":         M{"utm_medium": "mail", "utm_source": "a"}, "tracked_by": "link", "status": "visit",
		"expires_at": "2026-10-01T12:00:00.000Z",
		"created_at": "2026-09-01T12:00:00.000Z", "updated_at": "2026-09-01T12:00:00.000Z",
	}, referral.Body)
	recorded := s.Events(program)[before:]
	require.Len(t, recorded, 1)
	require.Equal(t, "referral.created", recorded[0].String("type"))
	require.Equal(t, M{
		"referral_id": referral.String("id"), "partner_id": partner, "link_id": nil,
		"landing_url": click.String("landing_url"), "tracked_by": "link",
		"expires_at": "2026-10-01T12:00:00.000Z",
	}, recorded[0].Body["data"])
	bare := s.Click(program, "ann")
	for _, name := range []string{"user_agent", "referer", "country", "device", "link_id"} {
		require.Nil(t, bare.Body[name], name)
	}
	require.Nil(t, s.Get("/v1/referrals/" + bare.String("referral_id")).Body["utm"])
}

// TestClickResolution: a value matches handles first, including former ones, then link values.
// Among the partner's links, the link to the landing page wins, then the oldest (decisions, 68).
func TestClickResolution(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	ann, bob := s.Partner(program, M{"handle": "ann"}), s.Partner(program, M{"handle": "bob"})
	s.Partner(other, M{"handle": "elsewhere"})
	link := func(partner, destination string, more M) string {
		s.Clock.Advance(time.Minute)
		body := M{"program_id": program, "partner_id": partner, "destination_url": destination}
		maps.Copy(body, more)
		return s.Must(201, s.Post("/v1/links", body)).String("id")
	}
	oldest := link(ann, "https://shop.example/a", nil)
	second := link(ann, "https://shop.example/Pricing/", nil)
	custom := link(bob, "https://shop.example/", M{"value": "Summer.24"})
	for _, c := range []struct{ value, landing, partner, link string }{
		{"ann", "https://shop.example/other", ann, oldest},
		{"ANN", "http://SHOP.example/pricing?ref=ann&x=1#y", ann, second},
		{"ann", "https://shop.example:443/pricing", ann, second},
		{"summer.24", "https://elsewhere.example/", bob, custom},
		{"SUMMER.24", "https://shop.example/", bob, custom},
		{"bob", "https://shop.example/", bob, ""},
	} {
		click := s.Click(program, c.value, M{"landing_url": c.landing})
		require.Equal(t, c.partner, click.String("partner_id"), "%+v", c)
		require.Equal(t, c.link, click.String("link_id"), "%+v", c)
	}
	s.Must(200, s.Post("/v1/partners/"+ann, M{"handle": "anna"}))
	require.Equal(t, ann, s.Click(program, "Ann").String("partner_id"), "printed links keep working")
	require.Equal(t, ann, s.Click(program, "anna").String("partner_id"))
	s.Must(200, s.Post("/v1/partners/"+ann, M{"handle": "annabel"}))
	require.Equal(t, ann, s.Click(program, "ann").String("partner_id"), "also after two changes")

	count := func() int64 { return s.Get("/v1/clicks?program_id=" + program).Int("total_count") }
	before, recorded := count(), len(s.Events(program))
	post := func(value string) apitest.Answer {
		return s.Post("/v1/clicks", M{
			"program_id": program, "value": value, "landing_url": "https://shop.example/", "visitor_token": "visitor-token",
		})
	}
	for _, value := range []string{"nobody", "elsewhere", "an", "ann@shop.example", "summer_24"} {
		s.Refused(404, "tracking_value_not_found", "value", post(value))
	}
	s.Must(200, s.Post("/v1/partners/"+bob, M{"status": "suspended"}))
	s.Refused(404, "tracking_value_not_found", "value", post("bob"))
	s.Refused(404, "tracking_value_not_found", "value", post("summer.24"))
	s.Must(201, s.Post("/v1/partners", M{
		"program_id": program, "email": "p@example.com", "handle": "waiting", "status": "pending",
	}))
	s.Refused(404, "tracking_value_not_found", "value", post("waiting"))
	require.Equal(t, before, count())
	require.Len(t, s.Events(program), recorded+3, "affiliate.updated, affiliate.created, application.submitted alone")
	s.Must(200, s.Post("/v1/partners/"+bob, M{"status": "active"}))
	s.Must(201, post("bob"))
}

func TestClickRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Partner(program, M{"handle": "ann"})
	stranger := apitest.On(t, s.DSN, s.Clock)
	post := func(more M) apitest.Answer {
		body := M{
			"program_id": program, "value": "ann", "landing_url": "https://shop.example/", "visitor_token": "visitor-token",
		}
		maps.Copy(body, more)
		return s.Post("/v1/clicks", body)
	}
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"value": ""}, 400, "parameter_invalid", "value"},
		{M{"landing_url": "p"}, 400, "parameter_invalid", "landing_url"},
		{M{"visitor_token": "1234567"}, 400, "parameter_invalid", "visitor_token"},
		{M{"visitor_token": string(slices.Repeat([]byte("x"), 129))}, 400, "parameter_invalid", "visitor_token"},
		{M{"country": "DEU"}, 400, "parameter_invalid", "country"},
		{M{"referer": "https://a.example", "referrer": "https://b.example"}, 400, "parameters_exclusive", "referer"},
		{M{"param": strings.Repeat("x", 33)}, 400, "parameter_invalid", "param"},
		{M{"param": ""}, 400, "parameter_invalid", "param"},
		{M{"program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
		{M{"program_id": stranger.Program()}, 404, "resource_not_found", "program_id"},
	} {
		s.Refused(c.status, c.code, c.param, post(c.body))
	}
	s.Must(200, s.Post("/v1/programs/"+program, M{"status": "paused"}))
	s.Refused(409, "program_paused", "", post(nil))
	require.EqualValues(t, 0, s.Get("/v1/clicks?program_id="+program).Int("total_count"))
	require.EqualValues(t, 0, s.Get("/v1/referrals?program_id="+program).Int("total_count"))
	s.Must(200, s.Post("/v1/programs/"+program, M{"status": "active"}))
	for _, fields := range []M{
		{"referrer": "https://a.example"}, {"referer": "https://a.example"},
		{"referer": "https://a.example", "referrer": "https://a.example"},
	} {
		require.Equal(t, "https://a.example", s.Must(201, post(fields)).String("referer"), "%v", fields)
	}
	click := s.Must(201, post(M{"param": strings.Repeat("x", 32)}))
	stranger.Refused(404, "resource_not_found", "", stranger.Get("/v1/clicks/"+click.String("id")))
}

// TestOneReferralAVisitor: a visitor has one live referral per partner. An expired referral allows
// a new one, and a repeated click does not extend the window.
func TestOneReferralAVisitor(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"cookie_days": 10})
	s.Partner(program, M{"handle": "ann"})
	s.Partner(program, M{"handle": "bob"})
	click := func(value, visitor string) string {
		return s.Click(program, value, M{"visitor_token": visitor}).String("referral_id")
	}
	first := click("ann", "visitor-1")
	require.Equal(t, first, click("ANN", "visitor-1"))
	require.NotEqual(t, first, click("ann", "visitor-2"))
	bobs := click("bob", "visitor-1")
	require.NotEqual(t, first, bobs, "another partner's is another referral")
	s.Must(200, s.Post("/v1/programs/"+program, M{"cookie_days": 1}))
	s.Clock.Advance(10*24*time.Hour - time.Second)
	require.Equal(t, first, click("ann", "visitor-1"), "the window is that of its creation")
	s.Clock.Advance(time.Second)
	second := click("ann", "visitor-1")
	require.NotEqual(t, first, second, "expired at its very end")
	require.Equal(t, second, click("ann", "visitor-1"))
	require.Equal(t, "2026-09-12T12:00:00.000Z", s.Get("/v1/referrals/"+second).String("expires_at"))
	require.Equal(t, "2026-09-11T12:00:00.000Z", s.Get("/v1/referrals/"+first).String("expires_at"))
	require.EqualValues(t, 4, s.Get("/v1/referrals?program_id="+program).Int("total_count"))
	require.Equal(t, []string{
		"affiliate.created", "affiliate.created", "referral.created", "referral.created", "referral.created",
		"referral.created",
	}, s.EventTypes(program), "once a visit identity")
}

func TestClickList(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann, bob := s.Partner(program, M{"handle": "ann"}), s.Partner(program, M{"handle": "bob"})
	link := s.Must(201,
		s.Post("/v1/links",
			M{"program_id": program, "partner_id": ann, "destination_url": "https://shop.example/"})).String("id")
	var all, anns []string
	var referral string
	for i := range 5 {
		s.Clock.Advance(time.Minute)
		click := s.Click(program, []string{"ann", "bob"}[i%2], M{"visitor_token": "visitor-1"})
		all = slices.Insert(all, 0, click.String("id"))
		if i%2 == 0 {
			anns, referral = slices.Insert(anns, 0, click.String("id")), click.String("referral_id")
		}
	}
	base := "/v1/clicks?program_id=" + program
	apitest.PagedBothWays(t, s, base, all)
	apitest.PagedBothWays(t, s, base+"&partner_id="+ann, anns)
	apitest.PagedBothWays(t, s, base+"&link_id="+link, anns)
	apitest.PagedBothWays(t, s, base+"&referral_id="+referral, anns)
	require.EqualValues(t, 0, s.Get(base+"&link_id="+link+"&partner_id="+bob).Int("total_count"))
	list := s.Must(200, s.Get(base+"&expand=partner,link,referral")).Data()
	require.Equal(t, ann, list[0]["partner"].(M)["id"])
	require.Equal(t, link, list[0]["link"].(M)["id"])
	require.Equal(t, referral, list[0]["referral"].(M)["id"])
	require.Nil(t, list[1]["link"])
	for _, name := range []string{"link_id=lnk", "referral_id=ref", "partner_id=part"} {
		field := name[:len(name)-len(name[slices.Index([]byte(name), '='):])]
		s.Refused(404, "resource_not_found", field, s.Get(base+"&"+name+"_none"))
	}
	s.Refused(400, "parameter_unknown", "status", s.Get(base+"&status=visit"))
}
