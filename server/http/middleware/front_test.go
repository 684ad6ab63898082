package middleware_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rail/openapi"
	"rail/server/auth"
	"rail/server/cli"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
)

type M = apitest.M

func TestMain(m *testing.M) { pgtest.Main(m) }

// refuse checks the envelope of a refusal: its status, type and code.
func refuse(t *testing.T, status int, kind, code string, a apitest.Answer) {
	t.Helper()
	require.Equal(t, status, a.Status, "%s", a.Raw)
	e, ok := a.Body["error"].(M)
	require.True(t, ok, "%s", a.Raw)
	require.Equal(t, kind, e["type"])
	require.Equal(t, code, e["code"])
	require.NotEmpty(t, e["message"])
}

func TestRefusalsOfThePath(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	tag := fmt.Sprintf(`{"program_id":%q,"name":"x"}`, program)
	refuse(t, 404, "not_found_error", "route_not_found", s.Get("/v1/nothing"))
	refuse(t, 404, "not_found_error", "route_not_found", s.Get("/v1/programs/"))
	for _, id := range []string{"%00", "%ff", "..%2Fx", strings.Repeat("x", 300), "part_1", "prg_none", "%20"} {
		refuse(t, 404, "not_found_error", "resource_not_found", s.Get("/v1/programs/"+id))
	}
	a := s.Do(http.MethodPut, "/v1/programs", s.Key, nil)
	refuse(t, 405, "invalid_request_error", "method_not_allowed", a)
	require.Equal(t, "GET, HEAD, POST", a.Header.Get("Allow"))
	refuse(t, 413, "invalid_request_error", "payload_too_large",
		s.Post("/v1/tags", `{"name":"`+strings.Repeat("x", 1<<20)+`"}`))
	for _, kind := range []string{
		"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "",
	} {
		refuse(t, 415, "invalid_request_error", "unsupported_media_type",
			s.Do("POST", "/v1/tags", s.Key, tag, "Content-Type", kind))
	}
	refuse(t, 415, "invalid_request_error", "unsupported_media_type",
		s.Do("POST", "/v1/tags", s.Key, tag, "Content-Encoding", "gzip"))
	// An operation without a body ignores an empty object.
	s.Must(200, s.Do("GET", "/v1/programs", s.Key, nil, "Content-Encoding", "gzip"))
	for _, body := range []string{`{"a":1}`, `"` + strings.Repeat("x", 1<<20) + `"`} {
		refuse(t, 400, "invalid_request_error", "parameter_unknown",
			s.Do("POST", "/v1/applications/app_1/approve", s.Key, body, "Content-Encoding", "gzip"))
		refuse(t, 401, "authentication_error", "api_key_missing", s.Do("POST", "/v1/applications/app_1/approve", "", body))
	}
	refuse(t, 400, "invalid_request_error", "parameter_unknown", s.Do("GET", "/llms.txt?x=1", "", nil))
	refuse(t, 400, "invalid_request_error", "unsupported_version",
		s.Do("GET", "/v1/programs", s.Key, nil, "X-Rail-Version", "2020-01-01"))
}

// TestMessages: a refusal names the mistake and the remedy.
func TestMessages(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, nil)
	customer := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "partner_id": partner})).String("id")
	endpoint := s.Must(201, s.Post("/v1/webhook_endpoints", M{"program_id": program, "url": "https://hooks.example/in"})).String("id")
	sale := M{"program_id": program, "customer_id": customer, "external_charge_id": "ch_1", "amount_minor": 1, "currency": "USD"}
	sale["occurred_at"] = 1760000000
	local := M{"program_id": program, "url": "http://127.0.0.1:3000/"}
	allowed := "url: the address is not public. On your own machine use rail listen, " +
		"or allow its network in RAIL_WEBHOOK_ALLOW_CIDRS."
	everything := "event_types[0] must be a type of event; leave event_types empty for all of them."
	for _, c := range []struct {
		want string
		got  apitest.Answer
	}{
		{"No such sale; part_… is a partner's id.", s.Get("/v1/sales/" + partner)},
		{"No such sale; part_… is a partner's id.", s.Post("/v1/sales/"+partner+"/refund", M{"amount_minor": 1})},
		{"No such partner; cus_… is a customer's id.", s.Post("/v1/partners/"+customer, M{"first_name": "x"})},
		{"No such payout batch; part_… is a partner's id.", s.Post("/v1/payout_batches/"+partner+"/cancel", M{})},
		{"No such tax form; part_… is a partner's id.", s.Get("/v1/tax_form_statuses/" + partner)},
		{"No such inbox event; part_… is a partner's id.", s.Get("/v1/inbox_events/" + partner)},
		{"No such sale.", s.Get("/v1/sales/sale_none")},
		{
			"group_id must be a group's id, such as grp_01kb2m4q8e7v9t3n5x6c0d1f2g. Also at fault: email, handle.",
			s.Post("/v1/partners", M{"program_id": program, "handle": 5, "group_id": "x"}),
		},
		{
			"program_id must be a program's id, such as prg_01kb2m4q8e7v9t3n5x6c0d1f2g. Also at fault: partner_id.",
			s.Get("/v1/links?program_id=x&partner_id=y"),
		},
		{"No such sale.", s.Get("/v1/sales/x")},
		{"No such path. Did you mean /v1/programs?", s.Get("/v2/programs")},
		{"No such path. Did you mean /v1/sales/sale_1?", s.Get("/v10/sales/sale_1")},
		{"No such event; part_… is a partner's id.", s.Get("/v1/events/" + partner)},
		{"No such partner; evt_… is an event's id.", s.Get("/v1/partners/evt_1")},
		{"This is a publishable key, which pages send as key; send an API key: rail_live_… or rail_test_….",
			s.Do("GET", "/v1/programs", "rail_pub_"+strings.Repeat("a", 32), nil)},
		{"This is the secret of a webhook endpoint; send an API key: rail_live_… or rail_test_….",
			s.Do("GET", "/v1/programs", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", nil)},
		{"This API key is not known.", s.Do("GET", "/v1/programs", "rail_live_"+strings.Repeat("a", 32), nil)},
		{"occurred_at must be an RFC 3339 date-time between 2000-01-01 and 2100-01-01, such as 2026-09-01T12:00:00Z.",
			s.Post("/v1/sales", sale)},
		{"items must not be empty.", s.Post("/v1/sales/batch", M{"program_id": program, "items": []M{}})},
		{allowed, s.Post("/v1/webhook_endpoints", local)},
		{allowed, s.Post("/v1/webhook_endpoints/"+endpoint, M{"url": "http://127.0.0.1:3000/"})},
		{"url: the address is not public.", s.Post("/v1/webhook_endpoints", M{
			"program_id": program, "partner_id": partner, "url": "http://127.0.0.1:3000/",
		})},
		{everything, s.Post("/v1/webhook_endpoints", M{
			"program_id": program, "url": "https://hooks.example/", "event_types": []string{"*"},
		})},
		{everything, s.Post("/v1/webhook_endpoints", M{
			"program_id": program, "url": "https://hooks.example/", "event_types": []string{"sale.*"},
		})},
	} {
		e, _ := c.got.Body["error"].(M)
		assert.Equal(t, c.want, e["message"], "%s", c.got.Raw)
	}
}

// TestFiltersRepeated: a list filter accepts its values in every form that clients use; a repeated
// single value is refused.
func TestFiltersRepeated(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	spec, err := openapi.Read(openapi.Bundle)
	require.NoError(t, err)
	operations, err := openapi.Operations(spec)
	require.NoError(t, err)
	seen := 0
	for _, o := range operations {
		for _, p := range o.Query {
			schema := p.Schema.Value
			if !schema.Type.Is("array") || p.Explode == nil || *p.Explode || strings.Contains(o.Path, "{") {
				continue
			}
			require.GreaterOrEqual(t, len(schema.Items.Value.Enum), 2, o.ID)
			seen++
			a, b := fmt.Sprint(schema.Items.Value.Enum[0]), fmt.Sprint(schema.Items.Value.Enum[1])
			path := o.Path + "?program_id=" + program + "&" + p.Name
			if o.ID == "listMaturingCommissions" || o.ID == "retrieveReport" {
				path = o.Path + "?program_id=" + program + "&from=2026-09-01&to=2026-09-30&" + p.Name
			}
			want := s.Must(200, s.Get(path+"="+a+","+b)).Body
			require.Equal(t, want, s.Must(200, s.Get(path+"="+a+"&"+p.Name+"="+b)).Body, o.ID)
			require.Equal(t, want, s.Must(200, s.Get(path+"[]="+a+"&"+p.Name+"[]="+b)).Body, o.ID)
			s.Refused(400, "parameter_invalid", p.Name, s.Get(path+"="+a+"&"+p.Name+"=nonsense"))
		}
	}
	require.Positive(t, seen)
	first := s.Partner(program, M{"status": "active"})
	s.Partner(program, M{"status": "pending"})
	one := s.Must(200, s.Get("/v1/partners?program_id="+program+"&status=active"))
	require.Equal(t, first, one.Data()[0]["id"])
	both := s.Must(200, s.Get("/v1/partners?program_id="+program+"&status=active&status=pending"))
	require.EqualValues(t, 2, both.Int("total_count"))
	s.Refused(400, "parameter_invalid", "limit", s.Get("/v1/partners?program_id="+program+"&limit=1&limit=2"))
}

func TestBadBodies(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	for name, body := range map[string]string{
		"nothing": ``, "no object": `[]`, "null": `null`, "text": `"x"`, "trailing": `{"program_id":"p"} {}`, "cut": `{"a":`,
		"comma": `{"a":1,}`,
		"twice": `{"name":"a","name":"b"}`, "case": `{"name":"a","Name":"b"}`, "nul": `{"name":"a\u0000b"}`,
		"surrogate": `{"name":"\ud800"}`,
		"utf8":      "{\"name\":\"a\xffb\"}", "deep": strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40),
		"bom": "\ufeff{}", "comment": `{/**/}`,
		"control": "{\"name\":\"a\nb\"}", "nan": `{"a":NaN}`, "leading": `{"a":01}`,
	} {
		a := s.Post("/v1/tags", body)
		require.Equal(t, 400, a.Status, "%s: %s", name, a.Raw)
		require.Equal(t, "invalid_json", a.Code(), "%s: %s", name, a.Raw)
	}
	s.Refused(400, "parameter_invalid", "holding_period_days",
		s.Post("/v1/programs/"+program, `{"holding_period_days":1.0}`))
	s.Refused(400, "parameter_invalid", "holding_period_days",
		s.Post("/v1/programs/"+program, `{"holding_period_days":1e1}`))
	s.Refused(400, "parameter_missing", "name", s.Post("/v1/tags", M{"program_id": program}))
	s.Refused(400, "parameter_unknown", "colour", s.Post("/v1/tags", M{
		"program_id": program, "name": "x", "colour": "red",
	}))
	s.Must(201, s.Post("/v1/tags", `{"program_id":"`+program+`","name":"\ud83d\ude00 ok"}`))
}

// TestOddNames: the refusal of a member names it, and stays small even for a long name.
func TestOddNames(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Refused(400, "parameter_invalid", "x.", s.Post("/v1/programs", `{"x":{"":1.5}}`))
	s.Refused(400, "parameter_invalid", "x[0].", s.Post("/v1/programs", `{"x":[{"":1e3}]}`))
	s.Refused(400, "parameter_unknown", "a\n\"b", s.Post("/v1/programs", M{"name": "x", "a\n\"b": 1}))
	long := strings.Repeat("é", 200_000)
	for _, body := range []string{
		`{"name":"x","` + long + `":1}`, `{"` + long + `":1.5}`, `{"` + long + `":1,"` + long + `":1}`,
		`{"name":1.` + strings.Repeat("1", 400_000) + `}`,
	} {
		a := s.Post("/v1/programs", body)
		require.Equal(t, 400, a.Status)
		require.Less(t, len(a.Raw), 6<<10)
		require.True(t, utf8.Valid(a.Raw))
	}
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	get := func(query string) apitest.Answer { return s.Get("/v1/partners?program_id=" + program + query) }
	s.Refused(400, "parameter_unknown", "stauts", get("&stauts=active"))
	s.Refused(400, "parameter_invalid", "status", get("&status=activ"))
	for _, status := range []string{"", "active,", ","} {
		s.Refused(400, "parameter_invalid", "status", get("&status="+status))
	}
	s.Must(200, get("&status=active,%20pending,active"))
	for _, path := range []string{
		"/v1/sales?occurred_after=", "/v1/commissions/maturing?to=2026-09-01&from=", "/v1/reports?from=",
	} {
		for _, day := range []string{"", "2026", "2026-02-31", "01.09.2026", "2026-9-1", "2026-09-01%2012:00:00"} {
			a := s.Get(path + day + "&program_id=" + program)
			require.Equal(t, 400, a.Status, path+day)
			require.Contains(t, string(a.Raw), "date", path+day)
		}
	}
	s.Refused(400, "invalid_expand", "expand[]", get("&expand=partner"))
	require.Contains(t, string(get("&expand=partner").Raw), "group", "names the allowed values")
	s.Refused(400, "invalid_include", "include[]", get("&include[]=money"))
	s.Refused(400, "parameters_exclusive", "ending_before", get("&starting_after=part_1&ending_before=part_2"))
	s.Refused(400, "invalid_cursor", "starting_after", get("&starting_after=part_none"))
	s.Refused(400, "parameter_invalid", "search", get("&search=%00"))
	s.Refused(400, "parameter_missing", "program_id", s.Get("/v1/partners"))
	s.Refused(404, "resource_not_found", "program_id", s.Get("/v1/partners?program_id=prg_none"))
	require.Equal(t, 400, get("&search=%zz").Status)
	one := s.Must(200, get("&expand=group,group&expand[]=group"))
	require.EqualValues(t, 0, one.Int("total_count"))
	s.Refused(400, "invalid_expand", "expand[]", s.Get("/v1/tags?program_id="+program+"&expand=partner"))
}

// TestAuthentication: the scheme is case-insensitive, and answers to a test key are marked. Stage
// G3 of the bar tests invalid credentials on every operation.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Must(200, s.Do("GET", "/v1/programs", "", nil, "Authorization", "bearer "+s.Key))
	test := s.NewKey(s.Org, false, "read")
	require.Equal(t, "false", s.Do("GET", "/v1/programs", test, nil).Header.Get("X-Rail-Livemode"))
	require.Equal(t, "false", s.Do("GET", "/v1/programs/prg_none", test, nil).Header.Get("X-Rail-Livemode"))
	require.Equal(t, "false", s.Do("POST", "/v1/tags", test, M{}).Header.Get("X-Rail-Livemode"))
	require.Empty(t, s.Get("/v1/programs").Header.Get("X-Rail-Livemode"))
}

// TestRevoked: a revoked key is refused within a second on every replica.
func TestRevoked(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	replica := apitest.On(t, s.DSN, s.Clock)
	key, id := s.NewKeyWith(s.Org, true, 1000, "read")
	both := []*apitest.Server{s, replica}
	for _, r := range both {
		r.Must(200, r.Do("GET", "/v1/programs", key, nil))
	}
	_, err := s.Pool.Exec(t.Context(), "UPDATE api_keys SET revoked_at = now() WHERE id = $1", id)
	require.NoError(t, err)
	revoked := time.Now()
	for _, r := range both {
		wait.Until(t, func() bool { return r.Do("GET", "/v1/programs", key, nil).Status == 401 })
	}
	require.Less(t, time.Since(revoked), 10*time.Second, "a second, and some for a busy machine")
	refuse(t, 401, "authentication_error", "api_key_revoked", s.Do("GET", "/v1/programs", key, nil))
}

// TestNoServerTakesARevokedKey: no server accepts a request that begins after `rail key revoke` has
// returned, even under load.
func TestNoServerTakesARevokedKey(t *testing.T) {
	t.Parallel()
	s := apitest.Real(t)
	servers := apitest.Processes(t, s, 2)
	key, id := s.NewKeyWith(s.Org, true, 1_000_000, "read")
	ask := func(p *apitest.Process) int { return p.Do("GET", "/v1/programs", key, nil).Status }
	revoked := make(chan struct{})
	var all sync.WaitGroup
	for i := range 8 {
		require.Equal(t, 200, ask(servers[i%2]))
		all.Go(func() {
			for over := false; !over; {
				select {
				case <-revoked:
					over = true
				default:
				}
				if status := ask(servers[i%2]); over {
					assert.Equal(t, 401, status)
				}
			}
		})
	}
	var out, errs bytes.Buffer
	status := cli.Run(t.Context(), &cli.Env{Out: &out, Err: &errs, Clock: clock.System{}, Environ: map[string]string{
		"RAIL_DATABASE_URL": s.DSN, "RAIL_SECRET_KEY": hex.EncodeToString(s.Config.SecretKey[:]),
		"RAIL_DATA_DIR": t.TempDir(),
	}}, []string{"key", "revoke", id})
	close(revoked)
	require.Zero(t, status, errs.String())
	all.Wait()
	require.Contains(t, out.String(), "no server accepts it")
}

func TestSignedRequests(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	key := s.NewKey(s.Org, true, "write")
	sign := func(t int64, body string) string {
		return fmt.Sprintf("t=%d,v1=%x", t, auth.Sign(key, fmt.Sprint(t), []byte(body)))
	}
	now := s.Clock.Now().Unix()
	body := `{"required":true}`
	post := func(signature, body string) apitest.Answer {
		if signature == "" {
			return s.Do("POST", "/v1/inbound_signing", key, body)
		}
		return s.Do("POST", "/v1/inbound_signing", key, body, "Rail-Signature", signature)
	}
	refuse(t, 401, "authentication_error", "signature_invalid", post(sign(now, body), `{"required":false}`))
	s.Must(200, post(sign(now, body), body))
	refuse(t, 401, "authentication_error", "signature_required", post("", `{"required":false}`))
	refuse(t, 401, "authentication_error", "signature_expired", post(sign(now-301, body), body))
	refuse(t, 401, "authentication_error", "signature_expired", post(sign(now+301, body), body))
	for _, ok := range []int64{0, 299, -299, 300, -300} {
		s.Must(200, post(sign(now+ok, body), body))
	}
	for _, bad := range []string{
		"x", "t=1", "v1=00", "t=" + fmt.Sprint(now) + ",v1=", "t=1.5,v1=00", sign(now, body) + ",t=1",
		strings.Replace(sign(now, body), "v1=", "v0=", 1),
	} {
		refuse(t, 401, "authentication_error", "signature_invalid", post(bad, body))
	}
	s.Must(200, post("x=1, "+strings.ToUpper(sign(now, body)[:0])+sign(now, body), body))
	s.Must(200, s.Get("/v1/programs"))
	s.Must(200, post(sign(now, `{"required":false}`), `{"required":false}`))
	s.Must(200, post("", body))
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	key, _ := s.NewKeyWith(s.Org, true, 25, "read")
	for i := range 25 {
		a := s.Must(200, s.Do("GET", "/v1/programs", key, nil))
		require.Equal(t, "25", a.Header.Get("X-RateLimit-Limit"))
		require.Equal(t, fmt.Sprint(24-i), a.Header.Get("X-RateLimit-Remaining"))
	}
	a := s.Do("GET", "/v1/programs", key, nil)
	refuse(t, 429, "rate_limit_error", "rate_limit_exceeded", a)
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	s.Must(200, s.Get("/v1/programs"))
	s.Clock.Advance(time.Second)
	s.Must(200, s.Do("GET", "/v1/programs", key, nil))
}

// TestRateLimitOverReplicas: all replicas together allow one burst of a key, and then its rate.
func TestRateLimitOverReplicas(t *testing.T) {
	t.Parallel()
	a := apitest.New(t)
	b := apitest.On(t, a.DSN, a.Clock)
	key, _ := a.NewKeyWith(a.Org, true, 25, "read")
	burst := func(n int) (passed int) {
		var all sync.WaitGroup
		var count atomic.Int64
		for i := range n {
			s := []*apitest.Server{a, b}[i%2]
			all.Go(func() {
				if s.Do("GET", "/v1/programs", key, nil).Status == 200 {
					count.Add(1)
				}
			})
		}
		all.Wait()
		return int(count.Load())
	}
	first := burst(60)
	require.LessOrEqual(t, first, 25)
	require.GreaterOrEqual(t, first, 20, "tokens that a replica keeps and does not use are few")
	a.Clock.Advance(200 * time.Millisecond)
	require.LessOrEqual(t, burst(20), 30-first)
	a.Clock.Advance(time.Minute)
	require.LessOrEqual(t, burst(60), 25)
	_, err := a.Pool.Exec(t.Context(), "ALTER TABLE rate_buckets RENAME TO away")
	require.NoError(t, err)
	a.Clock.Advance(time.Minute)
	require.Equal(t, 50, burst(60), "without the table each limits for itself")
}

// TestIdempotencyOfKeySettings: two keys of one organization that turn signing on with one
// Idempotency-Key are different requests.
func TestIdempotencyOfKeySettings(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	one, other := s.NewKey(s.Org, true, "write"), s.NewKey(s.Org, true, "write")
	sign := func(key string) apitest.Answer {
		return s.Do("POST", "/v1/inbound_signing", key, M{"required": true}, "Idempotency-Key", "all keys")
	}
	s.Must(200, sign(one))
	s.Refused(422, "idempotency_key_reused", "Idempotency-Key", sign(other))
	refuse(t, 401, "authentication_error", "signature_required", sign(one))
}

// TestStoredAnswersAreBounded: a large answer that cannot be stored is refused, and its key stays
// unused; small ones are still stored.
func TestStoredAnswersAreBounded(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	large := func(name string) apitest.Answer {
		noise := make([]byte, 6<<10)
		_, _ = rand.Read(noise)
		body := M{
			"program_id": program, "partner_id": partner, "external_customer_id": name,
			"metadata": M{"noise": hex.EncodeToString(noise)},
		}
		first := s.Do("POST", "/v1/customers", s.Key, body, "Idempotency-Key", name)
		if first.Status == 201 {
			again := s.Must(201, s.Do("POST", "/v1/customers", s.Key, body, "Idempotency-Key", name))
			require.Equal(t, first.Raw, again.Raw)
			require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
		}
		return first
	}
	s.Must(201, large("first"))
	var count int
	require.NoError(t,
		s.Pool.QueryRow(t.Context(), "SELECT octet_length(body) FROM idempotency_keys WHERE key = 'first'").Scan(&count))
	require.Less(t, count, 8<<10, "compressed before it is sealed")
	left, err := s.Pool.Exec(t.Context(), "UPDATE rate_buckets SET tokens = $1 WHERE id = $2", 3*count/2, "answers "+s.Org)
	require.NoError(t, err)
	require.EqualValues(t, 1, left.RowsAffected())
	s.Must(201, large("second"))
	refused := s.Refused(429, "rate_limit_exceeded", "Idempotency-Key", large("third"))
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	require.EqualValues(t, 2, s.Get("/v1/customers?program_id="+program).Int("total_count"), "nothing was done")
	s.Must(201, s.Do("POST", "/v1/tags", s.Key, M{"program_id": program, "name": "small"}, "Idempotency-Key", "small"))
	seconds, err := strconv.Atoi(refused.Header.Get("Retry-After"))
	require.NoError(t, err)
	s.Clock.Advance(time.Duration(seconds) * time.Second)
	s.Must(201, large("third"))
}
