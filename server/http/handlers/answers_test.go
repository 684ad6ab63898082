package handlers_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/contract"
	"rail/server/ident"
)

// message is error.message of a refusal.
func message(a apitest.Answer) string {
	e, _ := a.Body["error"].(M)
	text, _ := e["message"].(string)
	return text
}

// misspelt swaps the first two letters that differ.
func misspelt(name string) string {
	for i := 1; i < len(name); i++ {
		if name[i] != name[i-1] {
			return name[:i-1] + name[i:i+1] + name[i-1:i] + name[i+1:]
		}
	}
	return name + "x"
}

// named returns the query parameters and the body members that the description gives an operation.
func named(t *testing.T, op operation) (query, body []string) {
	t.Helper()
	item := contract.Spec().Paths.Find(op.path)
	described := item.GetOperation(op.method)
	for _, p := range append(slices.Clip(item.Parameters), described.Parameters...) {
		if p.Value.In == "query" {
			query = append(query, p.Value.Name)
		}
	}
	if described.RequestBody != nil {
		for name := range described.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties {
			body = append(body, name)
		}
	}
	return query, body
}

// keyed returns the operations that an API key can call. Operations for browsers check for a
// publishable key first.
func keyed() []operation {
	return slices.DeleteFunc(slices.Clone(operations()), func(op operation) bool { return strings.HasPrefix(op.path, "/t/") })
}

// TestMisspelt: every operation refuses an unknown member or parameter. The message lists the known
// names and suggests the closest one.
func TestMisspelt(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, op := range keyed() {
		query, body := named(t, op)
		for _, name := range query {
			wrong := misspelt(strings.TrimSuffix(name, "[]"))
			a := s.Refused(400, "parameter_unknown", wrong, s.Do(op.method, op.url("x_1")+"?"+wrong+"=x", s.Key, nil))
			require.Contains(t, message(a), wrong+" is not a query parameter of "+op.id+". Did you mean ", op.id)
			require.Contains(t, message(a), "Known: ", op.id)
			require.Contains(t, message(a), name, op.id)
		}
		if op.method != http.MethodPost {
			continue
		}
		if !op.hasBody { // it may still name the program
			body = []string{"program_id"}
		}
		for _, name := range body {
			wrong := misspelt(name)
			a := s.Refused(400, "parameter_unknown", wrong, s.Do(op.method, op.url("x_1"), s.Key, M{wrong: nil}))
			require.Contains(t, message(a), wrong+" is not known here. Did you mean ", op.id)
			require.Contains(t, message(a), name, op.id)
		}
	}
}

// TestWrongValues: no message about a wrong value contains a regular expression or an HTML escape.
func TestWrongValues(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, op := range keyed() {
		query, body := named(t, op)
		for _, wrong := range []string{"!<&>", "x", ""} {
			for _, name := range query {
				plain(t, s.Do(op.method, op.url("x_1")+"?"+name+"="+strings.ReplaceAll(wrong, "&", "%26"), s.Key, nil))
			}
			for _, name := range body {
				plain(t, s.Do(op.method, op.url("x_1"), s.Key, M{name: wrong}))
				plain(t, s.Do(op.method, op.url("x_1"), s.Key, M{name: []any{wrong}}))
				plain(t, s.Do(op.method, op.url("x_1"), s.Key, M{name: M{"x": wrong}}))
				plain(t, s.Do(op.method, op.url("x_1"), s.Key, M{name: nil}))
			}
		}
	}
}

func plain(t *testing.T, a apitest.Answer) {
	t.Helper()
	require.Less(t, a.Status, 500, "%s", a.Raw)
	for _, unkind := range []string{"regular expression", "^", `\\u00`, "oneOf", "doesn't match"} {
		require.NotContains(t, string(a.Raw), unkind)
	}
}

// TestWrongIDs: an id of another type is refused wherever a request takes an id. The message names
// the id's type and the expected type.
func TestWrongIDs(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	requests := 0
	for _, op := range keyed() {
		refused := func(sl slot, a apitest.Answer) {
			t.Helper()
			other, owner := ident.Sale, "a sale's id"
			if sl.prefix == string(ident.Sale) {
				other, owner = ident.Tag, "a tag's id"
			}
			s.Refused(400, "parameter_invalid", sl.param(), a)
			want := `^\S+ must be an? [A-Za-z ]+'s id, such as ` + sl.prefix + `\w+; ` + string(other) + `… is ` + owner + `\.`
			require.Regexp(t, want+`( Also at fault: [a-z_, ]+\.)?$`, message(a), op.id)
			requests++
		}
		wrong := func(sl slot) string {
			if sl.prefix == string(ident.Sale) {
				return "tag_1"
			}
			return "sale_1"
		}
		for _, sl := range op.body {
			refused(sl, s.Do(op.method, op.url("x_1"), s.Key, M{sl.name: sl.value(wrong(sl))}))
		}
		if op.method == http.MethodPost {
			refused(slot{name: "program_id", prefix: "prg_"}, s.Do(op.method, op.url("x_1"), s.Key, M{"program_id": "sale_1"}))
		}
		for _, sl := range op.query {
			query := "?" + sl.name + "=" + wrong(sl)
			if sl.name != "program_id" {
				query += "&program_id=prg_1"
			}
			refused(sl, s.Do(op.method, op.url("x_1")+query, s.Key, nil))
		}
	}
	require.Greater(t, requests, 100)
	a := s.Post("/v1/tags", M{"program_id": "1", "name": "x"})
	require.Equal(t, "program_id must be a program's id, such as prg_01kb2m4q8e7v9t3n5x6c0d1f2g.", message(a))
}

func TestWords(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	for _, c := range []struct {
		path string
		body M
		text string
	}{
		{"partners", M{"email": "a"}, "email must be an email address such as ada@example.com."},
		{
			"partners", M{"email": "a@example.com", "handle": "Ada L"},
			"handle must be 2 to 32 lower-case letters, digits and hyphens with no hyphen at an end, such as ada-lovelace.",
		},
		{
			"partners", M{"email": "a@example.com", "country_code": "DEU"},
			"country_code must be an ISO 3166 code of two letters, such as DE.",
		},
		{
			"partners", M{"email": "a@example.com", "status": "actve"},
			"status must be one of active, pending. Did you mean active?",
		},
		{"partners", M{"email": nil}, "email must not be null."},
		{"tags", M{"name": "x", "color": "red"}, "color must be # and six hexadecimal digits, such as #64748B."},
		{"tags", M{"name": ""}, "name must not be empty."},
		{"tags", M{"name": 5}, "name must be a string."},
		{"tags", M{"name": strings.Repeat("x", 256)}, "name must have at most 255 characters."},
		{
			"programs", M{"name": "x", "website_url": "x.example", "currency": "USD"},
			"website_url must be an absolute http or https URL.",
		},
		{
			"programs", M{"name": "x", "website_url": "https://x.example", "currency": "US"},
			"currency must be an ISO 4217 code of three letters, such as USD.",
		},
		{
			"programs", M{"name": "x", "website_url": "https://x.example", "currency": "USD", "cookie_days": 0},
			"cookie_days must be at least 1.",
		},
	} {
		body := M{"program_id": program}
		maps.Copy(body, c.body)
		a := s.Post("/v1/"+c.path, body)
		require.Equal(t, 400, a.Status, "%s", a.Raw)
		require.Equal(t, c.text, message(a))
	}
	require.Contains(t, string(s.Do("GET", "/v1/programs", "", nil).Raw), "Bearer <key>", "as people write it")
}

func TestNoSuchPath(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for path, nearest := range map[string]string{
		"/programs": "/v1/programs", "/v1/program": "/v1/programs", "/v1/programs/": "/v1/programs",
		"/partners/part_1":   "/v1/partners/part_1",
		"/v1/payout-batches": "/v1/payout_batches", "/v1/sale/sale_1/refund": "/v1/sales/sale_1/refund",
		"/llm.txt":    "/llms.txt",
		"/v1/nothing": "", "/v1": "", "/v1/%ff": "", "/v1/" + strings.Repeat("x", 500): "", "/a/b/c/d/e/f": "",
	} {
		a := s.Refused(404, "route_not_found", "", s.Get(path))
		if nearest == "" {
			require.Equal(t, "No such path.", message(a), path)
		} else {
			require.Equal(t, "No such path. Did you mean "+nearest+"?", message(a), path)
		}
	}
}

// TestHead: every operation answers HEAD like GET, without the body.
func TestHead(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	own := populate(s, "ours")
	requests := 0
	for _, op := range operations() {
		if op.method != http.MethodGet {
			continue
		}
		for _, path := range []string{
			op.url(own[op.prefix()]) + "?program_id=" + own["prg_"] + op.window(), op.url("x_1") + "?nonsense=1",
		} {
			get, head := s.Do(http.MethodGet, path, s.Key, nil, "Accept-Encoding",
				"identity"), s.Do(http.MethodHead, path, s.Key, nil)
			require.Equal(t, get.Status, head.Status, path)
			require.Empty(t, head.Raw, path)
			require.EqualValues(t, len(get.Raw), head.Length, path)
			for _, changing := range []string{
				"Date", "Rail-Request-Id", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Content-Length",
			} {
				get.Header.Del(changing)
				head.Header.Del(changing)
			}
			require.Equal(t, get.Header, head.Header, path)
			requests++
		}
	}
	require.Greater(t, requests, 100)
	a := s.Do(http.MethodHead, "/v1/programs", "", nil)
	require.Equal(t, 401, a.Status)
	require.NotZero(t, a.Length)
	a = s.Do(http.MethodHead, "/v1/inbound_signing", s.Key, nil)
	require.Equal(t, 405, a.Status)
	require.Equal(t, "POST", a.Header.Get("Allow"))
	for _, path := range []string{"/docs", "/docs/start.js", "/healthz", "/readyz", "/llms.txt"} {
		require.EqualValues(t, len(s.Do("GET", path, "", nil).Raw), s.Do(http.MethodHead, path, "", nil).Length, path)
	}
}
