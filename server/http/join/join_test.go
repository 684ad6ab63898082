package join_test

import (
	"fmt"
	"html"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// M is a JSON object.
type M = apitest.M

// site is a server that takes mails, with a program whose join page asks two questions.
type site struct {
	*apitest.Server
	program, at string
}

func newSite(t *testing.T, change ...func(*config.Config)) *site {
	t.Helper()
	s := apitest.New(t, func(c *config.Config) {
		c.SMTPURL = "dir:" + t.TempDir()
		for _, more := range change {
			more(c)
		}
	})
	program := s.Program(M{"name": "Northwind", "terms_url": "https://shop.example/terms", "blocked_countries": []string{"FR"}})
	s.Flow(program)
	out := &site{s, program, "/join/" + program}
	out.set(M{"introduction": "Tell <your> readers.\n\nEarn with each order.", "accent_color": "#0a7d55", "questions": []M{
		{"key": "audience", "label": "Who reads you?", "type": "text", "required": true},
		{"key": "size", "label": "How many?", "type": "number"},
		{"key": "kind", "label": "Which kind?", "type": "choice", "options": []string{"Blog", "Shop"}},
		{"key": "page", "label": "Your best page", "type": "address"},
	}})
	return out
}

// set changes the portal settings of the program.
func (s *site) set(body M) { s.Must(200, s.Post("/v1/programs/"+s.program+"/portal", body)) }

// get requests a page like a browser.
func (s *site) get(path string, headers ...string) apitest.Answer {
	s.T.Helper()
	return s.Do("GET", path, "", nil, headers...)
}

var hidden = regexp.MustCompile(`name="(form_token|shown)" value="([^"]*)"`)

// filled is the form as a person fills it in, three seconds after it was shown.
func (s *site) filled(path, email string, more ...map[string]string) url.Values {
	s.T.Helper()
	form := url.Values{
		"email": {email}, "first_name": {"Ada"}, "country_code": {"DE"}, "website_url": {"ada.example/about"}, "terms": {"on"},
		"answer_audience": {"Readers\r\nof mine"}, "answer_size": {"4000"}, "answer_kind": {"Blog"}, "answer_page": {"ada.example/best"},
	}
	for _, found := range hidden.FindAllStringSubmatch(string(s.Must(200, s.get(path)).Raw), -1) {
		form.Set(found[1], html.UnescapeString(found[2]))
	}
	for _, m := range more {
		for k, v := range m {
			form.Set(k, v)
		}
	}
	s.Clock.Advance(3 * time.Second)
	return form
}

// send sends a form.
func (s *site) send(path string, form url.Values, headers ...string) apitest.Answer {
	s.T.Helper()
	return s.Do("POST", path, "", form.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
}

// applies fills in the form and sends it.
func (s *site) applies(email string, more ...map[string]string) apitest.Answer {
	s.T.Helper()
	return s.send(s.at, s.filled(s.at, email, more...))
}

// press sends the only form of a page.
func (s *site) press(path string) apitest.Answer {
	s.T.Helper()
	page := string(s.Must(200, s.get(path)).Raw)
	action := regexp.MustCompile(`<form method="post" action="([^"]+)"`).FindStringSubmatch(page)
	token := hidden.FindStringSubmatch(page)
	require.True(s.T, len(action) == 2 && len(token) == 3, page)
	return s.send(action[1], url.Values{"form_token": {token[2]}})
}

// says fails the test unless the answer is a page with that status and text.
func (s *site) says(status int, text string, a apitest.Answer) {
	s.T.Helper()
	require.Contains(s.T, html.UnescapeString(string(s.Must(status, a).Raw)), text)
}

var mailed = regexp.MustCompile(`rail://(/join/confirm/\S+)`)

// mails are the purposes of the mails to an address, and the paths of their links.
func (s *site) mails(email string) (purposes, paths []string) {
	s.T.Helper()
	rows, err := s.Pool.Query(s.T.Context(), "SELECT purpose, plain FROM mails WHERE recipient = $1 ORDER BY created_at, id", email)
	require.NoError(s.T, err)
	defer rows.Close()
	for rows.Next() {
		var purpose, text string
		require.NoError(s.T, rows.Scan(&purpose, &text))
		purposes = append(purposes, purpose)
		if found := mailed.FindStringSubmatch(text); found != nil {
			paths = append(paths, found[1])
		}
	}
	return purposes, paths
}

// application is the only one of the program.
func (s *site) application() M {
	s.T.Helper()
	all := s.Must(200, s.Get("/v1/applications?expand=partner&program_id="+s.program)).Data()
	require.Len(s.T, all, 1)
	return all[0]
}

// confirmed applies and confirms, and returns the path of the status page.
func (s *site) confirmed(email string) string {
	s.T.Helper()
	s.Must(303, s.applies(email))
	_, paths := s.mails(email)
	require.NotEmpty(s.T, paths)
	return s.Must(303, s.press(paths[len(paths)-1])).Header.Get("Location")
}

// An applicant applies, confirms with the mailed link, waits, and sees the decision.
func TestApply(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.Must(200, s.get(s.at))
	require.Less(t, len(page.Raw), 40_000)
	for _, text := range []string{
		"Join the Northwind partner program", "Tell <your> readers.", "Earn with each order.", "Who reads you?",
		"You earn 20 % of every payment.", "within 30 days of a click", "Payouts are sent 30 days",
		`/look/` + s.program + `/`, "https://shop.example/terms", "Germany",
	} {
		s.says(200, text, page)
	}
	require.Equal(t, s.at+"?sent", s.Must(303, s.applies("ada@example.com")).Header.Get("Location"))
	s.says(200, "Check your inbox", s.get(s.at+"?sent"))
	require.Empty(t, s.Get("/v1/applications?program_id="+s.program).Data(), "nobody has confirmed it")
	_, paths := s.mails("ada@example.com")
	require.Len(t, paths, 1)
	for range 2 {
		s.says(200, "You are applying to Northwind as ada@example.com.", s.get(paths[0]))
	}
	require.Empty(t, s.Get("/v1/applications?program_id="+s.program).Data(), "who looks confirms nothing")
	status := s.Must(303, s.press(paths[0])).Header.Get("Location")
	require.Equal(t, strings.Replace(paths[0], "confirm", "status", 1), status)
	a := s.application()
	require.Equal(t, []any{"portal", "pending", "ada@example.com"}, []any{a["source"], a["status"], a["email"]})
	answers := a["answers"].(M)
	require.Equal(t, "4000", fmt.Sprint(answers["size"]))
	delete(answers, "size")
	require.Equal(t, M{"audience": "Readers of mine", "kind": "Blog", "page": "https://ada.example/best"}, answers)
	p := a["partner"].(M)
	require.Equal(t, []any{"Ada", "DE", "https://ada.example/about", "en", "2026-09-01T12:00:03.000Z"}, []any{
		p["first_name"], p["country_code"], p["website_url"], p["language_code"], p["terms_accepted_at"],
	})
	require.Equal(t, []string{"affiliate.created", "application.submitted"}, s.EventTypes(s.program))

	s.says(200, "Application received.", s.get(status))
	require.Equal(t, status, s.Must(303, s.get(paths[0])).Header.Get("Location"), "it is confirmed once")
	s.Must(200, s.Post("/v1/applications/"+a["id"].(string)+"/reject", M{"reason": "Too <small>."}))
	s.says(200, "Too <small>.", s.get(status))
	// A declined applicant may apply again, and withdraw.
	again := s.confirmed("ada@example.com")
	require.Equal(t, again, s.Must(303, s.press(again)).Header.Get("Location"))
	s.says(200, "You have withdrawn your application.", s.get(again))
	s.Clock.Advance(100 * 24 * time.Hour)
	s.says(410, "This link no longer works", s.get(again))
}

// An applicant who matches the program's rule is approved at once, by the rule's name.
func TestApprovedByRule(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.set(M{"auto_approve": M{"countries": []string{"DE"}, "email_domains": []string{"Example.com"}}})
	s.says(200, "You’re now a partner", s.get(s.confirmed("ada@example.com")))
	a := s.application()
	require.Equal(t, []any{"approved", nil}, []any{a["status"], a["reviewed_by_user_id"]})
	require.Equal(t, []string{"affiliate.created", "application.submitted", "application.approved", "affiliate.confirmed"},
		s.EventTypes(s.program))
	entry := s.Must(200, s.Get("/v1/audit_log_entries?target_id="+a["id"].(string)+"&program_id="+s.program)).Data()[0]
	require.Equal(t, []any{"job", "join rule"}, []any{entry["actor_type"], entry["actor_id"]})
	other := s.confirmed("bob@other.example")
	s.says(200, "Application received.", s.get(other))
}

// The answer is the same whether an address is a partner's or not; what differs is in the mail.
func TestSameAnswerForPartners(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Partner(s.program, M{"email": "Known@example.com"})
	s.Partner(s.program, M{"email": "waits@example.com", "status": "pending"})
	for email, purpose := range map[string]string{
		"known@example.com": "join_known", "waits@example.com": "join_waiting", "new@example.com": "join_confirm",
	} {
		a := s.Must(303, s.applies(email))
		require.Equal(t, []string{s.at + "?sent", ""}, []string{a.Header.Get("Location"), string(a.Raw)})
		purposes, _ := s.mails(map[bool]string{true: "Known@example.com", false: email}[purpose == "join_known"])
		require.Contains(t, purposes, purpose)
	}
}

// Missing and invalid values have faults beside their fields, in the reader's language, and the typed values stay.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for field, c := range map[string]struct{ value, says string }{
		"email": {"nobody", "E-Mail"}, "first_name": {"", "Bitte füllen Sie das aus."}, "country_code": {"FR", "Frankreich."},
		"answer_audience": {"", "Bitte füllen Sie das aus."}, "answer_size": {"many", "Das muss eine ganze Zahl sein."},
		"answer_kind": {"Zoo", "Das muss eine der angebotenen Antworten sein."},
		"answer_page": {"mailto://", "Das muss die Adresse einer Seite sein."},
		"last_name":   {"pyt_01kb2m4q8e7v9t3n5x6c0d1f2g", "Die ID einer Auszahlung (pyt_…) ist hier nicht erlaubt."},
	} {
		form := s.filled(s.at, "ada@example.com", map[string]string{field: c.value})
		a := s.send(s.at, form, "Accept-Language", "de")
		s.says(422, c.says, a)
		s.says(422, `value="https`, s.send(s.at, s.filled(s.at, "ada@example.com", map[string]string{
			field: c.value, "website_url": "https://ada.example",
		}), "Accept-Language", "de"))
	}
	form := s.filled(s.at, "ada@example.com")
	form.Del("terms")
	s.says(422, "You must agree to the terms.", s.send(s.at, form))
	purposes, _ := s.mails("ada@example.com")
	require.Empty(t, purposes)
}

// Bots get the same response as people, without effect: they filled in the hidden field, or sent the form too soon, too
// late or with a forged time.
func TestBots(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.Equal(t, s.at+"?sent", s.Must(303, s.applies("ada@example.com", map[string]string{"contact_name": "x"})).Header.Get("Location"))
	form := s.filled(s.at, "ada@example.com")
	s.Clock.Advance(-2 * time.Second)
	s.says(422, "Please check your answers", s.send(s.at, form))
	s.Clock.Advance(time.Hour)
	other := maps.Clone(form)
	other.Set("shown", "1.00000000000000000000000000000000")
	s.says(422, "Please check your answers", s.send(s.at, other))
	s.Must(403, s.send(s.at, form, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"))
	purposes, _ := s.mails("ada@example.com")
	require.Empty(t, purposes)
	s.Must(303, s.send(s.at, form))
	form = s.filled(s.at, "bob@example.com")
	s.Clock.Advance(25 * time.Hour)
	s.says(422, "Please check your answers", s.send(s.at, form))
}

// An address gets three mails a day, and ten applications come from one place an hour.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 5 {
		s.Must(303, s.applies("ada@example.com"))
	}
	purposes, _ := s.mails("ada@example.com")
	require.Len(t, purposes, 3)
	for i := range 7 {
		s.Must(303, s.applies(fmt.Sprintf("%d@example.com", i)))
	}
	s.says(429, "Please wait an hour", s.applies("more@example.com"))
	s.Clock.Advance(time.Hour)
	s.Must(303, s.applies("more@example.com"))
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO join_requests (token_hash, org_id, program_id, email, address_hash, application,
		language, created_at, expires_at) SELECT n::text::bytea, $1, $2, 'x', 'x', '{}', 'en', $3, $3::timestamptz + interval '1 day'
		FROM generate_series(1, 1000) n`, s.Org, s.program, s.Clock.Now())
	require.NoError(t, err)
	s.says(503, "Applications are temporarily closed", s.applies("full@example.com"))
}

// A closed, paused, foreign or unknown program is the same 404; a group's page has the group's slug.
func TestClosedPrograms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": s.program, "name": "Stars", "is_private": true}))
	elsewhere := s.Must(201, s.Post("/v1/groups", M{"program_id": s.Program(), "name": "Others"}))
	subdomain := s.Get("/v1/programs/" + s.program).String("subdomain")
	for _, path := range []string{s.at + "/stars", s.at + "/" + group.String("id"), "/join/" + subdomain + "/stars"} {
		s.says(200, "Apply to join Stars", s.get(path))
	}
	nothing := s.get("/join/nobody")
	s.says(404, "Page not found", nothing)
	same := func(path string) {
		t.Helper()
		require.Equal(t, string(nothing.Raw), string(s.Must(404, s.get(path)).Raw), path)
	}
	for _, path := range []string{
		"/join/", "/join/prg_none", s.at + "/others", s.at + "/" + elsewhere.String("id"), s.at + "/a/b", s.at + "/",
	} {
		same(path)
	}
	s.set(M{"join": "closed"})
	same(s.at)
	s.set(M{"join": "open"})
	s.Must(200, s.Post("/v1/programs/"+s.program, M{"status": "paused"}))
	same(s.at)
	s.Must(200, s.Post("/v1/programs/"+s.program, M{"status": "active"}))
	s.says(410, "This link no longer works", s.get("/join/confirm/AAAAAAAAAAAAAAAAAAAAAAAAAA"))
	s.says(410, "This link no longer works", s.get("/join/status/x"))
	s.Must(405, s.Do("DELETE", s.at, "", nil))
	form := s.filled(s.at+"/stars", "ada@example.com")
	s.Must(303, s.send(s.at+"/stars", form))
	_, paths := s.mails("ada@example.com")
	s.Must(303, s.press(paths[0]))
	require.Equal(t, group.String("id"), s.application()["group_id"])
}

// Without a mail server, no application could be confirmed.
func TestWithoutMail(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *config.Config) { c.SMTPURL = "" })
	s.says(503, "Applications are temporarily closed", s.get(s.at))
}

// TestAPersonDecidedBefore checks that the rule approves no applicant whom a person has declined.
func TestAPersonDecidedBefore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.confirmed("ada@example.com")
	s.Must(200, s.Post("/v1/applications/"+s.application()["id"].(string)+"/reject", M{"reason": "fraud"}))
	s.set(M{"auto_approve": M{}})
	s.Clock.Advance(time.Hour)
	s.confirmed("ada@example.com")
	latest := s.Must(200, s.Get("/v1/applications?program_id="+s.program)).Data()[0]
	require.Equal(t, "pending", latest["status"])
}

// TestClosedMeanwhile checks that a closed page accepts no applications.
func TestClosedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Must(303, s.applies("ada@example.com"))
	_, paths := s.mails("ada@example.com")
	page := string(s.Must(200, s.get(paths[0])).Raw)
	s.set(M{"join": "closed"})
	token := hidden.FindStringSubmatch(page)
	s.Must(410, s.send(paths[0], url.Values{"form_token": {token[2]}}))
	require.Empty(t, s.Must(200, s.Get("/v1/applications?program_id="+s.program)).Data())
}

// TestOffer checks that the page shows the public rates only.
func TestOffer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	flow := s.Must(200, s.Get("/v1/flows?program_id="+s.program)).Data()[0]["id"].(string)
	branch := func(value int, conditions ...M) M {
		return M{"conditions": append([]M{}, conditions...), "rate_type": "percent", "rate_value": value}
	}
	s.Must(200, s.Post("/v1/flows/"+flow, M{"branches": []M{
		branch(4500, M{"field": "sale.metadata.secret_tier", "operator": "eq", "value": "internal"}),
		branch(5000, M{"field": "partner.id", "operator": "eq", "value": s.Partner(s.program)}),
		branch(3000, M{"field": "sale.amount_minor", "operator": "gte", "value": 10000}), branch(500),
	}}))
	page := html.UnescapeString(string(s.Must(200, s.get(s.at)).Raw))
	require.Contains(t, page, "You earn 5 % on everything else.")
	require.Contains(t, page, "You earn 30 % of every payment, if the amount is at least 100.00 USD.")
	require.NotRegexp(t, "20 %|45 %|50 %|secret", page)
}

// TestOfferOfProducts names products as sales do, without ids, and shows the program's own text instead.
func TestOfferOfProducts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	flow := s.Must(200, s.Get("/v1/flows?program_id="+s.program)).Data()[0]["id"].(string)
	of := func(product string, value int) M {
		return M{"rate_type": "percent", "rate_value": value, "conditions": []M{{"field": "sale.product_id", "operator": "eq", "value": product}}}
	}
	s.Must(200, s.Post("/v1/flows/"+flow, M{"branches": []M{of("prod_pro", 3000), of("prod_other", 1000)}}))
	customer := s.Customer(s.program, s.Partner(s.program))
	s.Sale(s.program, customer, M{"product_id": "prod_pro", "product_name": "Pro"})
	s.Sale(s.program, customer, M{"product_id": "prod_other"})
	offer := func() string { return html.UnescapeString(string(s.Must(200, s.get(s.at)).Raw)) }
	page := offer()
	require.Regexp(t, `(?s)You earn 30 % on Pro\..*You earn 20 % on everything else\..*You earn 10 % on selected products\.`, page)
	require.NotContains(t, page, "prod_")
	s.set(M{"offer": "Half of everything.\n\nFor <ever>."})
	page = offer()
	require.Regexp(t, `(?s)<li class="offer-first">Half of everything\.</li>\s*<li>For <ever>\.</li>`, page)
	require.NotContains(t, page, "You earn")
	require.Contains(t, page, "Payouts are sent")
	s.set(M{"offer": " "})
	require.Contains(t, offer(), "You earn 30 % on Pro.")
}

// TestInvalidPaths: what is no text is not there.
func TestInvalidPaths(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range []string{
		"/join/%00", "/join/%ff", s.at + "/%00", s.at + "/%ff", "/look/%00/x", "/look/%00/x.css", "/look/" + s.program + "/%00",
		"/look/%ff/x",
	} {
		require.Equal(t, 404, s.get(path).Status, path)
	}
}
