package portal_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/money/payout"
	"rail/server/secret"
)

func TestProfile(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	b := signIn(s, partner)
	b.moved("/portal/settings?done=profile", b.send("/portal/settings/profile",
		"first_name", "  A\u202eda\x00 ", "last_name", "\u200bLove\u00adlace\n", "website_url", "ada.example", "country_code", "gb", "handle", "stolen", "status", "suspended"))
	b.says(200, "Your profile is saved.", b.ask("GET", "/portal/settings?done=profile", nil))
	p := s.Get("/v1/partners/" + partner)
	require.Equal(t, []any{"Ada", "Lovelace", nil, nil, "https://ada.example", "GB", "active", false},
		[]any{p.Body["first_name"], p.Body["last_name"], p.Body["display_name"], p.Body["company_name"], p.Body["website_url"], p.Body["country_code"], p.Body["status"], p.Body["completed_onboarding"]})
	require.Equal(t, 1, countOf(s, program, "affiliate.updated"))
	actions, reasons, after := audit(s, program)
	require.Equal(t, []string{"partner.updated"}, actions)
	require.Equal(t, []string{"By the partner " + partner + " in the portal."}, reasons)
	require.Equal(t, M{"first_name": "Ada", "last_name": "Lovelace", "website_url": "https://ada.example", "country_code": "GB"}, after[0])

	b.moved("/portal/settings?done=profile", b.send("/portal/settings/profile", "first_name", "Ada", "last_name", "Lovelace", "website_url", "https://ada.example", "country_code", "GB"))
	require.Equal(t, 1, countOf(s, program, "affiliate.updated"), "nothing has changed")
	for _, c := range []struct{ field, value, text string }{
		{"website_url", "ftp://ada.example", "This must be an absolute http or https URL."}, {"website_url", "javascript:alert(1)", "absolute http or https"},
		{"website_url", "https://x.example/" + strings.Repeat("x", 2048), "too long"}, {"country_code", "GBR", "two letters"}, {"country_code", "1", "two letters"},
		{"first_name", strings.Repeat("x", 256), "too long"}, {"company_name", hostile + strings.Repeat("x", 256), "too long"},
		{"company_name", "pyt_01kb2m4q8e7v9t3n5x6c0d1f2g", "id of a payout"}, {"display_name", "PYT 01kb2m4q8e7v9t3n5x6c0d1f2g", "id of a payout"},
	} {
		a := b.send("/portal/settings/profile", "last_name", "Typed", c.field, c.value)
		b.says(422, c.text, a)
		page := html.UnescapeString(string(a.Raw))
		if c.field != "country_code" { // which is chosen from a list
			require.Contains(t, page, `value="`+c.value+`"`, "what was typed stays")
		}
		require.NotContains(t, string(a.Raw), "<script>alert")
		require.Contains(t, string(a.Raw), `aria-invalid="true"`)
	}
	require.Equal(t, p.Body, s.Get("/v1/partners/"+partner).Body)
	require.Equal(t, 1, countOf(s, program, "affiliate.updated"))
}

func TestPayoutMethod(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	program := s.Program(M{"payout_methods": []string{"paypal", "bank_transfer"}})
	partner := s.Partner(program)
	b := signIn(s, partner)
	require.Contains(t, b.get("/portal"), "Add your payout details")
	require.NotRegexp(t, ">(Wise|Crypto)", b.get("/portal/settings"))
	details := func() string {
		row, err := db.New().PartnerGet(t.Context(), s.Pool, db.PartnerGetParams{ID: partner, OrgID: s.Org})
		require.NoError(t, err)
		raw, err := payout.DetailsOf(keeper, row)
		require.NoError(t, err)
		return string(raw)
	}
	for _, form := range [][]string{
		{"method", "wise", "email", "ada@example.com"}, {"method", "", "email", "ada@example.com"}, {"method", "paypal"}, {"method", "paypal", "email", "=cmd@example.com"}, {"method", "paypal", "email", "ada"},
		{"method", "paypal", "email", "pyt_01kb2m4q8e7v9t3n5x6c0d1f2g@x.example"},
		{"method", "bank_transfer", "account_holder", "Ada", "iban", "DE89370400440532013001"}, {"method", "bank_transfer", "account_holder", "", "iban", "DE89370400440532013000"},
		{"method", "bank_transfer", "account_holder", "Ada", "iban", "<b>"}, {"method", "bank_transfer", "account_holder", strings.Repeat("x", 141), "iban", "12345678"},
	} {
		s.Must(422, b.send("/portal/settings/payout", form...))
	}
	require.Empty(t, details())
	require.Zero(t, countOf(s, program, "affiliate.updated"))

	b.moved("/portal/settings?done=payout", b.send("/portal/settings/payout", "method", "paypal", "email", "ada.lovelace@example.com", "iban", "x"))
	require.JSONEq(t, `{"email":"ada.lovelace@example.com"}`, details())
	p := s.Get("/v1/partners/" + partner)
	require.Equal(t, "paypal", p.String("payout_method"))
	require.Equal(t, false, p.Body["completed_onboarding"], "no name yet")
	page := b.get("/portal/settings")
	require.Contains(t, page, "a•••@example.com")
	require.NotContains(t, page, "lovelace")

	b.moved("/portal/settings?done=profile", b.send("/portal/settings/profile", "display_name", "Ada"))
	require.Equal(t, true, s.Get("/v1/partners/" + partner).Body["completed_onboarding"])
	require.Equal(t, 2, countOf(s, program, "affiliate.updated"), "one change, one event")
	require.NotContains(t, b.get("/portal"), "Before your first payout")
	b.moved("/portal/settings?done=payout", b.send("/portal/settings/payout", "method", "bank_transfer", "account_holder", "Ada Lovelace", "iban", "DE89 3704 0044 0532 0130 00"))
	require.JSONEq(t, `{"account_holder":"Ada Lovelace","iban":"DE89 3704 0044 0532 0130 00"}`, details())
	page = b.get("/portal/settings")
	require.Contains(t, page, "•••• 3000")
	require.NotRegexp(t, "0440 ?0532", page)
	actions, _, after := audit(s, program)
	require.Equal(t, []string{"partner.updated", "partner.updated", "partner.updated"}, actions)
	require.Equal(t, []M{
		{"payout_method": "paypal", "payout_details": "changed"}, {"display_name": "Ada", "completed_onboarding": true}, {"payout_method": "bank_transfer", "payout_details": "changed"},
	}, after)
	var log string
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT string_agg(a::text, '') FROM audit_log_entries a").Scan(&log))
	require.NotRegexp(t, "0440 ?0532|(?i)lovelace", log+s.Log(), "neither the account nor its holder is told")
}

// TestNotifications: what a partner does not want is not mailed.
func TestNotifications(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	program := s.Program()
	partner := s.PartnerObject(program)
	b := signIn(s, partner.String("id"))
	lead := func() (mails int) {
		click := s.Click(program, partner.String("handle"))
		s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")}))
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM mails").Scan(&mails))
		return mails
	}
	require.Equal(t, 1, lead())
	b.moved("/portal/settings?done=notifications", b.send("/portal/settings/notifications", "payout_paid", "on"))
	p := s.Get("/v1/partners/" + partner.String("id"))
	require.Equal(t, []any{false, false, true}, []any{p.Body["email_first_referral"], p.Body["email_new_referral"], p.Body["email_payout_paid"]})
	require.Equal(t, 1, lead())
	require.Equal(t, 1, countOf(s, program, "affiliate.updated"))
	b.moved("/portal/settings?done=notifications", b.send("/portal/settings/notifications", "payout_paid", "on"))
	require.Equal(t, 1, countOf(s, program, "affiliate.updated"))
	b.moved("/portal/settings?done=notifications", b.send("/portal/settings/notifications", "payout_paid", "on", "new_referral", "on"))
	require.Equal(t, 2, lead())
	_, _, after := audit(s, program)
	require.Equal(t, []M{
		{"email_first_referral": false, "email_new_referral": false, "email_payout_paid": true}, {"email_first_referral": false, "email_new_referral": true, "email_payout_paid": true},
	}, after)
	require.Len(t, regexp.MustCompile(`name="first_referral">`).FindAllString(b.get("/portal/settings"), -1), 1)
}

var secretForm = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`)

func TestPostback(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Loopback)
	sink := apitest.NewSink(t)
	program := s.Program()
	partner := s.PartnerObject(program)
	b := signIn(s, partner.String("id"))
	for _, c := range []struct{ url, text string }{
		{"", "length"}, {"ftp://x.example/", "absolute http or https"}, {"http://10.0.0.1/", ""}, {"https://x.example:22/", ""},
	} {
		a := b.send("/portal/postback/save", "url", c.url)
		b.says(422, c.text, a)
		require.Contains(t, string(a.Raw), `aria-invalid="true"`, c.url)
	}
	s.Must(422, b.send("/portal/postback/save", "url", sink.URL, "event_types", "sale.created"))
	s.Must(422, b.send("/portal/postback/save", "url", sink.URL, "event_types", "nothing"))
	require.Empty(t, s.Get("/v1/webhook_endpoints?program_id="+program).Data())

	answer := s.Must(200, b.send("/portal/postback/save", "url", sink.URL+"/mine", "event_types", "referral.created", "event_types", "commission.created"))
	whsec := secretForm.FindString(html.UnescapeString(string(answer.Raw)))
	require.NotEmpty(t, whsec)
	e := s.Must(200, s.Get("/v1/webhook_endpoints?program_id="+program)).Data()
	require.Len(t, e, 1)
	id := e[0]["id"].(string)
	require.Equal(t, []any{partner.String("id"), sink.URL + "/mine", []any{"referral.created", "commission.created"}, true}, []any{e[0]["partner_id"], e[0]["url"], e[0]["event_types"], e[0]["enabled"]})
	require.NotContains(t, b.get("/portal/postback"), "whsec_", "shown once")
	b.says(422, "You already have a postback.", b.send("/portal/postback/save", "url", sink.URL+"/second"))

	b.moved("/portal/postback?done=tested&id="+id+"#deliveries", b.send("/portal/postback/ping", "id", id))
	got := sink.Wait(t, "/mine", 1)[0]
	require.Equal(t, "referral.created", got.Event.String("type"))
	page := html.UnescapeString(b.get("/portal/postback"))
	require.Contains(t, page, got.Body, "the log shows what was sent")
	again := b.send("/portal/postback/ping", "id", id)
	b.says(429, "Wait ten seconds", again)
	require.NotEmpty(t, again.Header.Get("Retry-After"))
	s.Clock.Advance(10 * time.Second)
	s.Must(303, b.send("/portal/postback/ping", "id", id))
	s.Deliver()
	s.Click(program, partner.String("handle"))
	require.Equal(t, "referral.created", sink.Wait(t, "/mine", 3)[2].Event.String("type"))

	rotated := s.Must(200, b.send("/portal/postback/rotate", "id", id))
	fresh := secretForm.FindString(html.UnescapeString(string(rotated.Raw)))
	require.NotEmpty(t, fresh)
	require.NotEqual(t, whsec, fresh)
	b.moved("/portal/postback?done=postback&id="+id, b.send("/portal/postback/save", "id", id, "url", sink.URL+"/new"))
	e = s.Must(200, s.Get("/v1/webhook_endpoints?program_id="+program)).Data()
	require.Equal(t, []any{sink.URL + "/new", []any{}, false}, []any{e[0]["url"], e[0]["event_types"], e[0]["enabled"]})
	require.Contains(t, b.get("/portal/postback"), "It is off")
	b.moved("/portal/postback?done=postback&id="+id, b.send("/portal/postback/save", "id", id, "url", sink.URL+"/new", "enabled", "on"))
	b.moved("/portal/postback?done=deleted", b.send("/portal/postback/delete", "id", id))
	require.Empty(t, s.Get("/v1/webhook_endpoints?program_id="+program).Data())
	actions, reasons, after := audit(s, program)
	require.Equal(t, []string{
		"webhook_endpoint.created", "webhook_endpoint.secret_rotated", "webhook_endpoint.updated", "webhook_endpoint.updated", "webhook_endpoint.deleted",
	}, actions)
	require.Contains(t, reasons[0], partner.String("id"))
	require.Equal(t, M{"url": sink.URL + "/mine", "event_types": []any{"referral.created", "commission.created"}, "enabled": true}, after[0])
	raw, err := json.Marshal(after)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "whsec_")
}

// TestPostbackFormsAtOnce: a form that is sent twice sets up one postback, and of
// tests at once one is sent.
func TestPostbackFormsAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Loopback)
	program := s.Program()
	b := signIn(s, s.Partner(program))
	began, release := make(chan bool, 99), make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		began <- true
		<-release
	}))
	defer slow.Close()
	token := b.token()
	atOnce := func(path string, form url.Values) (answers []int) {
		form.Set("form_token", token)
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 8 {
			all.Go(func() {
				a := b.post(path, form)
				mu.Lock()
				defer mu.Unlock()
				if answers = append(answers, a.Status); len(answers) == 7 {
					close(release) // the last waits for its receiver
				}
			})
		}
		all.Wait()
		release = make(chan bool)
		return answers
	}
	require.ElementsMatch(t, []int{200, 422, 422, 422, 422, 422, 422, 422}, atOnce("/portal/postback/save", url.Values{"url": {slow.URL}}))
	found := s.Get("/v1/webhook_endpoints?program_id=" + program).Data()
	require.Len(t, found, 1)
	require.ElementsMatch(t, []int{303, 429, 429, 429, 429, 429, 429, 429}, atOnce("/portal/postback/ping", url.Values{"id": {found[0]["id"].(string)}}))
	require.Len(t, began, 1)
}

// TestPostbackIsCheckedFirst: the address of a new postback is checked before the transaction, which would otherwise
// wait for a name server. Here another transaction holds the program's lock.
func TestPostbackIsCheckedFirst(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	b := signIn(s, s.Partner(program))
	token := b.token()
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "SELECT FROM programs WHERE id = $1 FOR UPDATE", program)
	require.NoError(t, err)
	a := b.post("/portal/postback/save", url.Values{"form_token": {token}, "url": {"https://10.0.0.1/"}})
	b.says(422, "address is not public", a)
}

// TestPostbackOfAnother: the endpoints of others are as absent as none.
func TestPostbackOfAnother(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	b := signIn(s, partner)
	add := func(body M) string {
		return s.Must(201, s.Post("/v1/webhook_endpoints", body)).String("id")
	}
	foreign := []string{
		add(M{"program_id": program, "url": "https://hooks.example/"}), add(M{"program_id": program, "url": "https://hooks.example/", "partner_id": s.Partner(program)}),
		add(M{"program_id": s.Program(), "url": "https://hooks.example/"}), "whe_none", "", "%00",
	}
	before := s.Get("/v1/webhook_endpoints?program_id=" + program).Body
	token := b.token()
	for _, id := range foreign {
		for _, path := range []string{"rotate", "ping", "delete"} {
			s.Must(404, b.post("/portal/postback/"+path, url.Values{"form_token": {token}, "id": {id}}))
		}
		if id != "" {
			s.Must(404, b.post("/portal/postback/save", url.Values{"form_token": {token}, "id": {id}, "url": {"https://evil.example/"}}))
		}
	}
	require.Equal(t, before, s.Get("/v1/webhook_endpoints?program_id="+program).Body)
	one := add(M{"program_id": program, "url": "https://one.example/", "partner_id": partner})
	two := add(M{"program_id": program, "url": "https://two.example/", "partner_id": partner})
	require.Contains(t, b.get("/portal/postback"), `name="url" type="text" value="https://one.example/"`)
	require.Contains(t, b.get("/portal/postback?id="+two), `name="url" type="text" value="https://two.example/"`)
	require.Contains(t, b.get("/portal/postback?id="+one), "https://two.example/")
}
