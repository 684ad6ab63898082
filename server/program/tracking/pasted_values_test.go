package tracking_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// pastes are values as people paste them. All of them belong to ada.
var pastes = []string{
	"ada?utm_source=yt", "ada%20", "ada ", "ada%E2%80%8B", "ada\u200b", "\ufeffada", "a\u00adda", "ada\u200f", "ada\u00a0", "ada/",
	"ada.", "ada,", "ada&amp;utm_source=yt", "ADA!", "(ada)", "ada?" + strings.Repeat("x", 2000),
}

// TestCase13PastedValues: field case 13 (links as people paste them). The API, the batch, the pixel
// and short links read a value, or a slug, as the partner published it. A value may end with a full
// stop.
func TestCase13PastedValues(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ada, bob := s.Partner(program, M{"handle": "ada"}), s.Partner(program, M{"handle": "bob"})
	visit := func(value string, i int) M {
		return M{"value": value, "landing_url": "https://shop.example/", "visitor_token": fmt.Sprintf("visitor-%d", i)}
	}
	var items []M
	credited := func(value string) string {
		t.Helper()
		return s.Click(program, value, M{"landing_url": "https://shop.example/"}).String("partner_id")
	}
	for i, value := range pastes {
		require.Equal(t, ada, credited(value), "%q", value)
		items = append(items, visit(value, i))
	}
	items = append(items, visit("nobody/", 100), visit("bob", 101))
	batch := s.Must(200, s.Post("/v1/clicks/batch", M{"program_id": program, "items": items}))
	require.EqualValues(t, len(pastes)+1, batch.Int("succeeded"))
	for i, outcome := range batch.Data() {
		switch {
		case i < len(pastes):
			require.Equal(t, ada, outcome["result"].(M)["partner_id"], "%q", pastes[i])
		case i == len(pastes):
			require.Equal(t, "tracking_value_not_found", outcome["error"].(M)["code"])
		default:
			require.Equal(t, bob, outcome["result"].(M)["partner_id"])
		}
	}

	key := s.Must(201, s.Post("/v1/publishable_keys", M{"program_id": program, "allowed_hosts": []string{"shop.example"}}))
	for _, value := range pastes {
		got := s.Must(201, s.Do("POST", "/t/c", "", M{"key": key.String("key"), "value": value},
			"Origin", "https://shop.example", "User-Agent", apitest.Browser))
		require.Equal(t, "ada", got.Body["partner"].(M)["handle"], "%q", value)
	}

	point := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": bob, "destination_url": "https://shop.example/", "value": "ada.",
	}))
	require.Equal(t, bob, credited("ada."), "the value as it came is first")
	require.Equal(t, bob, credited("Ada./"))
	require.Equal(t, ada, credited("ada,"))

	slug := point.String("short_slug")
	for _, path := range []string{slug, slug + ".", slug + "%20", slug + "%E2%80%8B", slug + "/", slug + "%22", slug + ")"} {
		require.Equal(t, point.String("url"), landed(s.Must(302, apitest.Follow(s, "GET", path))), path)
	}
}

// TestCase14LongAddresses: field case 14 (long addresses, and a stray "%"). A click with a long
// address is recorded. The stored address ends at a parameter, and the referral has the campaign.
// Only an address beyond the bound is refused.
func TestCase14LongAddresses(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Partner(program, M{"handle": "ada"})
	const page, from = "https://shop.example/50%-off?a=100%&ref=ada", "https://blog.example/?q=1"
	long := "&x=" + strings.Repeat("y", 3000) + "&utm_source=yt"
	beyond := page + "&x=" + strings.Repeat("y", 16384)
	stored := func(click apitest.Answer) {
		t.Helper()
		require.Equal(t, []string{page, from}, []string{click.String("landing_url"), click.String("referer")})
		referral := s.Must(200, s.Get("/v1/referrals/"+click.String("referral_id")))
		require.Equal(t, page, referral.String("landing_url"))
		require.Equal(t, M{"utm_source": "yt"}, referral.Body["utm"])
	}
	stored(s.Click(program, "ada", M{"landing_url": page + long, "referrer": from + long}))
	stored(s.Click(program, "ada", M{"landing_url": page + long, "referer": from + long}))

	item := func(more M) M {
		out := M{"value": "ada", "landing_url": page + long, "referrer": from + long, "visitor_token": "visitor-1"}
		maps.Copy(out, more)
		return out
	}
	batch := s.Must(200, s.Post("/v1/clicks/batch", M{"program_id": program, "items": []M{
		item(nil), item(M{"landing_url": beyond}), item(M{"referrer": beyond}),
	}})).Data()
	stored(apitest.Answer{Body: batch[0]["result"].(M)})
	for i, param := range map[int]string{1: "landing_url", 2: "referrer"} {
		require.Equal(t, []any{"parameter_invalid", param}, []any{batch[i]["error"].(M)["code"], batch[i]["error"].(M)["param"]})
	}

	key := s.Must(201, s.Post("/v1/publishable_keys", M{"program_id": program, "allowed_hosts": []string{"shop.example"}}))
	seen := s.Must(201, s.Do("POST", "/t/c", "", M{
		"key": key.String("key"), "value": "ada", "url": page + long, "referrer": from + long,
	}, "Origin", "https://shop.example", "User-Agent", apitest.Browser))
	stored(s.Must(200, s.Get("/v1/clicks/"+seen.String("click_id"))))

	tells := func(url string) apitest.Answer { // with as many characters as both addresses may have
		return s.Do("POST", "/t/c", "", M{"key": key.String("key"), "value": "ada", "url": url, "referrer": beyond[:16384]},
			"Origin", "https://shop.example", "User-Agent", apitest.Browser)
	}
	most := s.Must(201, tells(beyond[:16384]))
	require.Equal(t, page, s.Get("/v1/clicks/"+most.String("click_id")).String("landing_url"))
	s.Refused(400, "parameter_invalid", "url", tells(beyond[:16385]))

	stray := page + "#100%"
	require.Equal(t, stray, s.Click(program, "ada", M{"landing_url": stray}).String("landing_url"))
	s.Refused(400, "parameter_invalid", "landing_url", s.Post("/v1/clicks", item(M{"program_id": program, "landing_url": "https://%"})))
	for _, c := range []struct{ name, value string }{{"landing_url", beyond}, {"referrer", beyond}, {"referer", beyond}} {
		body := item(M{"program_id": program, c.name: c.value})
		if c.name == "referer" {
			delete(body, "referrer")
		}
		s.Refused(400, "parameter_invalid", c.name, s.Post("/v1/clicks", body))
	}
}

// TestCase15ShortLinksCarryParameters: field case 15 (a partner appends utm_source to a short
// link). Parameters appended to a short link reach the page, the click and the referral. Another
// partner's value or click does not.
func TestCase15ShortLinksCarryParameters(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"url_params": []string{"ref", "via"}})
	ada := s.Partner(program, M{"handle": "ada"})
	s.Partner(program, M{"handle": "bob"})
	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": ada, "destination_url": "https://shop.example/?plan=pro#/pricing",
	}))
	slug := link.String("short_slug")
	to := func(query string) string {
		return landed(s.Must(302, apitest.Follow(s, "GET", slug+"?"+query, "Referer", "https://b.example/")))
	}
	want := "https://shop.example/?plan=pro&ref=ada&utm_source=yt&x=1#/pricing"
	require.Equal(t, want, to("utm_source=yt&plan=free&ref=bob&VIA=bob&rail_click=clk_1&amp;via=bob&x=1"))
	click := s.Must(200, s.Get("/v1/clicks?program_id="+program)).Data()[0]
	require.Equal(t, []any{want, ada, "https://b.example/"}, []any{click["landing_url"], click["partner_id"], click["referer"]})
	referral := s.Must(200, s.Get("/v1/referrals/"+click["referral_id"].(string)))
	require.Equal(t, M{"utm_source": "yt"}, referral.Body["utm"])
	require.Equal(t, link.String("url"), to(""))

	// Bytes that headers and columns refuse stay escaped, and a long landing page is truncated.
	require.Equal(t, "https://shop.example/?plan=pro&ref=ada&q=%FF%00#/pricing", to("q=%FF%00"))
	long := "x=" + strings.Repeat("y", 3000)
	require.Equal(t, "https://shop.example/?plan=pro&ref=ada&"+long+"#/pricing", to(long))
	newest := s.Must(200, s.Get("/v1/clicks?program_id="+program)).Data()[0]
	require.Equal(t, "https://shop.example/?plan=pro&ref=ada", newest["landing_url"])

	s.Must(200, s.Post("/v1/partners/"+ada, M{"status": "suspended"}))
	require.Equal(t, "https://shop.example/?plan=pro&x=1#/pricing", to("ref=bob&x=1"), "the link of a suspended partner credits no other")
}

// TestCase20CouponsAsTyped: field case 20 (a coupon with an umlaut). A coupon is found by its code
// in either form of Unicode, with spaces around it and with invisible characters. A coupon with
// exactly this code comes first.
func TestCase20CouponsAsTyped(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ada, bob := s.Partner(program, M{"handle": "ada"}), s.Partner(program, M{"handle": "bob"})
	coupon := func(partner, code string) {
		s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "partner_id": partner, "code": code}))
	}
	coupon(ada, "CAF\u00c910")
	coupon(ada, "NOE\u0308L") // registered decomposed
	n := 0
	credited := func(code string) any {
		t.Helper()
		n++
		k := s.Must(201, s.Post("/v1/customers", M{
			"program_id": program, "coupon_code": code, "email": fmt.Sprintf("buyer%d@example.com", n),
		}))
		return k.Body["partner_id"]
	}
	for _, code := range []string{
		"CAF\u00c910", "caf\u00e910", "CAFE\u030110", "cafe\u030110", "CAF\u00c910 ", " CAFE\u030110\u00a0", "CAF\u00c9\u200b10", "\ufeffCAF\u00c910",
		"NOE\u0308L", "NO\u00cbL", "no\u00ebl ",
	} {
		require.Equal(t, ada, credited(code), "%q", code)
	}
	coupon(bob, "CAFE\u030110")
	require.Equal(t, bob, credited("cafe\u030110"), "another coupon of exactly this code")
	require.Equal(t, ada, credited("caf\u00e910"))
	s.Refused(404, "resource_not_found", "coupon_code",
		s.Post("/v1/customers", M{"program_id": program, "coupon_code": "CAFE10", "email": "x@example.com"}))
}
