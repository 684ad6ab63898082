package tracking_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

func TestShortLink(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{"handle": "ann"})
	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": partner, "destination_url": "https://shop.example/p?utm_source=mail#top",
	}))
	id, slug := link.String("id"), link.String("short_slug")
	clicks := func() []M { return s.Must(200, s.Get("/v1/clicks?program_id="+program+"&link_id="+id)).Data() }

	first := s.Must(302, apitest.Follow(s, "GET", slug, "Referer", "https://blog.example/"))
	require.Equal(t, "https://shop.example/p?utm_source=mail&ref=ann#top", landed(first))
	require.Contains(t, first.Header.Get("Cache-Control"), "no-store")
	cookies := (&http.Response{Header: first.Header}).Cookies()
	require.Len(t, cookies, 1)
	require.True(t, cookies[0].HttpOnly)
	require.True(t, cookies[0].Secure)
	require.Len(t, clicks(), 1)
	click := clicks()[0]
	require.Equal(t, partner, click["partner_id"])
	require.Equal(t, apitest.Browser, click["user_agent"])
	require.Equal(t, "https://blog.example/", click["referer"])
	require.Equal(t, landed(first), click["landing_url"])
	referral := s.Must(200, s.Get("/v1/referrals/"+click["referral_id"].(string)))
	require.Equal(t, id, referral.String("link_id"))
	require.Equal(t, "link", referral.String("tracked_by"))
	require.Equal(t, M{"utm_source": "mail"}, referral.Body["utm"])

	s.Must(302, apitest.Follow(s, "GET", slug, "Cookie", cookies[0].Name+"="+cookies[0].Value))
	require.Len(t, clicks(), 1, "the same click within the hour")
	s.Clock.Advance(time.Hour)
	again := s.Must(302, apitest.Follow(s, "GET", slug, "Cookie", cookies[0].Name+"="+cookies[0].Value))
	require.Empty(t, again.Header.Get("Set-Cookie"))
	require.Len(t, clicks(), 2)
	require.Equal(t, click["referral_id"], clicks()[0]["referral_id"], "the browser is known")
	forged := s.Must(302, apitest.Follow(s, "GET", slug, "Cookie", cookies[0].Name+"=x"))
	require.NotEmpty(t, forged.Header.Get("Set-Cookie"))
	require.Len(t, clicks(), 3)
	require.EqualValues(t, 2, s.Get("/v1/referrals?program_id="+program).Int("total_count"))
}

func TestShortLinkPreviewsRecordNothing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": partner, "destination_url": "https://shop.example/",
	}))
	slug := link.String("short_slug")
	before := len(s.Events(program))
	for _, c := range []struct{ method, header, value string }{
		{"HEAD", "X-None", "1"},
		{"GET", "Purpose", "prefetch"},
		{"GET", "Sec-Purpose", "prefetch;prerender"},
		{"GET", "X-Moz", "Prefetch"},
		{"GET", "User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
		{"GET", "User-Agent", "facebookexternalhit/1.1"},
		{"GET", "User-Agent", "Slackbot-LinkExpanding 1.0"},
		{"GET", "User-Agent", "curl/8.5.0"},
	} {
		a := s.Must(302, apitest.Follow(s, c.method, slug, c.header, c.value))
		require.Equal(t, link.String("url"), landed(a), c.value)
		require.Empty(t, a.Header.Get("Set-Cookie"), c.value)
		require.EqualValues(t, 0, s.Get("/v1/clicks?program_id="+program).Int("total_count"), "%s %s", c.method, c.value)
	}
	require.Len(t, s.Events(program), before)
	s.Refused(404, "route_not_found", "", apitest.Follow(s, "GET", "AAAAAAA"))
	s.Refused(404, "route_not_found", "", apitest.Follow(s, "GET", "a.b"))
}

// TestShortLinkBeyondTheLimit: an address that requests links without end is still redirected, but
// records no more clicks than its limit. Other addresses are not affected.
func TestShortLinkBeyondTheLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) {
		c.AddressRateLimit, c.TrustedProxies = 25, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	program := s.Program()
	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": s.Partner(program), "destination_url": "https://shop.example/",
	}))
	recorded := func() int64 { return s.Must(200, s.Get("/v1/clicks?program_id="+program)).Int("total_count") }
	for i := range 40 {
		from := fmt.Sprintf("2001:db8::%x", i) // one caller has a whole network of them
		a := s.Must(302, apitest.Follow(s, "GET", link.String("short_slug"), "X-Forwarded-For", from))
		require.Equal(t, link.String("url"), landed(a))
		require.Equal(t, i < 25, a.Header.Get("Set-Cookie") != "")
	}
	require.EqualValues(t, 25, recorded())
	require.EqualValues(t, 25, s.Must(200, s.Get("/v1/referrals?program_id="+program)).Int("total_count"))
	s.Must(302, apitest.Follow(s, "GET", link.String("short_slug"), "X-Forwarded-For", "2001:db8:0:1::"))
	require.EqualValues(t, 26, recorded())
	s.Refused(404, "route_not_found", "", apitest.Follow(s, "GET", "AAAAAAA", "X-Forwarded-For", "2001:db8::"))
	require.Contains(t, s.Log(), "limited=true")
}

// TestShortLinkKeepsRedirecting: a deleted link redirects and counts. A link of a paused program
// redirects and does not count. A suspended partner's link does the same, without the partner's
// value.
func TestShortLinkKeepsRedirecting(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": partner, "destination_url": "https://shop.example/", "value": "gone",
	}))
	slug := link.String("short_slug")
	count := func() int64 {
		return s.Must(200, s.Get("/v1/clicks?program_id="+program+"&link_id="+link.String("id"))).Int("total_count")
	}
	send := func(to string) {
		t.Helper()
		require.Equal(t, to, landed(s.Must(302, apitest.Follow(s, "GET", slug))))
	}
	url := link.String("url")
	s.Must(200, s.Delete("/v1/links/"+link.String("id")))
	send(url)
	require.EqualValues(t, 1, count())
	click := s.Click(program, "GONE")
	require.Equal(t, link.String("id"), click.String("link_id"), "history stays under the deleted link")
	require.Equal(t, link.String("id"), s.Get("/v1/clicks/" + click.String("id") + "?expand=link").Body["link"].(M)["id"])
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "suspended"}))
	send("https://shop.example/")
	require.EqualValues(t, 2, count())
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "active"}))
	s.Must(200, s.Post("/v1/programs/"+program, M{"status": "paused"}))
	send(url)
	require.EqualValues(t, 2, count())
	s.Must(200, s.Post("/v1/programs/"+program, M{"status": "active"}))
	send(url)
	require.EqualValues(t, 3, count())
}

// landed returns the destination of a short link without the click id.
func landed(a apitest.Answer) string {
	return regexp.MustCompile(`[?&]rail_click=clk_[0-9a-z]+`).ReplaceAllString(a.Header.Get("Location"), "")
}
