package portal_test

import (
	"encoding/csv"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestPartnerRates checks that the overview begins with the partner's rates, by the matching flow.
func TestPartnerRates(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"holding_period_days": 30, "min_payout_minor": 5000})
	gold := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "Gold"})).String("id")
	s.Flow(program)
	s.Must(201, s.Post("/v1/flows", M{
		"program_id": program, "name": "secret name", "trigger": "new_payment", "group_id": gold, "rate_type": "percent", "rate_value": 2500, "priority": 1,
		"branches": []M{
			{"rate_type": "fixed", "rate_value": 1234, "conditions": []M{{"field": "sale.is_first_sale", "operator": "eq", "value": true}, {"field": "partner.group_id", "operator": "eq", "value": gold}}},
		},
	}))
	plain, golden := s.Partner(program), s.Partner(program, M{"group_id": gold})
	require.Contains(t, unescape(signIn(s, plain).get("/portal")), "You earn 20 % of every payment.")
	b := signIn(s, golden)
	page := unescape(b.get("/portal"))
	require.Contains(t, page, "You earn 12.34 USD on a customer’s first payment, if your group is Gold.")
	require.Contains(t, page, "You earn 25 % on everything else.")
	require.Contains(t, page, "Commissions become payable 30 days after the sale.")
	require.NotContains(t, page, "secret name")
	german := unescape(string(b.ask("GET", "/portal", nil, "Accept-Language", "de").Raw))
	require.Contains(t, german, "Sie verdienen 12,34 USD bei der ersten Zahlung eines Kunden, wenn gilt: Ihre Gruppe ist Gold.")
}

// unescape is a page's text with its entities read.
func unescape(page string) string { return html.UnescapeString(page) }

// TestNextPayout: when it comes, how much it is, and how far it is to the minimum.
func TestNextPayout(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"min_payout_minor": 5000, "auto_payouts_enabled": true, "payout_methods": []string{"paypal"}})
	s.Flow(program)
	partner := s.Partner(program)
	b := signIn(s, partner)
	customer := s.Customer(program, partner)
	s.Sale(program, customer, M{"amount_minor": 10000})
	page := unescape(b.get("/portal"))
	require.Contains(t, page, "20.00 USD of 50.00 USD minimum payout.")
	require.Contains(t, page, "30.00 USD to go.")
	require.Contains(t, page, `<progress max="5000" value="2000"`)
	s.Sale(program, customer, M{"amount_minor": 20000})
	page = unescape(b.get("/portal"))
	require.Contains(t, page, "About 60.00 USD, planned for "+monthEnd(s.Clock.Now().Time).AddDate(0, 0, 30).Format("2 Jan 2006"))
	require.Contains(t, page, "No payout method")
	s.Must(200, s.Post("/v1/partners/"+partner, M{"payout_method": "paypal", "payout_details": M{"email": "ada@example.com"}}))
	require.Contains(t, unescape(b.get("/portal")), "New sales and refunds may still change it.")
	batch := s.Must(201, s.Post("/v1/payout_batches", M{"program_id": program, "period_end": s.Clock.Now().Format(time.DateOnly)}))
	require.Contains(t, unescape(b.get("/portal")), "60.00 USD is scheduled for ")
	s.Must(200, s.Post("/v1/payout_batches/"+batch.String("id")+"/export", M{"format": "paypal"}))
	require.Contains(t, unescape(b.get("/portal")), "60.00 USD is on its way.")
	id := s.Must(200, s.Get("/v1/payouts?program_id="+program)).Data()[0]["id"].(string)
	for attention, text := range map[string]string{"unclaimed": "was sent, but not claimed yet", "on_hold": "is reviewing it"} {
		_, err := s.Pool.Exec(t.Context(), `UPDATE payouts SET attention = $2, attention_text = 'x', attention_at = now()
			WHERE id = $1`, id, attention)
		require.NoError(t, err)
		require.Contains(t, unescape(b.get("/portal")), text)
	}
	s.Must(200, s.Post("/v1/payouts/"+id+"/mark_failed", M{"reason": "The account was not found."}))
	page = unescape(b.get("/portal"))
	require.Contains(t, page, "Your payout of 60.00 USD could not be paid.</strong> The account was not found.")
	require.NotContains(t, page, "is scheduled for")
	s.Sale(program, customer, M{"amount_minor": 50000})
	s.Clock.Advance(40 * 24 * time.Hour)
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": program, "period_end": s.Clock.Now().Format(time.DateOnly)}))
	b = signIn(s, partner)
	page = unescape(b.get("/portal"))
	require.Contains(t, page, "Your payout of 60.00 USD could not be paid.", "a later payout does not contain it")
	require.Contains(t, page, "100.00 USD is scheduled for")
	s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", M{}))
	require.NotContains(t, unescape(b.get("/portal")), "could not be paid")
}

// TestDaysOfTheProgram: the portal shows, filters and files days of the program's time
// zone, and its next payout is of the month there.
func TestDaysOfTheProgram(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Clock.Set(time.Date(2026, 10, 31, 21, 30, 0, 0, time.UTC)) // 1 Nov 08:30 in Sydney
	program := s.Program(M{
		"auto_payouts_enabled": true, "payout_methods": []string{"paypal"}, "time_zone": "Australia/Sydney",
	})
	s.Flow(program)
	partner := s.Partner(program)
	s.Must(200, s.Post("/v1/partners/"+partner, M{"payout_method": "paypal", "payout_details": M{"email": "ada@example.com"}}))
	s.Sale(program, s.Customer(program, partner), M{"amount_minor": 10000})
	b := signIn(s, partner)
	home := unescape(b.get("/portal"))
	require.Contains(t, home, "<title>November 2026 · Earnings: 20.00 USD</title>")
	require.Contains(t, home, "About 20.00 USD, planned for 30 Dec 2026")
	require.Contains(t, home, "Dates are in Australia/Sydney")
	require.Contains(t, b.get("/portal/commissions?from=2026-11-01"), ">1 Nov 2026</time>")
	require.NotContains(t, b.get("/portal/commissions?to=2026-10-31"), ">1 Nov 2026</time>")
	require.Contains(t, b.get("/portal/commissions.csv?from=2026-11-01&to=2026-11-01"), "\n2026-11-01,")
	s.Must(200, s.Post("/v1/programs/"+program, M{"time_zone": "America/Los_Angeles"}))
	require.Contains(t, b.get("/portal/commissions"), ">31 Oct 2026</time>")
	require.Contains(t, unescape(b.get("/portal")), "<title>October 2026 · Earnings: 20.00 USD</title>")
}

// monthEnd is the last day of a month.
func monthEnd(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month()+1, 0, 0, 0, 0, 0, time.UTC)
}

// TestNumbersAgree checks that the chart, the list of commissions, its CSV and the payouts agree on the same days,
// also for sales of other months and clawbacks.
func TestNumbersAgree(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	partner := s.Partner(program)
	s.Must(200, s.Post("/v1/partners/"+partner, M{"payout_method": "paypal", "payout_details": M{"email": "ada@example.com"}}))
	customer := s.Customer(program, partner, M{"email": "zoe@secret.example"})
	for i, day := range []string{"2026-06-03", "2026-06-30", "2026-07-01"} {
		s.Sale(program, customer, M{"amount_minor": 10000 * (i + 1), "occurred_at": day + "T10:00:00Z"})
	}
	gone := s.Sale(program, customer, M{"amount_minor": 99900, "occurred_at": "2026-06-04T10:00:00Z"}).String("id")
	s.Must(200, s.Post("/v1/sales/"+gone+"/refund", M{}))
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": program, "period_end": s.Clock.Now().Format(time.DateOnly)}))
	b := signIn(s, partner)
	chart := b.get("/portal")
	require.Contains(t, chart, "<title>June 2026 · Earnings: 60.00 USD</title>")
	require.Contains(t, chart, "<title>July 2026 · Earnings: 60.00 USD</title>")
	june := b.get("/portal/commissions?from=2026-06-01&to=2026-06-30")
	require.Contains(t, june, "3 commissions: 60.00 USD")
	require.Contains(t, june, "20 % of 100.00 USD")
	require.Contains(t, june, "z•••")
	require.Contains(t, june, "The sale was refunded")
	require.Contains(t, june, "3 Jun 2026")
	require.NotContains(t, june, "1 Jul 2026")
	rows, err := csv.NewReader(strings.NewReader(b.get("/portal/commissions.csv?from=2026-06-01&to=2026-06-30&status=due"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, []string{"2026-06-30", "z•••", "200.00", "USD", "20 % of 200.00 USD"}, rows[1][:5])
	require.Equal(t, []string{"due", "is in the payout of " + s.Clock.Now().AddDate(0, 0, 30).Format("2 Jan 2006"), "40.00", "USD"}, rows[1][6:10])
	payout := s.Get("/v1/payouts?program_id=" + program).Data()[0]
	require.Equal(t, "12000", fmt.Sprint(payout["amount_minor"]))
	id := payout["id"].(string)
	require.Contains(t, b.get("/portal/payouts"), "/portal/payout?id="+id)
	for _, path := range []string{"/portal/payout?id=", "/portal/payout/statement?id="} {
		require.Contains(t, b.get(path+id), "3 commissions: 120.00 USD")
	}
	rows, err = csv.NewReader(strings.NewReader(b.get("/portal/payout/commissions.csv?id=" + id))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 4)
	pdf := b.ask("GET", "/portal/payout/statement.pdf?id="+id, nil)
	require.Equal(t, "application/pdf", s.Must(200, pdf).Header.Get("Content-Type"))
	require.True(t, strings.HasPrefix(string(pdf.Raw), "%PDF-"))
	require.Less(t, len(pdf.Raw), 200_000)
	b.moved("/portal/payout/statement?id="+id, b.ask("GET", "/portal/payout/statement.pdf?id="+id, nil, "Accept-Language", "ja"))
	require.Contains(t, string(b.ask("GET", "/portal/payout?id="+id, nil, "Accept-Language", "ja").Raw), "印刷するか")
	require.Contains(t, b.get("/portal/commissions?from=soon"), "Enter a valid date.")
}

// TestCommissionPages walks the commissions there and back by the day of their sale.
func TestCommissionPages(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	partner := s.Partner(program)
	customer := s.Customer(program, partner)
	for i := range 30 {
		s.Sale(program, customer, M{"amount_minor": 1000 * (i + 1), "occurred_at": time.Date(2026, 5, 1+(i*7)%30, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)})
	}
	b := signIn(s, partner)
	days := regexp.MustCompile(`<time datetime="(2026-05-\d\d)T`)
	read := func(path string) (out []string, page string) {
		page = b.get(path)
		for _, m := range days.FindAllStringSubmatch(page, -1) {
			out = append(out, m[1])
		}
		return out, page
	}
	first, page := read("/portal/commissions")
	require.Len(t, first, 25)
	older := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(page)
	require.NotNil(t, older)
	rest, page := read(html.UnescapeString(older[1]))
	require.Equal(t, []string{"2026-05-05", "2026-05-04", "2026-05-03", "2026-05-02", "2026-05-01"}, rest)
	newer := regexp.MustCompile(`rel="prev" href="([^"]+)"`).FindStringSubmatch(page)
	require.NotNil(t, newer)
	again, _ := read(html.UnescapeString(newer[1]))
	require.Equal(t, first, again)
}

// TestChartChoices: the chart is of what its links ask for.
func TestChartChoices(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	p := s.PartnerObject(program, M{"handle": "ada"})
	s.Must(201, s.Post("/v1/links", M{"program_id": program, "partner_id": p.String("id"), "destination_url": "https://shop.example/a", "value": "spring", "label": "Spring"}))
	click := s.Click(program, "spring", M{"landing_url": "https://shop.example/?ref=spring&utm_source=Blog%3Cb%3E"})
	other := s.Partner(program, M{"handle": "bob"})
	s.Click(program, "bob", M{"landing_url": "https://shop.example/?ref=bob&utm_source=secret"})
	s.Click(program, "ada")
	customer := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")})).String("id")
	s.Sale(program, customer, M{"amount_minor": 50_000, "currency": "JPY"})
	b := signIn(s, p.String("id"))
	today := s.Clock.Now()
	for query, want := range map[string]string{
		"?currency=JPY":                         "<title>" + today.Format("January 2006") + " · Earnings: 10,000 JPY</title>",
		"?show=clicks&range=month":              "<title>" + today.Format("2 Jan 2006") + " · Clicks: 2</title>",
		"?show=customers&range=all":             "<title>" + today.Format("January 2006") + " · Customers: 1</title>",
		"?show=nonsense&range=x&currency=EUR":   `aria-current="page">Earnings`,
		"?range=month&currency=JPY&show=clicks": "currency=JPY&amp;range=all&amp;show=clicks#chart",
	} {
		require.Contains(t, b.get("/portal"+query), want, query)
	}
	page := b.get("/portal?currency=JPY")
	require.Regexp(t, `(?s)By link.*Spring.*10,000 JPY`, page)
	require.Regexp(t, `(?s)By source.*blog(&lt;|<)b(&gt;|>).*10,000 JPY.*No source`, page)
	require.NotContains(t, page, "secret", "another partner's source")
	require.NotContains(t, signIn(s, other).get("/portal"), "blog")
}

// TestMoneyOfAnother: another partner's payouts, statements, tables and links are absent.
func TestMoneyOfAnother(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	owner, stranger := s.Partner(program), s.Partner(program)
	s.Must(200, s.Post("/v1/partners/"+owner, M{"payout_method": "paypal"}))
	s.Sale(program, s.Customer(program, owner), M{"amount_minor": 90000})
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": program, "period_end": s.Clock.Now().Format(time.DateOnly)}))
	payout := s.Get("/v1/payouts?program_id=" + program).Data()[0]["id"].(string)
	commission := s.Get("/v1/commissions?program_id=" + program).Data()[0]["id"].(string)
	link := s.Must(201, s.Post("/v1/links", M{"program_id": program, "partner_id": owner, "destination_url": "https://shop.example/a"})).String("id")
	here, there := signIn(s, owner), signIn(s, stranger)
	for _, path := range []string{
		"/portal/payout?id=" + payout, "/portal/payout/statement?id=" + payout, "/portal/payout/statement.pdf?id=" + payout,
		"/portal/payout/commissions.csv?id=" + payout, "/portal/qr.svg?link=" + link, "/portal/qr.png?link=" + link,
		"/portal/commissions?after=" + commission,
	} {
		s.Must(200, here.ask("GET", path, nil))
		at, err := url.Parse(path)
		require.NoError(t, err)
		s.Must(404, there.ask("GET", path, nil))
		s.Must(404, here.ask("GET", at.Path+"?"+strings.SplitN(at.RawQuery, "=", 2)[0]+"=none", nil))
	}
	require.Equal(t, "\x89PNG", string(here.ask("GET", "/portal/qr.png?link=own", nil).Raw[:4]))
	require.NotContains(t, there.get("/portal/commissions.csv"), "180.00")
}
