package console_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
	"rail/server/harness/stripetest"
	"rail/server/harness/wait"
	"rail/server/inbound/connection"
	"rail/server/jobs"
	"rail/server/secret"
	"rail/server/team"
)

var (
	signingForm  = regexp.MustCompile(`whsec_[A-Za-z0-9+/]+=*`)
	hookForm     = regexp.MustCompile(`/hooks/[a-z_]+/(pco_[0-9a-z]+)`)
	endpointPath = regexp.MustCompile(`/webhooks/(whe_[0-9a-z]+)"`)
	deliveryPath = regexp.MustCompile(`/deliveries/(whd_[0-9a-z]+)"`)
	eventPath    = regexp.MustCompile(`/integrations/events/(inb_[0-9a-z]+)"`)
)

// works runs the inbox, as the job does.
func (s *fixture) works() {
	s.T.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(s.T, err)
	for _, j := range jobs.All(jobs.Deps{Pool: s.Pool, Clock: s.Clock, Keeper: keeper}) {
		if j.Name == "work-inbox" {
			require.NoError(s.T, j.Run(s.T.Context(), s.Clock.Now()))
		}
	}
}

// payment is a payment without a partner.
var payment = M{"type": "sale", "external_charge_id": "ch_1", "external_customer_id": "c1", "amount_minor": 4900, "currency": "USD"}

// TestScriptTag makes the tag of a site, and revokes it.
func TestScriptTag(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.Contains(t, s.owner.page("/integrations"), "No tag yet")
	s.owner.says(400, `aria-invalid="true"`, s.owner.send("/integrations/keys", "allowed_hosts", "*.co.uk"))
	s.owner.done(s.owner.send("/integrations/keys", "allowed_hosts", "shop.example, *.shop.example", "allow_leads", "on"))
	key := s.Must(200, s.Get("/v1/publishable_keys?program_id="+s.program)).Data()[0]
	require.Equal(t, []any{"shop.example", "*.shop.example"}, key["allowed_hosts"])
	require.Equal(t, true, key["allow_leads"])
	require.Contains(t, s.owner.page("/integrations"), key["tag"].(string))
	revoke := "/integrations/keys/" + key["id"].(string) + "/revoke"
	viewer := s.person(s.Org, team.Viewer)
	require.NotContains(t, viewer.page("/integrations"), "Revoke")
	viewer.says(403, "Your role cannot do this", viewer.send("/integrations/keys", "allowed_hosts", "shop.example"))
	viewer.says(403, "Your role cannot do this", viewer.send(revoke))
	s.owner.done(s.owner.send(revoke))
	require.NotContains(t, s.owner.page("/integrations"), key["key"].(string))
}

// reserve chooses a processor, and returns the path of the connection's page.
func (p *person) reserve(processor string, fields ...string) string {
	p.T.Helper()
	answer := p.Must(303, p.send("/integrations/connect/"+processor, fields...))
	_, path, found := strings.Cut(answer.Header.Get("Location"), "/integrations/connections/")
	require.True(p.T, found)
	return "/integrations/connections/" + path
}

// reserve does the same in the browser.
func (d *desk) reserve(processor string) string {
	d.fixture.T.Helper()
	d.visit("/integrations/connect")
	d.Do(chromedp.Click(chromedp.CSS("button[formaction$='/connect/" + processor + "']")))
	d.Reads("The signing secret")
	_, path, _ := strings.Cut(browsertest.Eval[string](d.Tab, `location.pathname`), d.program)
	return path
}

// TestConnect leads through a connection to a processor: the address, the secret, and the first event. Only that event
// makes it connected. Owners alone may.
func TestConnect(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.Contains(t, s.owner.page("/integrations"), "Lemon Squeezy", "without a connection the page has the cards")
	require.Contains(t, s.owner.page("/integrations/connect?test=on"), `name="test" value="on"`)
	s.owner.says(404, "Page not found", s.owner.ask("GET", s.at+"/integrations/connect/nothing", nil))
	s.owner.says(404, "Page not found", s.owner.send("/integrations/connect/nothing"))
	old := s.Connect(s.program)
	at := s.owner.reserve("generic")
	require.Equal(t, at, s.owner.reserve("generic"), "a second choice is the same connection")
	id := at[strings.LastIndex(at, "/")+1:]
	page := s.owner.page(at)
	require.Contains(t, page, "Waiting for the first event")
	require.NotContains(t, page, "Connected")
	require.Contains(t, page, "has been connected since")
	s.owner.says(400, "must be whsec_", s.owner.send(at, "secret", "short"))
	signing := signingForm.FindString(page)
	require.NotEmpty(t, signing)
	require.NotContains(t, s.owner.page("/integrations"), signing)
	state := func(want string) { require.Contains(t, s.owner.page(at+"/state"), want) }
	state("Waiting for the first event")
	require.Contains(t, s.owner.done(s.owner.send(at+"/check")), "nothing came yet")
	for _, role := range []team.Role{team.Manager, team.Finance, team.Viewer} {
		p := s.person(s.Org, role)
		require.NotContains(t, p.page("/integrations"), id)
		for _, path := range []string{"/integrations/connect/generic", at, at + "/check", at + "/disconnect"} {
			p.says(403, "Your role cannot do this", p.send(path, "secret", signing))
		}
		p.says(403, "Your role cannot do this", p.ask("GET", p.full(at), nil))
	}
	c := s.Connected(id, signing)
	s.Must(200, c.Send(M{"type": "sale", "test": true, "external_charge_id": "ch_0", "amount_minor": 1, "currency": "USD"}))
	state("A test event came just now, but this connection takes live events")
	require.Equal(t, "active", s.Must(200, s.Get("/v1/processor_connections/"+old.ID)).String("status"))
	s.Must(200, c.Send(payment))
	state("event received just now")
	s.Clock.Advance(3 * time.Second)
	state("event received 3 s ago")
	page = s.owner.page(at)
	require.Contains(t, page, "Connected:")
	require.NotContains(t, page, signing, "the secret is shown until the first event")
	got := s.Must(200, s.Get("/v1/processor_connections/"+id))
	require.Equal(t, []any{true, true, "active"}, []any{got.Body["record_direct"], got.Body["livemode"], got.Body["status"]})
	require.Equal(t, "disconnected", s.Must(200, s.Get("/v1/processor_connections/"+old.ID)).String("status"))
	require.Contains(t, s.owner.done(s.owner.send(at+"/disconnect")), "is disconnected")
	s.owner.says(400, "accepts no events", s.owner.send(at+"/check"))
	require.Equal(t, "disconnected", s.Must(200, s.Get("/v1/processor_connections/"+id)).String("status"))
	entry := s.Must(200, s.Get("/v1/audit_log_entries?program_id="+s.program)).Data()[0]
	require.Equal(t, []any{"processor_connection.disconnected", s.owner.ID}, []any{entry["action"], entry["actor_id"]})
}

// TestEachProcessor: every processor's page has an address, events and a secret, and an abandoned connection can be
// deleted.
func TestEachProcessor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, processor := range connection.Processors {
		at := s.owner.reserve(processor, "test", "on")
		page := s.owner.page(at)
		require.Contains(t, page, "/hooks/"+processor+"/"+at[strings.LastIndex(at, "/")+1:])
		require.Equal(t, processor != connection.Generic, strings.Contains(page, "Copy all "), processor)
		switch processor {
		case connection.Stripe, connection.Paddle, connection.Polar:
			s.owner.says(400, "signing secret is required", s.owner.send(at))
			require.Contains(t, s.owner.page(at+"/state"), "Save the signing secret first")
			s.owner.done(s.owner.send(at, "secret", "whsec_given"))
			require.NotContains(t, s.owner.page(at), "whsec_given")
		case connection.Chargebee:
			require.Contains(t, page, "User name")
		}
		require.Contains(t, s.owner.page(at+"/state"), "Waiting for the first event", processor)
		require.Contains(t, s.owner.done(s.owner.send(at+"/disconnect")), "is deleted")
		s.owner.says(404, "Page not found", s.owner.ask("GET", s.owner.full(at), nil))
	}
	require.Zero(t, s.Must(200, s.Get("/v1/processor_connections?program_id="+s.program)).Int("total_count"))
}

// newSiteWithStripe starts a server whose Stripe creates endpoints.
func newSiteWithStripe(t *testing.T) *fixture {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", &stripetest.API{})
	mux.HandleFunc("POST /v1/webhook_endpoints", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"id":"we_1","object":"webhook_endpoint","secret":"whsec_private","status":"enabled"}`))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	api := apitest.New(t, func(c *config.Config) { c.StripeURL = server.URL })
	return newSiteOf(api, api.Program())
}

// TestConnectStripe: with a secret nothing is asked at Stripe, a key of the other mode is refused beside its field,
// and neither is ever on a page. With a key, Rail creates the endpoint.
func TestConnectStripe(t *testing.T) {
	t.Parallel()
	s := newSiteWithStripe(t)
	live := s.owner.reserve("stripe")
	wrong := s.owner.send(live, "api_key", "rk_test_private", "secret", "whsec_private")
	s.owner.says(400, "has the wrong mode", wrong)
	require.NotContains(t, string(wrong.Raw), "_private")
	test := s.owner.reserve("stripe", "test", "on")
	require.Contains(t, s.owner.page(test), "invoice.paid", "the events to send are named")
	s.owner.done(s.owner.send(test, "secret", "whsec_private"))
	require.NotContains(t, s.owner.page(test), "whsec_private")
	require.Contains(t, s.owner.page("/integrations"), "Test")
	require.Contains(t, s.owner.done(s.owner.send(live, "api_key", "rk_live_private")), "has created the endpoint")
	page := s.owner.page(live)
	require.Contains(t, page, "Waiting for the first event", "a created endpoint has sent nothing yet")
	require.NotContains(t, page, "_private")
	id := live[strings.LastIndex(live, "/")+1:]
	require.Equal(t, "active", s.Must(200, s.Get("/v1/processor_connections/"+id)).String("status"))
}

// TestConnectAtHome connects Stripe with the form of the set-up, which Home shows to owners until a processor is connected.
func TestConnectAtHome(t *testing.T) {
	t.Parallel()
	s := newSiteWithStripe(t)
	const heading, to = "Connect Stripe</h2>", "/integrations/connect/stripe"
	require.Contains(t, s.owner.page(""), heading)
	require.Contains(t, s.owner.page("/setup"), heading)
	require.NotContains(t, s.person(s.Org, team.Manager).page(""), heading)
	s.owner.says(400, "has the wrong mode", s.owner.send(to, "api_key", "rk_test_private", "record_direct", "on"))
	require.Contains(t, s.owner.done(s.owner.send(to, "api_key", "rk_live_private", "record_direct", "on")), "has created the endpoint")
	require.NotContains(t, s.owner.page(""), heading)
	connections := s.Must(200, s.Get("/v1/processor_connections?program_id="+s.program)).Data()
	require.Len(t, connections, 1, "the refused key has reserved the connection that the other one completed")
	require.Equal(t, "active", connections[0]["status"])
}

// TestInbox shows received events with their results, and retries one.
func TestInbox(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.Contains(t, s.owner.page("/integrations/events"), "No events yet")
	c := s.Connect(s.program)
	s.Must(200, c.Send(payment))
	s.Must(200, c.Send(M{"type": "sale"}))
	s.works()
	require.Contains(t, s.owner.page(""), "/integrations/events?reason_code=no_partner")
	page := s.owner.page("/integrations/events?reason_code=no_partner")
	require.Contains(t, page, "1 payment not credited to a partner in the last 30 days")
	found := eventPath.FindAllStringSubmatch(page, -1)
	require.Len(t, found, 1)
	require.Len(t, eventPath.FindAllString(s.owner.page("/integrations/events"), -1), 2)
	require.Contains(t, s.owner.page("/integrations/events?type=other"), "No events match these filters")
	one := "/integrations/events/" + found[0][1]
	require.Contains(t, s.owner.page(one), `"external_charge_id": "ch_1"`)
	require.Contains(t, string(s.Must(200, s.owner.ask("GET", s.at+"/integrations/events.csv?status=failed", nil)).Raw), "Failed")
	s.Partner(s.program, M{"handle": "ann"})
	viewer := s.person(s.Org, team.Viewer)
	viewer.says(403, "Your role cannot do this", viewer.send(one+"/replay"))
	require.Contains(t, s.owner.done(s.owner.send(one+"/replay")), "worked again")
	require.Contains(t, s.owner.page(one), "Pending")
	s.works()
	require.Contains(t, s.owner.page(one), "2 times")
}

// TestInboxRestoresFailedRefund offers one button for a refund that did not reach the
// customer, to roles that may change commissions.
func TestInboxRestoresFailedRefund(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	s.Partner(s.program, M{"handle": "ann"})
	c := s.Connect(s.program, func(in *connection.Input) { in.Processor = connection.Chargebee })
	click := s.Click(s.program, "ann").String("id")
	send := func(kind, transaction string) {
		body := `{"id":"ev_` + kind + `","event_type":"` + kind + `","occurred_at":` + strconv.FormatInt(s.Clock.Now().Unix(), 10) +
			`,"content":{"transaction":{` + transaction + `,"currency_code":"USD","customer_id":"cu_1"},"customer":{"id":"cu_1",` +
			`"cf_rail_click":"` + click + `"}}}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/hooks/chargebee/"+c.ID, strings.NewReader(body))
		require.NoError(t, err)
		user, password, _ := strings.Cut(c.Signing, ":")
		r.SetBasicAuth(user, password)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 200, res.StatusCode)
		s.works()
	}
	send("payment_succeeded", `"id":"txn_1","type":"payment","status":"success","amount":2400`)
	send("payment_refunded", `"id":"txn_2","type":"refund","status":"success","amount":2400,"refunded_txn_id":"txn_1"`)
	send("transaction_updated", `"id":"txn_2","type":"refund","status":"late_failure","amount":2400,"refunded_txn_id":"txn_1"`)
	found := eventPath.FindStringSubmatch(s.owner.page("/integrations/events?status=failed"))
	require.NotNil(t, found)
	one := "/integrations/events/" + found[1]
	require.Contains(t, s.owner.page(one), "Restore the commission")
	viewer := s.person(s.Org, team.Viewer)
	require.NotContains(t, viewer.page(one), "Restore the commission")
	viewer.says(403, "Your role cannot do this", viewer.send(one+"/resolve"))
	require.Contains(t, s.owner.done(s.owner.send(one+"/resolve")), "has the commission back")
	require.NotContains(t, s.owner.page(one), "Restore the commission")
	var left int64
	for _, k := range s.Get("/v1/commissions?program_id=" + s.program).Data() {
		if k["status"] != "voided" {
			left += apitest.Answer{Body: k}.Int("amount_minor")
		}
	}
	require.EqualValues(t, 480, left)
}

// TestWebhooks makes an endpoint, tests it, sends again what it got, and deletes it.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	api, sink := apitest.New(t, apitest.Loopback), apitest.NewSink(t)
	api.Deliver()
	s := newSiteOf(api, api.Program())
	require.Contains(t, s.owner.page("/webhooks"), "No webhooks yet")
	s.owner.says(400, `aria-invalid="true"`, s.owner.send("/webhooks", "url", "http://10.0.0.1/"))
	answer := s.owner.unescaped(s.Must(200, s.owner.send("/webhooks", "url", sink.URL+"/told", "event_types", "sale.created")))
	signing, id := signingForm.FindString(answer), endpointPath.FindStringSubmatch(answer)[1]
	require.NotEmpty(t, signing)
	at := "/webhooks/" + id
	require.NotContains(t, s.owner.page(at), signing)
	s.owner.says(200, "200 after", s.owner.send(at+"/ping", "event_type", "affiliate.created"))
	s.owner.done(s.owner.send(at, "url", sink.URL+"/told", "lists", "event_types"))
	require.Empty(t, s.Must(200, s.Get("/v1/webhook_endpoints/"+id)).Body["event_types"])
	s.Partner(s.program, M{"handle": "ann"})
	sink.Wait(t, "/told", 2)
	delivered := func() bool { return strings.Count(s.owner.page(at), "badge-delivered") == 2 }
	wait.Until(t, delivered, "the ping and the event are in the log")
	require.Less(t, len(s.owner.page(at)), 30_000, "with fifty deliveries it is below 40 kB, too")
	one := at + "/deliveries/" + deliveryPath.FindStringSubmatch(s.owner.page(at))[1]
	require.Contains(t, s.owner.page(one), `"handle": "ann"`)
	s.owner.done(s.owner.send(one + "/replay"))
	sink.Wait(t, "/told", 3)
	day := s.Clock.Now().UTC().Format("2006-01-02")
	require.Contains(t, s.owner.done(s.owner.send(at+"/replay", "what", "failed", "from", day)), "No deliveries to send again")
	require.Contains(t, s.owner.done(s.owner.send(at+"/replay", "what", "all", "from", day, "to", day)), "sent again")
	s.owner.says(400, "must be a day", s.owner.send(at+"/replay", "what", "all", "from", day, "to", "soon"))
	s.owner.says(400, `aria-invalid="true"`, s.owner.send(at+"/replay", "what", "failed", "from", "2001-01-01"))
	require.NotEqual(t, signing, signingForm.FindString(s.owner.unescaped(s.Must(200, s.owner.send(at+"/rotate")))))
	s.owner.done(s.owner.send(at+"/switch", "enabled", "false"))
	require.Equal(t, false, s.Must(200, s.Get("/v1/webhook_endpoints/"+id)).Body["enabled"])
	s.owner.says(409, "alert", s.owner.send(one+"/replay"))
	viewer := s.person(s.Org, team.Viewer)
	require.NotContains(t, viewer.page(at), "Delete")
	for _, path := range []string{"/webhooks", at, at + "/switch", at + "/rotate", at + "/ping", at + "/delete", one + "/replay"} {
		viewer.says(403, "Your role cannot do this", viewer.send(path, "url", sink.URL))
	}
	require.Contains(t, s.owner.done(s.owner.send(at+"/delete")), "is deleted")
	s.Must(404, s.Get("/v1/webhook_endpoints/"+id))
}

// TestPlan shows the effective limits and their source.
func TestPlan(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.Pool.Exec(t.Context(), `UPDATE organizations SET flow_quota = 7 WHERE id = $1`, s.Org)
	require.NoError(t, err)
	page := s.owner.page("/plan")
	require.Contains(t, page, `<td data-label="Limit">7</td><td data-label="Set for">Your organization</td>`)
	require.Contains(t, page, "The whole server")
}

// TestIntegrationsOfAnother: what is another organization's, or another program's, is absent.
func TestIntegrationsOfAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.Connect(s.program)
	s.Must(200, c.Send(payment))
	event := s.Must(200, s.Get("/v1/inbox_events?program_id="+s.program)).Data()[0]["id"].(string)
	hook := s.Must(201, s.Post("/v1/webhook_endpoints", M{"program_id": s.program, "url": "https://hooks.example/"})).String("id")
	pages := []string{
		"/integrations/connections/" + c.ID, "/integrations/connections/" + c.ID + "/state",
		"/integrations/events/" + event, "/webhooks/" + hook, "/webhooks/" + hook + "/deliveries/whd_1",
	}
	key := s.Must(201, s.Post("/v1/publishable_keys", M{"program_id": s.program, "allowed_hosts": []string{"shop.example"}}))
	forms := []string{
		"/integrations/keys/" + key.String("id") + "/revoke",
		"/integrations/connections/" + c.ID, "/integrations/connections/" + c.ID + "/check",
		"/integrations/connections/" + c.ID + "/disconnect",
		"/integrations/events/" + event + "/replay", "/webhooks/" + hook, "/webhooks/" + hook + "/switch",
		"/webhooks/" + hook + "/rotate", "/webhooks/" + hook + "/delete", "/webhooks/" + hook + "/ping",
		"/webhooks/" + hook + "/replay", "/webhooks/" + hook + "/deliveries/whd_1/replay",
	}
	stranger, other := s.person(s.NewOrg("Other"), team.Owner), "/console/p/"+s.Program()
	for _, path := range pages {
		stranger.says(404, "Page not found", stranger.ask("GET", s.at+path, nil))
		s.owner.says(404, "Page not found", s.owner.ask("GET", other+path, nil))
	}
	for _, path := range forms {
		fields := []string{"url", "https://mine.example/", "from", "2026-01-01"}
		stranger.says(404, "Page not found", stranger.send(path, fields...))
		s.owner.says(404, "Page not found", s.owner.send(other+path, fields...))
	}
	for _, path := range []string{
		"/integrations", "/integrations/connect", "/integrations/connect/generic", "/integrations/events",
		"/integrations/events.csv", "/webhooks", "/plan",
	} {
		stranger.says(404, "Page not found", stranger.ask("GET", s.at+path, nil))
	}
	require.Equal(t, "active", s.Must(200, s.Get("/v1/processor_connections/"+c.ID)).String("status"))
	require.Equal(t, "https://hooks.example/", s.Must(200, s.Get("/v1/webhook_endpoints/"+hook)).String("url"))
}

// TestConnectByHand connects a processor in the browser, has it send a payment, and finds the payment.
func TestConnectByHand(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.press("Integrations")
	d.Reads("The script on your site")
	d.press("Connect a processor")
	d.Reads("Lemon Squeezy")
	d.Do(chromedp.Click(chromedp.CSS("button[formaction$='/connect/generic']")))
	d.Reads("Waiting for the first event")
	require.False(t, browsertest.Eval[bool](d.Tab, `!!document.querySelector('[data-unpolled]')?.offsetParent`))
	fields := browsertest.Eval[[]string](d.Tab, `[...document.querySelectorAll('.copy input')].map(i => i.value)`)
	require.Len(t, fields, 2)
	c := d.fixture.Connected(hookForm.FindStringSubmatch(fields[0])[1], fields[1])
	d.fixture.Must(200, c.Send(payment))
	d.Reads("Connected: first event received just now") // without a load of the page
	d.works()
	d.press("Integrations")
	d.press("View events.")
	d.Reads("newest first")
	d.Do(chromedp.Click(chromedp.CSS("tbody th a"))) // the latest one
	d.Reads("ch_1")
	d.Reads("Recorded")
	d.Silent()
}

// TestIntegrationsAccessible checks the accessibility of the pages.
func TestIntegrationsAccessible(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.Connect(d.program)
	d.fixture.Must(200, c.Send(payment))
	d.works()
	event := d.fixture.Must(200, d.Get("/v1/inbox_events?program_id="+d.program)).Data()[0]["id"].(string)
	stripe, chargebee := d.reserve("stripe"), d.reserve("chargebee")
	d.fixture.Partner(d.program, M{"handle": "ada"})
	hook := d.fixture.Must(201, d.Post("/v1/webhook_endpoints", M{"program_id": d.program, "url": "https://hooks.example/"})).String("id")
	d.fixture.Must(201, d.Post("/v1/publishable_keys", M{"program_id": d.program, "allowed_hosts": []string{"shop.example"}}))
	d.fixture.Must(200, d.Post("/v1/webhook_endpoints/"+hook+"/ping", M{}))
	sent := d.fixture.Must(200, d.Get("/v1/webhook_endpoints/"+hook+"/deliveries")).Data()[0]["id"].(string)
	var paths []string
	for _, path := range []string{
		"/integrations", "/integrations/connect", stripe, chargebee, "/integrations/connections/" + c.ID, "/integrations/events",
		"/integrations/events/" + event, "/webhooks", "/webhooks/" + hook, "/webhooks/" + hook + "/deliveries/" + sent, "/plan",
		"/test-purchase", "/test-purchase?amount=49&partner=ada",
	} {
		paths = append(paths, d.owner.full(path))
	}
	d.Accessible(paths...)
	d.Silent()
}
