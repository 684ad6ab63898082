package portal_test

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

const hostile = `<script>alert("x")</script>'"&`

// TestPagesShowOwnRowsOnly: nothing of another partner, program or organization,
// nothing that shows who a customer is, and nothing as markup.
func TestPagesShowOwnRowsOnly(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"name": "Shop " + hostile, "url_params": []string{"via"}})
	s.Flow(program)
	earn := func(program, name string) string {
		p := s.PartnerObject(program, M{"first_name": name + hostile, "handle": name})
		id := p.String("id")
		s.Must(201, s.Post("/v1/links", M{"program_id": program, "partner_id": id, "destination_url": "https://shop.example/" + name, "value": name + "-own", "label": name + "-label" + hostile}))
		click := s.Click(program, name, M{"referrer": "https://" + name + ".example/", "user_agent": hostile, "device": hostile})
		customer := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id"), "email": "z-" + name + "@secret.example", "name": "Zoe Z. " + hostile})).String("id")
		s.Sale(program, customer, M{"amount_minor": 123400 + len(name)})
		s.Must(201, s.Post("/v1/webhook_endpoints", M{"program_id": program, "partner_id": id, "url": "https://hooks.example/" + name}))
		return id
	}
	ada := earn(program, "ada")
	earn(program, "bruno")
	other := s.Program()
	s.Flow(other)
	earn(other, "carolina")
	b := signIn(s, ada)
	seen := ""
	for _, path := range paths {
		page := b.get(path)
		require.NotContains(t, page, "<script>alert", path)
		require.NotRegexp(t, `bruno|carolina|secret\.example|Zoe Z\.|customer_id=|cus_\w{26}`, page, path)
		seen += page
	}
	for _, own := range []string{"https://shop.example/?via=ada", "https://shop.example/ada?via=ada-own", "ada-label&lt;script&gt;", "ada.example", "z•••", "246.81 USD", "https://hooks.example/ada", "Shop &lt;script&gt;"} {
		require.Contains(t, seen, own)
	}
	foreign := s.Must(200, s.Get("/v1/webhook_endpoints?program_id="+program)).Data()
	for _, e := range foreign {
		if e["partner_id"] != ada {
			s.Must(404, b.ask("GET", "/portal/postback?id="+e["id"].(string), nil))
		}
	}
	for _, path := range []string{"customers", "commissions", "payouts", "links"} {
		for _, cursor := range []string{"cus_none", "%00", "%ff", "a'b", s.Must(200, s.Get("/v1/customers?program_id="+other)).Data()[0]["id"].(string)} {
			s.Must(404, b.ask("GET", "/portal/"+path+"?after="+cursor, nil))
		}
	}
}

// TestListPages walks a list there and back.
func TestListPages(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	for i := range 60 {
		s.Clock.Advance(time.Minute)
		s.Customer(program, partner, M{"name": fmt.Sprintf("%c x", 'A'+i)})
	}
	b := signIn(s, partner)
	row := regexp.MustCompile(`class="customer">(.)•••`)
	next, back := regexp.MustCompile(`rel="next" href="([^"]+)"`), regexp.MustCompile(`rel="prev" href="([^"]+)"`)
	read := func(path string) (rows, older, newer string) {
		page := b.get(path)
		for _, m := range row.FindAllStringSubmatch(page, -1) {
			rows += m[1]
		}
		for to, link := range map[*string]*regexp.Regexp{&older: next, &newer: back} {
			if m := link.FindStringSubmatch(page); m != nil {
				*to = m[1]
			}
		}
		return rows, older, newer
	}
	one, older, newer := read("/portal/customers")
	require.Len(t, one, 25)
	require.Empty(t, newer)
	two, older, newer := read(older)
	require.Len(t, two, 25)
	require.NotEmpty(t, newer)
	three, older, newer := read(older)
	require.Empty(t, older)
	want := ""
	for i := range 60 {
		want = string(rune('A'+i)) + want
	}
	require.Equal(t, want, one+two+three)
	again, _, newer := read(newer)
	require.Equal(t, two, again)
	first, older, newer := read(newer)
	require.Equal(t, one, first)
	require.Empty(t, newer)
	require.NotEmpty(t, older)
}

func TestOverviewAndPayouts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	partner := s.Partner(program)
	s.Must(200, s.Post("/v1/partners/"+partner, M{"payout_method": "paypal"}))
	empty := signIn(s, partner).get("/portal")
	require.Contains(t, empty, "Nothing earned yet")
	require.Contains(t, empty, "No data for this period")
	customer := s.Customer(program, partner)
	s.Sale(program, customer, M{"amount_minor": 1_000_000})
	s.Sale(program, customer, M{"amount_minor": 50_000, "currency": "JPY"})
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": program, "period_end": "2026-09-01"}))
	for _, p := range s.Must(200, s.Get("/v1/payouts?program_id="+program)).Data() {
		if p["currency"] == "USD" {
			s.Must(200, s.Post("/v1/payouts/"+p["id"].(string)+"/mark_paid", M{"external_id": "ref-77"}))
		}
	}
	s.Sale(program, customer, M{"amount_minor": 4999})
	b := signIn(s, partner)
	home := b.get("/portal")
	for _, text := range []string{"2,000.00 USD", "10.00 USD", "10,000 JPY", "<title>September 2026 · Earnings: 2,010.00 USD</title>", "<title>October 2025 · Earnings: 0.00 USD</title>", "You", "All times are in UTC"} {
		require.Contains(t, home, text)
	}
	require.Less(t, strings.Index(home, "2,000.00 USD"), strings.Index(home, "10,000 JPY"), "the program's currency comes first")
	list := b.get("/portal/payouts")
	for _, text := range []string{"ref-77", "PayPal", "paid 1 Sep 2026", "due 1 Oct 2026", "2,000.00 USD", "10,000 JPY"} {
		require.Contains(t, list, text)
	}
}

func TestResourcesAreForTheirPartners(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "VIP", "landing_url": "https://shop.example/vip"})).String("id")
	tag := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "Video"})).String("id")
	add := func(title string, more M) {
		body := M{"program_id": program, "title": title, "url": "https://files.example/" + title, "published": true}
		maps.Copy(body, more)
		s.Must(201, s.Post("/v1/resources", body))
	}
	add("everybody", nil)
	add("draft", M{"published": false})
	add("vips", M{"group_ids": []string{group}, "folder": "Banners"})
	add("tagged", M{"tag_ids": []string{tag}})
	add("both", M{"group_ids": []string{group}, "tag_ids": []string{tag}})
	shelf := func(change M) (out []string) {
		p := s.Partner(program)
		s.Must(200, s.Post("/v1/partners/"+p, change))
		for _, m := range regexp.MustCompile(`href="https://files\.example/(\w+)"`).FindAllStringSubmatch(signIn(s, p).get("/portal/resources"), -1) {
			out = append(out, m[1])
		}
		return out
	}
	require.ElementsMatch(t, []string{"everybody"}, shelf(M{"first_name": "x"}))
	require.ElementsMatch(t, []string{"everybody"}, shelf(M{"group_id": nil}))
	require.ElementsMatch(t, []string{"everybody", "vips"}, shelf(M{"group_id": group}))
	require.ElementsMatch(t, []string{"everybody", "tagged"}, shelf(M{"tag_ids": []string{tag}}))
	require.ElementsMatch(t, []string{"everybody", "vips", "tagged", "both"}, shelf(M{"group_id": group, "tag_ids": []string{tag}}))
	vip := s.Partner(program, M{"group_id": group, "handle": "vip-one"})
	require.Contains(t, signIn(s, vip).get("/portal"), "https://shop.example/vip?ref=vip-one")
}

// TestPagesAreSmall: with as much as a page shows, each stays below 40 kB, in the language of
// the longest letters.
func TestPagesAreSmall(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	partner := s.Partner(program)
	customer := s.Customer(program, partner)
	for i := range 30 {
		s.Sale(program, customer, M{"amount_minor": 100_000 + i})
		s.Must(201, s.Post("/v1/links", M{"program_id": program, "partner_id": partner, "destination_url": fmt.Sprintf("https://shop.example/a-page-with-a-long-name/%d", i), "label": "A link with a name"}))
	}
	s.Must(200, s.Post("/v1/partners/"+partner, M{"payout_method": "paypal"}))
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": program, "period_end": "2026-09-01"}))
	b := signIn(s, partner)
	for _, path := range append(paths, "/portal?range=all", "/portal?range=month", "/portal/payout?id="+payoutOf(s, partner)) {
		for _, language := range []string{"en", "ja"} {
			page := s.Must(200, b.ask("GET", path, nil, "Accept-Language", language))
			require.Less(t, len(page.Raw), 40_000, "%s in %s", path, language)
		}
	}
}
