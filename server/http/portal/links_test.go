package portal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestOwnLinks: a partner makes links to the program's pages, which count by themselves.
func TestOwnLinks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"website_url": "https://shop.example"})
	partner := s.PartnerObject(program, M{"handle": "ada"}).String("id")
	b := signIn(s, partner)
	b.moved("/portal/links?done=link", b.send("/portal/links/add",
		"destination_url", "shop.example/pricing?plan=pro#top", "label", "M\u2066ay\u200b", "slug", "Spring26", "utm_source", "news & co", "utm_campaign", "may"))
	l := s.Get("/v1/links?program_id=" + program).Data()[0]
	require.Equal(t, []any{
		"https://shop.example/pricing?plan=pro&utm_source=news+%26+co&utm_campaign=may&ref=spring26#top", "May", "spring26", "spring26", partner,
	}, []any{l["url"], l["label"], l["value"], l["short_slug"], l["partner_id"]})
	require.Equal(t, l["url"], s.Must(302, visit(s, "GET", "/r/spring26")).Header.Get("Location"))
	actions, reasons, after := audit(s, program)
	require.Equal(t, []string{"link.created"}, actions)
	require.Equal(t, []string{"By the partner " + partner + " in the portal."}, reasons)
	require.Equal(t, "spring26", after[0]["short_slug"])
	require.Equal(t, 1, countOf(s, program, "affiliate_link.created"))

	b.moved("/portal/links?done=link", b.send("/portal/links/add", "destination_url", "https://SHOP.example/"))
	id := l["id"].(string)
	b.moved("/portal/links?done=renamed", b.send("/portal/links/rename", "id", id, "label", "June"))
	require.Equal(t, "June", s.Get("/v1/links/"+id).String("label"))
	b.moved("/portal/links?done=renamed", b.send("/portal/links/rename", "id", id, "label", "Ju\u202ene\u200b\u3164"))
	require.Equal(t, "June", s.Get("/v1/links/"+id).String("label"), "managers see it")
	b.moved("/portal/links?done=renamed", b.send("/portal/links/rename", "id", id, "label", "\u200b"))
	require.Nil(t, s.Get("/v1/links/" + id).Body["label"])
	b.moved("/portal/links?done=renamed", b.send("/portal/links/rename", "id", id, "label", "June"))
	b.moved("/portal/links?done=away", b.send("/portal/links/delete", "id", id))
	s.Must(404, s.Get("/v1/links/"+id))
	require.Len(t, s.Get("/v1/links?program_id="+program).Data(), 1)
	b.says(422, "This short name is taken.", b.send("/portal/links/add", "destination_url", "https://shop.example", "slug", "spring26"))
}

// TestOwnLinksWithUmlauts: a page may be named with the umlaut of its host, or in the form that browsers
// show in an address that was copied.
func TestOwnLinksWithUmlauts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"website_url": "https://bücher.example"})
	b := signIn(s, s.Partner(program))
	s.Must(200, s.Post("/v1/programs/"+program+"/portal", M{"link_hosts": []string{"*.größe.example"}}))
	for _, address := range []string{
		"https://bücher.example/a", "https://xn--bcher-kva.example/b", "https://b%C3%BCcher.example/c", "https://de.größe.example/",
		"https://de.xn--gre-6ka8i.example/",
	} {
		b.moved("/portal/links?done=link", b.send("/portal/links/add", "destination_url", address))
	}
	b.says(422, "page of the program", b.send("/portal/links/add", "destination_url", "https://bucher.example/"))
}

// TestOwnLinksAreRefused: what leads elsewhere, has no name of the form, or is one too many.
func TestOwnLinksAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"website_url": "https://shop.example"})
	partner, other := s.Partner(program), s.PartnerObject(program, M{"handle": "bruno"})
	s.Must(200, s.Post("/v1/programs/"+program+"/portal", M{"link_hosts": []string{"*.docs.example"}, "max_links": 2}))
	b := signIn(s, partner)
	for _, c := range []struct{ address, slug, text string }{
		{"https://evil.example/", "", "This must be a page of the program."}, {"https://shop.example.evil.example", "", "page of the program"},
		{"https://shop.example@evil.example/", "", "page of the program"}, {"http://shop.example/", "", "page of the program"},
		{"https://user:pass@shop.example/", "", "page of the program"},
		{"javascript:alert(1)", "", "This must be"}, {"", "", "This must"},
		{"https://docs.example/", "", "page of the program"},
		{"https://shop.example/", "a", "3 to 32 letters and digits"}, {"https://shop.example/", "no-dash", "3 to 32 letters and digits"},
		{"https://shop.example/", "bruno", "handle of another partner"},
	} {
		b.says(422, c.text, b.send("/portal/links/add", "destination_url", c.address, "slug", c.slug))
	}
	require.Empty(t, s.Get("/v1/links?program_id="+program).Data())
	for range 2 {
		b.moved("/portal/links?done=link", b.send("/portal/links/add", "destination_url", "https://en.docs.example/a"))
	}
	b.says(422, "You’ve reached the program’s limit of links.", b.send("/portal/links/add", "destination_url", "https://shop.example/"))
	foreign := s.Must(201, s.Post("/v1/links", M{"program_id": program, "partner_id": other.String("id"), "destination_url": "https://shop.example/a"})).String("id")
	for _, form := range [][]string{{"/portal/links/rename", "id", foreign, "label", "mine"}, {"/portal/links/delete", "id", foreign}, {"/portal/links/delete", "id", "lnk_none"}, {"/portal/links/delete"}} {
		s.Must(404, b.send(form[0], form[1:]...))
	}
	s.Must(200, s.Post("/v1/programs/"+program+"/portal", M{"max_links": 0}))
	require.NotContains(t, b.get("/portal/links"), "/portal/links/add")
	require.NotContains(t, b.get("/portal/links"), `"mine"`)
}
