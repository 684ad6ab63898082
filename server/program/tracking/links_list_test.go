package tracking_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestLinkDefaults(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"url_params": []string{"via", "ref"}})
	partner := s.Partner(program, M{"handle": "ann"})
	before := len(s.Events(program))
	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": partner, "destination_url": "https://shop.example/p?a=1&via=bob#x",
	}))
	slug := link.String("short_slug")
	require.Regexp(t, `^[0-9A-Za-z]{7}$`, slug)
	require.Equal(t, M{
		"id": link.String("id"), "object": "link", "partner_id": partner, "param": "via", "value": "ann",
		"destination_url": "https://shop.example/p?a=1&via=bob#x",
		"url":             "https://shop.example/p?a=1&via=ann#x", "short_url": "https://rail.example/r/" + slug,
		"short_slug": slug, "short_domain": "rail.example",
		"label": nil, "created_at": "2026-09-01T12:00:00.000Z", "updated_at": "2026-09-01T12:00:00.000Z",
	}, link.Body)
	recorded := s.Events(program)[before:]
	require.Len(t, recorded, 1)
	require.Equal(t, "affiliate_link.created", recorded[0].String("type"))
	require.Equal(t, M{
		"link_id": link.String("id"), "partner_id": partner, "url": link.String("url"), "param": "via", "value": "ann",
		"destination_url": link.String("destination_url"),
	}, recorded[0].Body["data"])
	path := "/v1/links/" + link.String("id")
	require.Equal(t, link.Body, s.Must(200, s.Get(path)).Body)

	s.Clock.Advance(time.Hour)
	labelled := s.Must(200, s.Post(path, M{"label": "Blog"}))
	require.Equal(t, "2026-09-01T13:00:00.000Z", labelled.String("updated_at"))
	s.Clock.Advance(time.Hour)
	same := s.Must(200, s.Post(path, M{"label": "Blog", "destination_url": link.String("destination_url")}))
	require.Equal(t, labelled.Body, same.Body, "nothing changed")
	s.Must(200, s.Delete(path))
	recorded = s.Events(program)[before+1:]
	require.Len(t, recorded, 2, "no event where nothing changed")
	require.Equal(t, "affiliate_link.updated", recorded[0].String("type"), "for a label too")
	require.Equal(t,
		M{
			"link_id": link.String("id"), "partner_id": partner, "url": link.String("url"),
			"destination_url": link.String("destination_url"),
		}, recorded[0].Body["data"])
	require.Equal(t, M{"link_id": link.String("id"), "partner_id": partner}, recorded[1].Body["data"])
	s.Refused(404, "resource_not_found", "", s.Post(path, M{"label": "x"}))
	s.Refused(404, "resource_not_found", "", s.Delete(path))
}

func TestLinkRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	ann, eve := s.Partner(program, M{"handle": "ann"}), s.Partner(program, M{"handle": "eve"})
	s.Must(200, s.Post("/v1/partners/"+ann, M{"handle": "anna"}))
	elsewhere := s.Partner(other)
	stranger := apitest.On(t, s.DSN, s.Clock)
	foreign := stranger.Partner(stranger.Program())
	body := func(more M) M {
		b := M{"program_id": program, "partner_id": eve, "destination_url": "https://shop.example/"}
		maps.Copy(b, more)
		return b
	}
	before := len(s.Events(program))
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"destination_url": nil}, 400, "parameter_invalid", "destination_url"},
		{M{"destination_url": "shop"}, 400, "parameter_invalid", "destination_url"},
		{M{"value": "a"}, 400, "parameter_invalid", "value"},
		{M{"value": "a b"}, 400, "parameter_invalid", "value"},
		{M{"param": ""}, 400, "parameter_invalid", "param"},
		{M{"param": "a b"}, 400, "parameter_invalid", "param"},
		{M{"rate_override": M{}}, 400, "parameter_unknown", "rate_override"},
		{M{"partner_id": elsewhere}, 400, "invalid_reference", "partner_id"},
		{M{"partner_id": foreign}, 404, "resource_not_found", "partner_id"},
		{M{"partner_id": "cus_1"}, 400, "parameter_invalid", "partner_id"},
		{M{"program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
		{M{"value": "ANNA"}, 409, "link_value_taken", "value"},
		{M{"value": "ann"}, 409, "link_value_taken", "value"},
	} {
		s.Refused(c.status, c.code, c.param, s.Post("/v1/links", body(c.body)))
	}
	require.EqualValues(t, 0, s.Get("/v1/links?program_id="+program).Int("total_count"))
	require.Len(t, s.Events(program), before)
	s.Must(201, s.Post("/v1/links", body(M{"partner_id": ann, "value": "ann"}))) // its own former handle
	link := s.Must(201, s.Post("/v1/links", body(M{"value": "Custom"})))
	taken := s.Post("/v1/partners", M{"program_id": program, "email": "new@example.com", "handle": "custom"})
	s.Refused(409, "partner_handle_taken", "handle", taken)
	require.Equal(t, link.String("id"), taken.Body["existing"].(M)["id"])
	path := "/v1/links/" + link.String("id")
	s.Refused(400, "parameter_unknown", "value", s.Post(path, M{"value": "other"}))
	s.Refused(400, "parameter_invalid", "destination_url", s.Post(path, M{"destination_url": nil}))
	stranger.Refused(404, "resource_not_found", "", stranger.Get(path))
	stranger.Refused(404, "resource_not_found", "", stranger.Post(path, M{"label": "x"}))
	stranger.Refused(404, "resource_not_found", "", stranger.Delete(path))
	require.Equal(t, link.Body, s.Get(path).Body)
}

func TestLinkList(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann, bob := s.Partner(program), s.Partner(program)
	add := func(partner string) string {
		s.Clock.Advance(time.Minute)
		return s.Must(201,
			s.Post("/v1/links",
				M{
					"program_id": program, "partner_id": partner, "destination_url": "https://shop.example/",
					"value": apitest.Unique("value"),
				})).String("id")
	}
	var all, anns []string
	for i := range 5 {
		partner := []string{ann, bob}[i%2]
		id := add(partner)
		all = slices.Insert(all, 0, id)
		if partner == ann {
			anns = slices.Insert(anns, 0, id)
		}
	}
	gone := add(ann)
	s.Must(200, s.Delete("/v1/links/"+gone))
	apitest.PagedBothWays(t, s, "/v1/links?program_id="+program, all)
	apitest.PagedBothWays(t, s, "/v1/links?program_id="+program+"&partner_id="+ann, anns)
	s.Refused(400, "invalid_cursor", "starting_after",
		s.Get("/v1/links?program_id="+program+"&partner_id="+bob+"&starting_after="+anns[0]))
	require.Len(t, s.Must(200, s.Get("/v1/links?program_id="+program+"&starting_after="+gone)).Data(), 5,
		"a link that was deleted marks its place still")
	s.Refused(400, "invalid_expand", "expand[]", s.Get("/v1/links?program_id="+program+"&expand=group"))

	value := s.Get("/v1/links/" + anns[0]).String("value")
	click := s.Click(program, value, M{"visitor_token": "visitor-1"})
	s.Click(program, value, M{"visitor_token": "visitor-1"})
	s.Click(program, value, M{"visitor_token": "visitor-2"})
	s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")}))
	list := s.Must(200, s.Get("/v1/links?program_id="+program+"&include=stats&expand=partner&partner_id="+ann)).Data()
	require.Equal(t, anns[0], list[0]["id"])
	require.Equal(t, ann, list[0]["partner"].(M)["id"])
	stats := apitest.Answer{Body: list[0]["stats"].(M)}
	require.EqualValues(t, 3, stats.Int("clicks"))
	require.EqualValues(t, 2, stats.Int("referrals"))
	require.EqualValues(t, 1, stats.Int("customers"))
	require.EqualValues(t, 0, apitest.Answer{Body: list[1]["stats"].(M)}.Int("clicks"))
}
