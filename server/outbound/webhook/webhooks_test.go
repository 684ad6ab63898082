package webhook_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/wait"
	"rail/server/outbound/webhook"
)

// hooked is a server with a sender, a sink and a program that pays commissions on sales.
type hooked struct {
	apitest.Earner
	sink *apitest.Sink
}

func newHooked(t *testing.T) hooked {
	t.Helper()
	s := apitest.New(t, apitest.Loopback)
	e := s.Earner()
	s.Flow(e.ProgramID)
	return hooked{e, apitest.NewSink(t)}
}

// endpoint adds an endpoint on a path of the sink.
func (h hooked) endpoint(path string, more ...M) apitest.Answer {
	body := M{"program_id": h.ProgramID, "url": h.sink.URL + path}
	for _, m := range more {
		maps.Copy(body, m)
	}
	return h.Must(201, h.Post("/v1/webhook_endpoints", body))
}

func (h hooked) log(endpoint string) (out []apitest.Answer) {
	for _, d := range h.Must(200, h.Get("/v1/webhook_endpoints/"+endpoint+"/deliveries")).Data() {
		out = append(out, apitest.Answer{Body: d})
	}
	return out
}

// settled waits until the newest n deliveries of an endpoint have a status.
func (h hooked) settled(t *testing.T, endpoint, status string, n int) []apitest.Answer {
	t.Helper()
	var log []apitest.Answer
	wait.Until(t, func() bool {
		log = h.log(endpoint)
		return len(log) >= n &&
			!slices.ContainsFunc(log[:n], func(d apitest.Answer) bool { return d.String("status") != status })
	}, "%d deliveries %s", n, status)
	return log
}

func TestWebhookEndpoint(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	e := s.Must(201, s.Post("/v1/webhook_endpoints", M{
		"program_id": program, "url": "https://hooks.example/in", "event_types": []string{"sale.created", "sale.created"},
	}))
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, e.String("secret"))
	require.Equal(t, []any{true, nil, []any{"sale.created"}}, []any{
		e.Body["enabled"], e.Body["partner_id"], e.Body["event_types"],
	})
	id := e.String("id")
	got := s.Must(200, s.Get("/v1/webhook_endpoints/"+id))
	require.NotContains(t, got.Body, "secret")
	require.NotContains(t, s.Get("/v1/webhook_endpoints?program_id=" + program).Data()[0], "secret")
	changed := s.Must(200, s.Post("/v1/webhook_endpoints/"+id, M{
		"url": "http://hooks.example:8080/", "event_types": []string{}, "enabled": false,
	}))
	require.Equal(t, []any{"http://hooks.example:8080/", []any{}, false}, []any{
		changed.Body["url"], changed.Body["event_types"], changed.Body["enabled"],
	})
	rotated := s.Must(200, s.Post("/v1/webhook_endpoints/"+id+"/rotate_secret", nil))
	require.NotEqual(t, e.String("secret"), rotated.String("secret"))
	var stored string
	require.NoError(t,
		s.Pool.QueryRow(t.Context(), "SELECT string_agg(w::text, '') FROM webhook_endpoints w").Scan(&stored))
	require.NotContains(t, stored, "whsec_", "secrets are sealed")

	postback := s.Must(201, s.Post("/v1/webhook_endpoints", M{
		"program_id": program, "url": "https://partner.example/in", "partner_id": partner,
		"event_types": []string{"commission.created"},
	}))
	require.Equal(t, partner, postback.String("partner_id"))
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"url": "http://127.0.0.1/"}, 400, "url_not_allowed", "url"},
		{M{"url": "https://u:p@hooks.example/"}, 400, "url_not_allowed", "url"},
		{M{"url": "ftp://hooks.example/"}, 400, "parameter_invalid", "url"},
		{M{"url": "https://" + strings.Repeat("x", 2048)}, 400, "parameter_invalid", "url"},
		{M{"event_types": []string{"sale.*"}}, 400, "parameter_invalid", "event_types[0]"},
		{M{"event_types": []string{"sale.created"}, "partner_id": partner}, 400, "parameter_invalid", "event_types[0]"},
		{M{"partner_id": "part_none"}, 404, "resource_not_found", "partner_id"},
		{M{"partner_id": s.Partner(s.Program())}, 400, "invalid_reference", "partner_id"},
		{M{"program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
	} {
		body := M{"program_id": program, "url": "https://hooks.example/"}
		maps.Copy(body, c.body)
		s.Refused(c.status, c.code, c.param, s.Post("/v1/webhook_endpoints", body))
	}
	s.Refused(400, "parameter_invalid", "event_types[0]", s.Post("/v1/webhook_endpoints/"+postback.String("id"), M{
		"event_types": []string{"sale.created"},
	}))
	for range 19 {
		s.Must(201, s.Post("/v1/webhook_endpoints", M{"program_id": program, "url": "https://hooks.example/"}))
	}
	s.Refused(409, "webhook_endpoint_limit", "", s.Post("/v1/webhook_endpoints", M{
		"program_id": program, "url": "https://hooks.example/",
	}))
	// Postbacks do not count towards the program's limit.
	s.Must(201, s.Post("/v1/webhook_endpoints", M{
		"program_id": program, "partner_id": partner, "url": "https://hooks.example/",
	}))
	s.Must(200, s.Delete("/v1/webhook_endpoints/"+id))
	s.Refused(404, "resource_not_found", "", s.Get("/v1/webhook_endpoints/"+id))
	s.Must(201, s.Post("/v1/webhook_endpoints", M{"program_id": program, "url": "https://hooks.example/"}))
}

// TestDelivery: a merchant's endpoint gets every event, complete, signed in both forms, and in
// order. A partner's endpoint gets the partner's events, without the customer's identity.
func TestDelivery(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	s := h.Server
	merchant := h.endpoint("/merchant")
	only := h.endpoint("/only", M{"event_types": []string{"sale.created"}})
	ada, bob := s.PartnerObject(h.ProgramID), s.PartnerObject(h.ProgramID)
	postback := h.endpoint("/postback", M{"partner_id": ada.String("id")})
	h.Deliver()
	for _, p := range []apitest.Answer{ada, bob} {
		click := s.Click(h.ProgramID, p.String("handle"))
		customer := s.Must(201,
			s.Post("/v1/customers",
				M{
					"program_id": h.ProgramID, "click_id": click.String("id"), "email": p.String("handle") + "@buyer.example",
				})).String("id")
		s.Sale(h.ProgramID, customer)
	}
	want := s.Events(h.ProgramID)
	got := h.sink.Wait(t, "/merchant", len(want))
	require.Len(t, got, len(want))
	for i, r := range got {
		require.Equal(t, string(want[i].Raw), r.Body, "the bytes as stored, in order")
		header := r.Header
		at, err := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
		require.NoError(t, err)
		require.Equal(t, s.Clock.Now().Unix(), at)
		when := time.Unix(at, 0)
		require.Equal(t, webhook.RailSignature(when, []byte(r.Body), merchant.String("secret")), header.Get("Rail-Signature"))
		require.Equal(t, webhook.StandardSignature(r.Event.String("id"), when, []byte(r.Body), merchant.String("secret")),
			header.Get("webhook-signature"))
		require.Equal(t,
			[]string{
				r.Event.String("type"), r.Event.String("id"), r.Event.String("id"), "1", "application/json", "Rail-Webhooks/1.0",
				r.Event.Body["request"].(M)["id"].(string),
			},
			[]string{
				header.Get("Rail-Event"), header.Get("Rail-Event-Id"), header.Get("webhook-id"), header.Get("Rail-Attempt"),
				header.Get("Content-Type"), header.Get("User-Agent"), header.Get("Rail-Request-Id"),
			})
		require.Regexp(t, `^whd_[0-9A-Za-z]+$`, header.Get("Rail-Delivery-Id"))
		require.Empty(t, header.Get("Accept-Encoding"))
		require.Empty(t, header.Get("Authorization"))
	}
	require.Len(t, h.sink.Wait(t, "/only", 2), 2)
	seen := map[string]int{}
	for _, r := range h.sink.Wait(t, "/postback", 4) {
		seen[r.Event.String("type")]++
		require.Equal(t, ada.String("id"), r.Event.Body["data"].(M)["partner_id"])
		require.NotContains(t, r.Body, "buyer.example")
	}
	require.Equal(t,
		map[string]int{"referral.created": 1, "referral.lead": 1, "referral.converted": 1, "commission.created": 1}, seen,
		"what is immediate and due needs no second event")
	_ = only
	log := h.settled(t, postback.String("id"), "delivered", 4)
	require.Equal(t, []any{int64(1), int64(200)}, []any{log[0].Int("attempts"), log[0].Int("response_code")})
	bodies := map[string]bool{}
	for _, r := range h.sink.Got("/postback") {
		bodies[r.Body] = true
	}
	require.True(t, bodies[log[0].String("request_body")], "the log shows what the sink got")
}

// TestRetrySchedule advances the clock through the 63 hours of a delivery that is never
// acknowledged. It gets eight attempts, each at its time, and does not delay later events.
func TestRetrySchedule(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	s := h.Server
	s.Clock.Set(time.Date(2026, 9, 1, 12, 7, 30, 0, time.UTC))
	id := h.endpoint("/bad", M{"event_types": []string{"affiliate.created"}}).String("id")
	first := ""
	h.sink.Answer = func(w http.ResponseWriter, r apitest.Received) {
		if r.Event.String("id") == first {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	s.Partner(h.ProgramID)
	first = s.Events(h.ProgramID)[0].String("id")
	s.Partner(h.ProgramID)
	h.Deliver()
	h.sink.Wait(t, "/bad", 2) // the second is not delayed by the first
	times := []string{}
	for n := 1; n < webhook.MaxAttempts; n++ {
		h.settled(t, id, "delivered", 1)
		d := h.last(t, id, n, "retrying")
		require.Equal(t, "The receiver answered 503.", d.String("error"))
		at, err := time.Parse(time.RFC3339, d.String("next_attempt_at"))
		require.NoError(t, err)
		times = append(times, at.Format("02T15:04"))
		s.Clock.Set(at.Add(-time.Second))
		require.Len(t, h.sink.Got("/bad"), n+1, "not before its time")
		s.Clock.Set(at)
		h.sink.Wait(t, "/bad", n+2)
	}
	require.Equal(t, []string{"01T12:31", "01T13:01", "01T13:31", "01T15:31", "02T03:31", "03T03:31", "04T03:31"}, times)
	d := h.last(t, id, 8, "failed")
	require.Nil(t, d.Body["next_attempt_at"])
	var attempts []string
	for _, r := range h.sink.Got("/bad") {
		if r.Event.String("id") == first {
			attempts = append(attempts, r.Header.Get("Rail-Attempt"))
			require.Equal(t, d.String("id"), r.Header.Get("Rail-Delivery-Id"))
		}
	}
	require.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7", "8"}, attempts)
}

// TestFailingEndpointIsLogged: the log has a line when an endpoint begins to fail and one when it
// recovers, but none for each attempt.
func TestFailingEndpointIsLogged(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	id := h.endpoint("/in", M{"event_types": []string{"affiliate.created"}}).String("id")
	var up atomic.Bool
	h.sink.Answer = func(w http.ResponseWriter, _ apitest.Received) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	for range 3 {
		h.Partner(h.ProgramID)
	}
	h.Deliver()
	h.settled(t, id, "retrying", 3)
	h.Clock.Advance(time.Hour)
	wait.Until(t, func() bool {
		return !slices.ContainsFunc(h.log(id), func(d apitest.Answer) bool { return d.Int("attempts") < 2 })
	}, "all are tried again")
	up.Store(true)
	h.Clock.Advance(2 * time.Hour)
	h.settled(t, id, "delivered", 3)
	wait.Until(t, func() bool { return strings.Contains(h.Log(), "webhook endpoint recovered") }, "told")
	require.Equal(t, 1, strings.Count(h.Log(), `msg="webhook endpoint began to fail" endpoint=`+id+
		` error="The receiver answered 503."`))
	require.Contains(t, h.Log(), `msg="webhook endpoint recovered" endpoint=`+id+" failures=6 after=3h")
	require.Equal(t, 2, strings.Count(h.Log(), "endpoint="+id))
}

// last waits until the oldest delivery of an endpoint has had n attempts.
func (h hooked) last(t *testing.T, id string, n int, status string) apitest.Answer {
	t.Helper()
	var d apitest.Answer
	wait.Until(t, func() bool {
		log := h.log(id)
		d = log[len(log)-1]
		return d.Int("attempts") == int64(n) && d.String("status") == status
	}, "attempt %d is written as %s", n, status)
	return d
}

// TestOneInFlight: several senders send to an endpoint one after the other, in the order of the
// events, while other endpoints hang.
func TestOneInFlight(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	const hanging = 15
	for i := range hanging {
		h.endpoint(fmt.Sprintf("/hangs/%d", i))
	}
	h.endpoint("/well")
	var busy atomic.Int64
	h.sink.Answer = func(_ http.ResponseWriter, r apitest.Received) {
		if strings.HasPrefix(r.Path, "/hangs") {
			apitest.Linger(3 * time.Second)
			return
		}
		busy.Add(1)
		apitest.Linger(time.Millisecond)
	}
	for range 3 {
		h.Deliver()
	}
	partner, _ := h.Referrer()
	customer := h.Customer(h.ProgramID, partner)
	apitest.AtOnce(8, func(int) apitest.Answer {
		for range 5 {
			h.Sale(h.ProgramID, customer)
		}
		return apitest.Answer{}
	})
	want := h.Events(h.ProgramID)
	committed := time.Now()
	got := h.sink.Wait(t, "/well", len(want))
	require.Less(t, time.Since(committed), 15*time.Second, "those that hang delay nobody")
	for i, r := range got {
		require.Equal(t, want[i].String("id"), r.Event.String("id"), "event %d of %d", i, len(want))
	}
	require.Equal(t, 1, h.sink.MostAtOnce("/well"))
	for i := range hanging {
		require.Equal(t, 1, h.sink.MostAtOnce(fmt.Sprintf("/hangs/%d", i)))
	}
}

func TestReplayAndPing(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	s := h.Server
	id := h.endpoint("/in", M{"event_types": []string{"affiliate.created", "sale.created"}}).String("id")
	var status atomic.Int64
	status.Store(200)
	h.sink.Answer = func(w http.ResponseWriter, _ apitest.Received) { w.WriteHeader(int(status.Load())) }
	h.Deliver()
	ping := s.Must(200, s.Post("/v1/webhook_endpoints/"+id+"/ping", nil))
	require.Equal(t, []any{"delivered", true, "affiliate.created", int64(200)}, []any{
		ping.String("status"), ping.Body["is_test"], ping.String("event_type"), ping.Int("response_code"),
	})
	require.Regexp(t, `^evt_test_`, ping.String("event_id"))
	sent := h.sink.Wait(t, "/in", 1)[0]
	require.NotContains(t, sent.Event.Body, "request")
	require.NotEmpty(t, sent.Header.Get("Rail-Request-Id"))
	status.Store(500)
	failed := s.Must(200, s.Post("/v1/webhook_endpoints/"+id+"/ping", M{"event_type": "payout.paid"}))
	require.Equal(t, []any{"failed", "payout.paid", "The receiver answered 500."}, []any{
		failed.String("status"), failed.String("event_type"), failed.String("error"),
	})
	s.Refused(409, "webhook_test_delivery", "", s.Post("/v1/webhook_deliveries/"+ping.String("id")+"/replay", nil))
	status.Store(200)

	s.Partner(h.ProgramID)
	h.settled(t, id, "delivered", 1)
	original := h.log(id)[0]
	require.Equal(t, original.Body, s.Must(200, s.Get("/v1/webhook_deliveries/"+original.String("id"))).Body)
	s.Refused(404, "resource_not_found", "program_id",
		s.Get("/v1/webhook_deliveries/"+original.String("id")+"?program_id="+s.Program()))
	replay := s.Must(202, s.Post("/v1/webhook_deliveries/"+original.String("id")+"/replay", nil))
	require.Equal(t, []any{original.String("id"), original.String("event_id"), "pending"}, []any{
		replay.String("replay_of"), replay.String("event_id"), replay.String("status"),
	})
	got := h.sink.Wait(t, "/in", 4)
	require.Equal(t, got[2].Body, got[3].Body)
	require.NotEqual(t, got[2].Header.Get("Rail-Delivery-Id"), got[3].Header.Get("Rail-Delivery-Id"))
	require.Equal(t, got[2].Header.Get("Rail-Event-Id"), got[3].Header.Get("Rail-Event-Id"))
	h.settled(t, id, "delivered", 2)
	for _, d := range h.log(id) {
		if d.String("id") == original.String("id") {
			require.Equal(t, original.Body, d.Body, "the old entry stays as it was")
		}
	}

	h.replaysOfTimes(t, id)
	s.Clock.Advance(30*24*time.Hour + time.Second)
	s.Refused(409, "webhook_event_expired", "", s.Post("/v1/webhook_deliveries/"+original.String("id")+"/replay", nil))
	s.Must(200, s.Post("/v1/webhook_endpoints/"+id, M{"enabled": false}))
	s.Refused(409, "webhook_endpoint_disabled", "", s.Post("/v1/webhook_endpoints/"+id+"/replay", M{
		"failed_since": s.Clock.Now().String(),
	}))
	s.Must(200, s.Post("/v1/webhook_endpoints/"+id+"/ping", nil))
	types := s.Must(200, s.Get("/v1/webhook_events"))
	require.Len(t, types.Data(), 48)
	require.Equal(t, "affiliate.updated",
		s.Must(200, s.Get("/v1/webhook_events?limit=1&starting_after=affiliate.created")).Data()[0]["type"])
}

// replaysOfTimes replays an endpoint's deliveries in a range of time.
func (h hooked) replaysOfTimes(t *testing.T, id string) {
	t.Helper()
	s := h.Server
	now := s.Clock.Now()
	window := s.Must(202, s.Post("/v1/webhook_endpoints/"+id+"/replay", M{
		"from": now.Days(-1).String(), "to": now.String(),
	}))
	require.EqualValues(t, 1, window.Int("queued"), "each event once, tests not")
	require.EqualValues(t, 0,
		s.Must(202, s.Post("/v1/webhook_endpoints/"+id+"/replay", M{"failed_since": now.Days(-1).String()})).Int("queued"))
	h.sink.Wait(t, "/in", 5)
	for _, c := range []struct {
		body        M
		code, param string
	}{
		{M{}, "parameter_missing", "from"}, {M{"from": now.String()}, "parameter_missing", "to"},
		{M{"failed_since": now.String(), "to": now.String()}, "parameters_exclusive", "failed_since"},
		{M{"from": now.Days(-30).Plus(-time.Second).String(), "to": now.String()}, "parameter_invalid", "to"},
		{M{"from": now.String(), "to": now.Days(-1).String()}, "parameter_invalid", "to"},
		{M{"failed_since": now.Days(-31).String()}, "parameter_invalid", "failed_since"},
	} {
		s.Refused(400, c.code, c.param, s.Post("/v1/webhook_endpoints/"+id+"/replay", c.body))
	}
}

// TestRotationByTime: after a rotation both secrets sign for a day, the new one
// first, and never more than two.
func TestRotationByTime(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	s := h.Server
	e := h.endpoint("/in", M{"event_types": []string{"affiliate.created"}})
	secrets := []string{e.String("secret")}
	rotate := func() {
		secrets = append([]string{
			s.Must(200, s.Post("/v1/webhook_endpoints/"+e.String("id")+"/rotate_secret", nil)).String("secret"),
		}, secrets...)
	}
	h.Deliver()
	n := 0
	signed := func(live ...string) {
		t.Helper()
		s.Partner(h.ProgramID)
		n++
		r := h.sink.Wait(t, "/in", n)[n-1]
		require.Equal(t, webhook.RailSignature(s.Clock.Now().Time, []byte(r.Body), live...), r.Header.Get("Rail-Signature"))
		require.Len(t, strings.Fields(r.Header.Get("webhook-signature")), len(live))
	}
	signed(secrets[0])
	rotate()
	signed(secrets[0], secrets[1])
	s.Clock.Advance(24*time.Hour - time.Second)
	signed(secrets[0], secrets[1])
	s.Clock.Advance(2 * time.Second)
	signed(secrets[0])
	rotate()
	rotate()
	signed(secrets[0], secrets[1])
}

// TestAutomaticDisable: twenty failed deliveries over five days disable an endpoint. Fewer
// failures, or a shorter time, do not.
func TestAutomaticDisable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		failed int
		span   time.Duration // from the first to the one before the failure
		one    string        // the status of one of the nineteen before it
		off    bool
	}{
		{"nineteen over six days", 18, 6 * 24 * time.Hour, "failed", false},
		{"twenty, but under five days", 19, 5*24*time.Hour - time.Minute, "failed", false},
		{"twenty over five days", 19, 5 * 24 * time.Hour, "failed", true},
		{"one success among them", 19, 6 * 24 * time.Hour, "delivered", false},
		{"the first too long ago", 19, 31 * 24 * time.Hour, "failed", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHooked(t)
			h.sink.Answer = func(w http.ResponseWriter, _ apitest.Received) { w.WriteHeader(http.StatusInternalServerError) }
			id := h.endpoint("/in", M{"event_types": []string{"affiliate.created"}}).String("id")
			h.Clock.Advance(40 * 24 * time.Hour)
			h.Partner(h.ProgramID)
			_, err := h.Pool.Exec(t.Context(), "UPDATE webhook_deliveries SET attempts = 7, status = 'retrying'")
			require.NoError(t, err)
			for i := range c.failed {
				at := h.Clock.Now().Add(-c.span + time.Duration(i)*time.Second)
				status := "failed"
				if i == 5 {
					status = c.one
				}
				_, err := h.Pool.Exec(t.Context(),
					`INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status, attempts, finished_at, created_at)
					SELECT $1, org_id, program_id, id, 'evt_old', 'affiliate.created', 0, $2, 8, $3, $3 FROM webhook_endpoints`,
					fmt.Sprintf("whd_old%d", i), status, at)
				require.NoError(t, err)
			}
			h.Deliver()
			h.last2(t, id)
			enabled := func() bool { return h.Get("/v1/webhook_endpoints/" + id).Body["enabled"] == true }
			if c.off { // the check runs after the result is stored
				wait.Until(t, func() bool { return !enabled() })
			}
			require.Equal(t, !c.off, enabled())
			if c.off {
				require.Contains(t, h.Log(), "turned off")
				h.Must(200, h.Post("/v1/webhook_endpoints/"+id, M{"enabled": true}))
			}
		})
	}
}

// last2 waits until no delivery of an endpoint is pending.
func (h hooked) last2(t *testing.T, id string) {
	t.Helper()
	wait.Until(t, func() bool {
		return !slices.ContainsFunc(h.log(id), func(d apitest.Answer) bool { return d.Body["next_attempt_at"] != nil })
	}, "nothing waits")
}

// TestPingOfHangingReceiver: a ping reports a receiver that does not answer, with and without an
// Idempotency-Key. Pings of one organization do not wait for those of another. Pings of partners
// leave a place for the organization's pings.
func TestPingOfHangingReceiver(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	s := h.Server
	postback := func() string { return h.endpoint("/hangs", M{"partner_id": s.Partner(h.ProgramID)}).String("id") }
	own, first, second, third := h.endpoint("/hangs",
		M{"event_types": []string{"payout.paid"}}).String("id"), postback(), postback(), postback()
	h.sink.Answer = func(_ http.ResponseWriter, r apitest.Received) {
		if r.Path == "/hangs" {
			apitest.Linger(11 * time.Second)
		}
	}
	ping := func(id string, headers ...string) apitest.Answer {
		return s.Do("POST", "/v1/webhook_endpoints/"+id+"/ping", s.Key, nil, headers...)
	}
	answers := make(chan apitest.Answer, 3)
	go func() { answers <- ping(first) }()
	h.sink.Wait(t, "/hangs", 1)
	s.Refused(429, "rate_limit_exceeded", "", ping(first, "Idempotency-Key", "again"))
	go func() { answers <- ping(second) }()
	h.sink.Wait(t, "/hangs", 2)
	require.Equal(t, "1", s.Refused(429, "rate_limit_exceeded", "", ping(third)).Header.Get("Retry-After"))
	go func() { answers <- ping(own, "Idempotency-Key", "ping") }()
	h.sink.Wait(t, "/hangs", 3)
	s.Refused(429, "rate_limit_exceeded", "", ping(own))
	s.Must(200, s.Get("/v1/webhook_endpoints/"+own))

	other := h.another()
	require.Equal(t, "delivered",
		other.Must(200,
			other.Post("/v1/webhook_endpoints/"+other.endpoint("/well").String("id")+"/ping", nil)).String("status"))
	for range 3 {
		a := s.Must(200, <-answers)
		require.Equal(t, []any{"failed", "There was no answer within 10 seconds."}, []any{
			a.String("status"), a.String("error"),
		})
	}
	require.Len(t, h.log(own), 1)
	h.sink.Answer = nil
	s.Must(200, ping(first, "Idempotency-Key", "again"))
}
