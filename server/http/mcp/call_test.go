package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// headers are those of an MCP request of an old protocol, whose session names the client "tester 1.2".
var headers = []string{
	"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-11-25",
	"Mcp-Session-Id", "rail-dGVzdGVyIDEuMg",
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// TestReadsWithoutWrite: a client writes only if it asks for it and its key has a scope for it.
func TestReadsWithoutWrite(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	reader := s.NewKey(s.Org, true, "read")
	partners := s.NewKey(s.Org, true, "read", "partners:write")
	create := M{"email": "ada@partner.example"}
	for name, c := range map[string]*client{
		"not asked": open(t, s.URL+"/mcp", s.Key, newest), "asked not to": open(t, s.URL+"/mcp?write=false", s.Key, newest),
		"no scope": open(t, s.URL+"/mcp?write", reader, newest),
	} {
		require.Contains(t, c.do("partners", "createPartner", create).refused("parameter_unknown"), "is not one of this tool", name)
		require.NotEmpty(t, c.do("programs", "listPrograms", nil).ok()["data"], name)
	}
	c := open(t, s.URL+"/mcp?write", partners, newest)
	c.do("partners", "createPartner", create).ok()
	require.Contains(t, c.do("clicks", "createClick", M{
		"value": "x", "landing_url": "https://shop.example/", "visitor_token": "v",
	}).refused("insufficient_scope"), "lacks a scope")
	require.Len(t, s.Must(200, s.Get("/v1/partners?program_id="+program)).Data(), 1)
}

// TestRefusals: errors of the API come as errors of the tool, with their code, parameter and message.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Program()
	c := open(t, s.URL+"/mcp?write", s.Key, newest)
	for _, x := range []struct {
		tool          string
		call          M
		code, message string
	}{
		{"sales", M{"operation": "createSales"}, "parameter_unknown", "Did you mean createSale?"},
		{"sales", M{"operation": "listPartners"}, "parameter_unknown", "is not one of this tool"},
		{"sales", M{}, "parameter_unknown", "Known: "},
		{"sales", M{"operation": "listSales", "other": 1}, "parameter_invalid", "unknown field"},
		{"sales", M{"operation": "listSales", "arguments": 5}, "parameter_invalid", "do not have its form"},
		{"sales", M{"operation": "listSales", "arguments": M{"limt": 5}}, "parameter_unknown", "Did you mean limit?"},
		{"sales", M{"operation": "listSales", "arguments": M{"limit": M{}}}, "parameter_invalid", "limit must be"},
		{"sales", M{"operation": "retrieveSale"}, "parameter_missing", "id"},
		{"sales", M{"operation": "retrieveSale", "arguments": M{"id": "../programs"}}, "resource_not_found", ""},
		{"sales", M{"operation": "createSale", "arguments": M{"amount_minor": 5}}, "parameter_missing", "external_charge_id"},
		{"sales", M{"operation": "refundSale", "arguments": M{"id": "sale_x"}}, "resource_not_found", ""},
		{"sales", M{"operation": "refundSale", "arguments": M{"id": "sale_x", "amount_minor": "much"}}, "parameter_invalid", "amount_minor"},
		{"find", M{"query": ""}, "parameter_missing", "query"},
		{"find", M{"query": strings.Repeat("long ", 50)}, "parameter_invalid", "200 bytes"},
		{"explain", M{"id": "prg_1"}, "parameter_invalid", "commission"},
		{"explain", M{"id": "com_unknown"}, "resource_not_found", ""},
	} {
		require.Contains(t, c.call(x.tool, x.call).refused(x.code), x.message, "%v", x)
	}
}

// TestAdmission: a request needs a known key, without required signatures, and the bounds of any request hold.
func TestAdmission(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Refused(401, "api_key_missing", "", s.Do("POST", "/mcp", "", ping, headers...))
	s.Refused(401, "api_key_invalid", "", s.Do("POST", "/mcp", "rail_live_x", ping, headers...))
	s.Refused(400, "parameter_unknown", "writ", s.Do("POST", "/mcp?writ", s.Key, ping, headers...))
	s.Refused(400, "parameter_invalid", "write", s.Do("POST", "/mcp?write=perhaps", s.Key, ping, headers...))
	s.Refused(413, "payload_too_large", "", s.Do("POST", "/mcp", s.Key, strings.Repeat(" ", 1<<20+1), headers...))
	many := "[" + strings.Repeat(ping+",", 20) + ping + "]"
	s.Refused(413, "payload_too_large", "", s.Do("POST", "/mcp", s.Key, many, headers...))
	require.Equal(t, 405, s.Do("GET", "/mcp", s.Key, nil, "Accept", "text/event-stream").Status)
	require.Equal(t, 405, s.Do("DELETE", "/mcp", s.Key, nil).Status)
	signing := s.NewKey(s.Org, true, "write")
	s.Must(200, s.Do("POST", "/v1/inbound_signing", signing, M{"required": true}))
	s.Clock.Advance(time.Minute)
	s.Refused(401, "signature_required", "", s.Do("POST", "/mcp", signing, ping, headers...))
	for _, body := range []string{"", "x", "{}", "[]", "null", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}`} {
		require.Less(t, s.Do("POST", "/mcp", s.Key, body, headers...).Status, 500, body)
	}
}

// TestBehindProxy: a proxy on the same machine passes on the public name.
func TestBehindProxy(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/mcp", strings.NewReader(ping))
	require.NoError(t, err)
	r.Host = "rail.example"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.Key)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	s.Must(200, s.Send(r))
}

// TestRateLimit: messages and the requests of tools count against the key's limit.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Program()
	key, _ := s.NewKeyWith(s.Org, true, 5, "read")
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"programs","arguments":{"operation":"listPrograms"}}}`
	for range 2 { // a message and its request of the API
		s.Must(200, s.Do("POST", "/mcp", key, list, headers...))
	}
	limited := s.Must(200, s.Do("POST", "/mcp", key, list, headers...))
	require.Contains(t, string(limited.Raw), "rate_limit_exceeded", "the fifth token was the message's")
	s.Refused(429, "rate_limit_exceeded", "", s.Do("POST", "/mcp", key, list, headers...))
	s.Clock.Advance(time.Second)
	s.Must(200, s.Do("POST", "/mcp", key, list, headers...))
}

// TestOnce: a repeated creation is done once, and a client's own key repeats any write.
func TestOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	c := open(t, s.URL+"/mcp?write", s.Key, newest)
	tag := M{"name": "VIP"}
	first := c.do("tags", "createTag", tag)
	again := c.do("tags", "createTag", tag)
	require.Equal(t, first.ok()["id"], again.ok()["id"])
	require.Equal(t, []any{nil, true}, []any{first.data["replayed"], again.data["replayed"]})
	s.Clock.Advance(11 * time.Minute)
	require.NotContains(t, c.do("tags", "createTag", tag).data, "replayed")
	id := first.ok()["id"]
	rename := func(name, once string) answer {
		return c.call("tags", M{
			"operation": "updateTag", "arguments": M{"id": id, "name": name}, "idempotency_key": once,
		})
	}
	require.Equal(t, "A", rename("A", "one").ok()["name"])
	require.Equal(t, true, rename("A", "one").data["replayed"])
	require.Contains(t, rename("B", "one").refused("idempotency_key_reused"), "different request")
	require.Contains(t, rename("B", strings.Repeat("x", 101)).refused("parameter_invalid"), "100 characters")
	require.NotEmpty(t, s.Must(200, s.Get("/v1/tags?program_id="+program)).Data())
}

// TestClientNames: the name of a client is cleaned and bounded, and a session that is not the server's names none.
func TestClientNames(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	begin := func(name, version string) string {
		info, err := json.Marshal(M{"name": name, "version": version})
		require.NoError(t, err)
		a := s.Must(200, s.Do("POST", "/mcp?write", s.Key, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":`+
			`"2025-06-18","capabilities":{},"clientInfo":`+string(info)+`}}`, "Accept", "application/json, text/event-stream"))
		return a.Header.Get("Mcp-Session-Id")
	}
	long := strings.Repeat("long ", 40)
	for session, want := range map[string]string{
		begin("Claude\u202e\x00 Code\n", "2.1"): "Claude Code 2.1", begin("", ""): "an MCP client", "": "an MCP client",
		begin(long, "1"): strings.TrimSpace(long[:100]), "rail-!": "an MCP client", "other": "an MCP client",
		begin("Ada", strings.Repeat("9", 300)): "Ada " + strings.Repeat("9", 96),
	} {
		s.Must(200, s.Do("POST", "/mcp?write", s.Key, M{
			"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": M{"name": "tags", "arguments": M{
				"operation": "createTag", "arguments": M{"name": apitest.Unique("tag")},
			}},
		}, "Accept", "application/json, text/event-stream", "Mcp-Session-Id", session))
		s.Clock.Advance(time.Second)
		newest := s.Must(200, s.Get("/v1/audit_log_entries?limit=1&program_id="+program)).Data()[0]
		require.Equal(t, want, newest["client"], session)
	}
}
