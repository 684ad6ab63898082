package console_test

import (
	"bytes"
	"encoding/base64"
	"html"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/team"
)

// earns adds a partner with a name who has earned a fifth of some sales, and wants to be paid by a method.
func (s *fixture) earns(name, method string, sales ...int) (partner string, ids []string) {
	s.T.Helper()
	first, last, _ := strings.Cut(name, " ")
	partner = s.Partner(s.program, M{"first_name": first, "last_name": last})
	if method != "" {
		s.Must(200, s.Post("/v1/partners/"+partner, M{"payout_method": method}))
	}
	customer := s.Customer(s.program, partner)
	for _, amount := range sales {
		ids = append(ids, s.Sale(s.program, customer, M{"amount_minor": amount}).String("id"))
	}
	return partner, ids
}

// payoutOf is the latest payout of a partner.
func (s *fixture) payoutOf(partner string) apitest.Answer {
	s.T.Helper()
	return apitest.Answer{Body: s.Get("/v1/payouts?program_id=" + s.program + "&partner_id=" + partner).Data()[0]}
}

// upload sends a form with a file.
func (p *person) upload(path, field, content string) apitest.Answer {
	p.T.Helper()
	token := tokens.FindStringSubmatch(string(p.ask("GET", "/console/account", nil).Raw))[1]
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range map[string]string{"form_token": token, "once": apitest.Unique("once")} {
		require.NoError(p.T, w.WriteField(name, value))
	}
	part, err := w.CreateFormFile(field, "result.csv")
	require.NoError(p.T, err)
	_, err = part.Write([]byte(content))
	require.NoError(p.T, err)
	require.NoError(p.T, w.Close())
	return p.ask("POST", p.full(path), body.Bytes(), "Content-Type", w.FormDataContentType())
}

// TestPayoutRun: from the period to the provider's result, in four steps.
func TestPayoutRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	s.Must(200, s.Post("/v1/programs/"+s.program, M{"min_payout_minor": 500}))
	ada, _ := s.earns("Ada Lovelace", "paypal", 10000)
	grace, _ := s.earns("Grace Hopper", "paypal", 20000)
	small, _ := s.earns("Small Fry", "paypal", 100)
	p := s.person(s.Org, team.Finance)

	require.Contains(t, p.page("/payouts"), "No payouts yet")
	require.Contains(t, p.page("/payouts"), "60.00 USD is due up to today")
	preview := p.page("/payouts/run")
	require.Contains(t, preview, `value="2026-08-31"`, "the last day of the month before")
	require.Contains(t, preview, "60.00 USD is due up to today")
	require.Contains(t, preview, `href="`+s.at+`/payouts/run?period_end=2026-09-01">Use today`)
	require.NotContains(t, preview, "Create payout")
	plan := "?period_end=2026-09-01"
	payees := p.page("/payouts/run" + plan)
	for _, text := range []string{"Ada Lovelace", "20.00 USD", "Grace Hopper", "60.00 USD", "Below the minimum", "0.20 USD"} {
		require.Contains(t, payees, text)
	}
	require.NotContains(t, payees, "Small Fry", "on the part of those who are not paid")
	require.Contains(t, p.page("/payouts/run"+plan+"&outcome=not_eligible"), "Small Fry")
	require.NotContains(t, p.page("/payouts/run"+plan+"&ignore_minimum=on"), "Below the minimum")
	one := p.page("/payouts/run" + plan + "&partner=Grace")
	require.NotContains(t, one, "Ada Lovelace")
	require.Contains(t, p.page("/payouts/run"+plan), "60.00 USD")
	require.Empty(t, s.Get("/v1/payouts?program_id="+s.program).Data(), "nothing is made before the confirmation")

	answer := p.send("/payouts/run", "period_end", "2026-09-01")
	require.Contains(t, p.done(answer), "2 payouts are in the run of September 2026")
	run := answer.Header.Get("Location")
	require.Contains(t, p.page(run), "Grace Hopper")
	require.Contains(t, p.page("/payouts"), "September 2026")

	// A file that has everything is sent at once, a second one after a page with what to look at.
	csv := p.Must(200, p.send(run+"/export", "format", "paypal", "currency", "USD"))
	require.Equal(t, `attachment; filename="payouts-2026-09-paypal-usd.csv"`, csv.Header.Get("Content-Disposition"))
	require.Len(t, strings.Split(strings.TrimSpace(string(csv.Raw)), "\n"), 2)
	require.Equal(t, "processing", s.payoutOf(ada).String("status"))
	file := p.Must(200, p.send(run+"/export", "format", "paypal", "currency", "USD"))
	shown := html.UnescapeString(string(file.Raw))
	require.Contains(t, shown, "payouts-2026-09-paypal-usd.csv")
	require.Contains(t, shown, "60.00 USD")
	require.Contains(t, shown, "2 of them were in an earlier file already")
	again := p.Must(200, p.send(run+"/file", again(shown)...))
	require.Equal(t, csv.Raw, again.Raw)

	result := "Unique ID,Status,Transaction ID,Error\n" + s.payoutOf(ada).String("id") + ",Completed,9XY,\n" +
		s.payoutOf(grace).String("id") + ",Failed,,No such account.\nnobody,Completed,,\n"
	did := html.UnescapeString(string(p.Must(200, p.upload(run+"/results", "results", result)).Raw))
	require.Contains(t, did, "No such account.")
	require.Contains(t, did, "Its reference names no payout.")
	require.NotContains(t, did, "Payouts missing from the file")
	require.Equal(t, []string{"paid", "failed"}, []string{
		s.payoutOf(ada).String("status"), s.payoutOf(grace).String("status"),
	})
	p.says(400, "no heading line", p.upload(run+"/results", "results", "nothing"))
	p.says(400, "Choose a file first", p.upload(run+"/results", "results", ""))

	ask := html.UnescapeString(string(p.Must(200, p.send("/payouts/paid", "batch", s.payoutOf(grace).String("batch_id"), "id",
		s.payoutOf(grace).String("id"))).Raw))
	require.Contains(t, ask, "Mark 1 payout as paid?")
	require.Contains(t, ask, "Grace Hopper")
	require.Equal(t, "failed", s.payoutOf(grace).String("status"), "only the answer marks it")
	require.Contains(t, p.done(p.send("/payouts/mark", marking(ask, "external_id", "T-9")...)),
		"1 payout is marked as paid: 40.00 USD.")
	require.Equal(t, []string{"paid", "T-9"}, []string{
		s.payoutOf(grace).String("status"), s.payoutOf(grace).String("external_id"),
	})
	require.Equal(t, "not_eligible", s.payoutOf(small).String("status"))
	require.Contains(t, p.page("/payouts/all?status=paid"), "2 payouts")
	require.Contains(t, string(p.Must(200, p.ask("GET", p.full("/payouts/all.csv?status=paid"), nil)).Raw), ",Paid,")
}

// TestResultsOfFiles: field case 17, a result file in the characters of old Windows. It is read,
// and the page names the payouts that no row of it names.
func TestResultsOfFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ada, _ := s.earns("Ada Lovelace", "paypal", 10000)
	grace, _ := s.earns("Grace Hopper", "paypal", 20000)
	p := s.person(s.Org, team.Finance)
	run := p.send("/payouts/run", "period_end", "2026-09-01").Header.Get("Location")
	p.Must(200, p.send(run+"/export", "format", "paypal", "currency", "USD"))
	id := s.payoutOf(ada).String("id")
	p.says(400, "no column with the payouts' references", p.upload(run+"/results", "results", "Name,Status\n"+id+",paid\n"))
	windows := "payout_id;name;amount;status\r\n" + id + ";Zo\xeb;20,00;paid\r\n"
	did := html.UnescapeString(string(p.Must(200, p.upload(run+"/results", "results", windows)).Raw))
	require.Contains(t, did, "Payouts missing from the file")
	require.Regexp(t, s.payoutOf(grace).String("id")+`">Grace Hopper</a>: 40\.00`, did)
	require.NotContains(t, did, "Ada Lovelace")
	require.Equal(t, []string{"paid", "processing"}, []string{
		s.payoutOf(ada).String("status"), s.payoutOf(grace).String("status"),
	})
}

// again are the hidden fields of the form that a page has.
func again(page string) (fields []string) {
	for _, m := range regexp.MustCompile(`<input type="hidden" name="(format|currency|once)" value="([^"]*)">`).
		FindAllStringSubmatch(page, -1) {
		fields = append(fields, m[1], m[2])
	}
	return fields
}

// marking are the hidden fields of a form that asks whether payouts were paid, and others.
func marking(page string, more ...string) []string {
	page = page[strings.Index(page, "/payouts/mark"):]
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([a-z_]+)" value="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		if m[1] != "form_token" && m[1] != "once" {
			more = append(more, m[1], m[2])
		}
	}
	return more
}

// undoing is the form in the notice after a change, as send takes it: its path and its fields.
func (p *person) undoing(a apitest.Answer) (path string, fields []string) {
	p.T.Helper()
	p.Must(303, a)
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		stored, err := base64.RawURLEncoding.DecodeString(c.Value)
		if _, form, ok := strings.Cut(string(stored), "\x00"); err == nil && ok {
			path, query, _ := strings.Cut(form, "\x00")
			values, err := url.ParseQuery(query)
			require.NoError(p.T, err)
			for name, texts := range values {
				for _, text := range texts {
					fields = append(fields, name, text)
				}
			}
			return path, fields
		}
	}
	p.T.Fatal("the notice has no undo")
	return "", nil
}

// TestMarksOfOneMethod: a card's button marks exactly the payouts of its method and currency, and the notice undoes that.
// A selection that changed since the page was opened marks nothing.
func TestMarksOfOneMethod(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ada, sales := s.earns("Ada Lovelace", "paypal", 10000, 5000)
	grace, _ := s.earns("Grace Hopper", "wise", 20000)
	p := s.person(s.Org, team.Finance)
	run := p.send("/payouts/run", "period_end", "2026-09-01").Header.Get("Location")
	page := p.page(run)
	for _, text := range []string{"0 of 1 paid · 1 to pay", "Mark all as paid", "Cancel run", "0 of 2 paid", "No file yet"} {
		require.Contains(t, page, text)
	}
	card := run + "/paid?method=paypal&currency=USD"
	ask := p.page(card)
	require.Contains(t, ask, "30.00 USD")
	require.Contains(t, ask, "Ada Lovelace")
	require.NotContains(t, ask, "Grace Hopper")
	s.Must(200, s.Post("/v1/sales/"+sales[1]+"/refund", nil))
	p.says(409, "The payouts have changed since you opened the page.", p.send("/payouts/mark", marking(ask)...))
	early := marking(p.page(card), "paid_at", "2001-01-01")
	p.says(400, "The date is before the oldest sale of the payout", p.send("/payouts/mark", early...))
	require.Equal(t, "pending", s.payoutOf(ada).String("status"))

	answer := p.send("/payouts/mark", marking(p.page(card))...)
	require.Contains(t, p.done(answer), "1 payout is marked as paid: 20.00 USD.")
	require.Equal(t, []string{"paid", "pending"}, []string{s.payoutOf(ada).String("status"), s.payoutOf(grace).String("status")})
	paid := p.page(run + "?status=paid")
	require.Contains(t, paid, "Undo “paid”")
	require.NotContains(t, paid, ">Delete<")
	path, fields := p.undoing(answer)
	require.Contains(t, p.done(p.send(path, fields...)), "1 payout is no longer paid.")
	require.Equal(t, "pending", s.payoutOf(ada).String("status"))

	// Both are paid: nothing is left to cancel or to mark.
	p.done(p.send("/payouts/mark", marking(p.page(card))...))
	p.done(p.send("/payouts/mark", marking(p.page(run+"/paid?method=wise&currency=USD"))...))
	page = p.page(run)
	for _, text := range []string{"Cancel run", "Mark all as paid", "Download file", ">Delete<"} {
		require.NotContains(t, page, text)
	}
	require.Contains(t, page, "2 of 2 paid")
	require.Contains(t, page, "Paid without a file")
	require.Contains(t, p.done(p.send("/payouts/unpay", "batch", s.payoutOf(ada).String("batch_id"), "id",
		s.payoutOf(ada).String("id"))), "1 payout is no longer paid.")
	require.Equal(t, "pending", s.payoutOf(ada).String("status"))
	s.Clock.Advance(25 * time.Hour)
	p = s.person(s.Org, team.Finance)
	require.NotContains(t, p.page(run+"?status=paid"), "Undo “paid”")
}

// TestFailuresFirst: a run with failed payouts shows these first, with the reason, and the partner is emailed once.
// Partners who are not paid are shown with the reason and the method that they have.
func TestFailuresFirst(t *testing.T) {
	t.Parallel()
	base := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	s := newSiteOf(base, base.Program(M{"min_payout_minor": 500}))
	s.Flow(s.program)
	ada, _ := s.earns("Ada Lovelace", "paypal", 10000)
	s.earns("Grace Hopper", "paypal", 20000)
	s.earns("Small Fry", "wise", 100)
	p := s.person(s.Org, team.Finance)
	run := p.send("/payouts/run", "period_end", "2026-09-01").Header.Get("Location")
	require.NotContains(t, p.page(run), ">Failed")
	p.Must(200, p.send(run+"/export", "format", "paypal", "currency", "USD"))
	require.Contains(t, p.page(run), "2 partners for PayPal")
	id := s.payoutOf(ada).String("id")
	p.Must(200, p.upload(run+"/results", "results", "Unique ID,Status,Error\n"+id+",Failed,No such account.\n"))
	page := p.page(run)
	require.Contains(t, page, "No such account.")
	require.NotContains(t, page, "Grace Hopper")
	require.Contains(t, p.done(p.send("/payouts/"+id+"/email", "batch", s.payoutOf(ada).String("batch_id"))), "gets an email")
	require.NotContains(t, p.page(run), "Ask for new details")
	require.Contains(t, p.page(run), "Emailed")
	p.says(409, "was emailed about this failure", p.send("/payouts/"+id+"/email"))
	left := p.page(run + "?status=not_eligible")
	require.Contains(t, left, "0.20 USD is due; the minimum is 5.00 USD.")
	require.Regexp(t, `Small Fry</a></th><td data-label="Method">Wise`, left)
	require.NotContains(t, left, "data-tick")
}

// TestPayoutUndone: a run is undone as far as it can be, a payout by itself as well.
func TestPayoutUndone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ada, _ := s.earns("Ada Lovelace", "", 10000)
	grace, _ := s.earns("Grace Hopper", "", 20000)
	p := s.owner
	run := p.Must(303, p.send("/payouts/run", "period_end", "2026-09-01")).Header.Get("Location")
	id := s.payoutOf(ada).String("id")
	require.Contains(t, p.page("/payouts/"+id), "Payout to Ada Lovelace")
	require.Contains(t, p.done(p.send("/payouts/"+id+"/undo")), "due again")
	p.says(400, "Select at least one row", p.send("/payouts/delete"))
	id = s.payoutOf(grace).String("id")
	p.Must(200, p.send(run+"/export", "format", "csv", "currency", "USD"))
	refused := p.done(p.send("/payouts/delete", "id", id))
	require.Contains(t, refused, "0 payouts are deleted. 1 was refused: The payout was exported to a file")
	require.Contains(t, p.done(p.send("/payouts/"+id+"/fail", "reason", "It bounced.")), "has failed")
	require.Contains(t, p.page("/payouts/"+id), "It bounced.")
	p.says(400, "paid_at", p.send("/payouts/"+id+"/paid", "paid_at", "2020-01-01"))
	require.Contains(t, p.page(run+"/cancel"), "Cancel the run of September 2026")
	require.Contains(t, p.done(p.send(run+"/cancel")), "1 payout is deleted")
	require.Empty(t, s.Get("/v1/payouts?program_id="+s.program).Data())
	require.Contains(t, p.done(p.send("/payouts/run", "period_end", "2026-09-01")), "2 payouts are in the run")
	id = s.payoutOf(ada).String("id")
	require.Contains(t, p.done(p.send("/payouts/"+id+"/paid", "paid_at", "2026-09-01", "external_id", "T-1")), "is paid")
	require.Equal(t, "T-1", s.payoutOf(ada).String("external_id"))
	require.Contains(t, p.page("/payouts/"+id), "Undo “paid”")
	p.says(400, "reason", p.send("/payouts/"+id+"/unpay"))
	require.Contains(t, p.done(p.send("/payouts/"+id+"/unpay", "reason", "The wrong one.")), "The payout is no longer marked as paid")
	require.Equal(t, "pending", s.payoutOf(ada).String("status"))
	p.says(409, "only a payment can be undone", p.send("/payouts/"+id+"/unpay", "reason", "Again."))

	require.Contains(t, p.done(p.send("/payouts/"+id+"/paid", "paid_at", "2026-09-01")), "is paid")
	s.Clock.Advance(25 * time.Hour)
	p = s.person(s.Org, team.Finance)
	require.NotContains(t, p.page("/payouts/"+id), "Undo “paid”")
	s.Must(200, s.Post("/v1/partners/"+ada, M{"payout_method": "wise"}))
	s.Clock.Set(time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC))
	p = s.person(s.Org, team.Finance)
	s.Must(201, s.Post("/v1/commissions", M{"program_id": s.program, "partner_id": ada, "amount_minor": 500, "reason": "More."}))
	require.Contains(t, p.page("/payouts/run?period_end=2026-10-01"), "New payout details")
	run = p.Must(303, p.send("/payouts/run", "period_end", "2026-10-01")).Header.Get("Location")
	require.Contains(t, p.page(run), "New payout details")
	require.Contains(t, p.page("/payouts/"+s.payoutOf(ada).String("id")), "Check them before you pay")
}

// TestPayoutsOfRoles checks that all roles read payouts, and only owners and finance confirm them.
func TestPayoutsOfRoles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ada, _ := s.earns("Ada Lovelace", "", 10000)
	s.owner.says(400, "No partner found", s.owner.send("/payouts/run", "period_end", "2026-09-01", "partner", "Nobody"))
	s.owner.Must(303, s.owner.send("/payouts/run", "period_end", "2026-09-01"))
	s.Sale(s.program, s.Customer(s.program, ada), M{"amount_minor": 5000})
	y := s.payoutOf(ada)
	run := "/payouts/batches/" + y.String("batch_id")
	for _, role := range []team.Role{team.Manager, team.Viewer} {
		p := s.person(s.Org, role)
		require.Contains(t, p.page("/payouts/run?period_end=2026-09-01"), "Has a payout of this month already")
		require.NotContains(t, p.page(run), "Download table")
		require.NotContains(t, p.page("/payouts/"+y.String("id")), "Mark as paid")
		for _, path := range []string{
			"/payouts/run", run + "/export", run + "/cancel", "/payouts/" + y.String("id") + "/paid",
			"/payouts/" + y.String("id") + "/undo",
		} {
			p.says(403, "Your role cannot do this", p.send(path, "period_end", "2026-09-01", "format", "csv"))
		}
	}
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	for _, path := range []string{"/payouts", run, "/payouts/" + y.String("id"), "/payouts/run"} {
		stranger.Must(404, stranger.ask("GET", s.at+path, nil))
	}
	other := *s.owner
	other.fixture = &fixture{Server: s.Server, at: "/console/p/" + s.Program()}
	for _, path := range []string{run, "/payouts/" + y.String("id"), run + "/cancel"} {
		other.Must(404, other.ask("GET", other.full(path), nil))
	}
	other.Must(404, other.send(run+"/export", "format", "csv"))
	other.Must(404, other.send(run+"/cancel"))
	require.Equal(t, "pending", s.payoutOf(ada).String("status"))
}
