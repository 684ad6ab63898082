package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// M is a JSON object.
type M = apitest.M

// versions are the protocol versions that the tests speak.
var versions = []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// newest is the protocol version of most tests.
const newest = "2026-07-28"

// bearer sends an API key with each request.
type bearer struct {
	key string
	via http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.via.RoundTrip(r)
}

// client is a connected MCP client.
type client struct {
	testing.TB
	*sdk.ClientSession
}

// open connects the official client to a server, over HTTP.
func open(t testing.TB, address, key, version string) *client {
	t.Helper()
	return connect(t, &sdk.StreamableClientTransport{
		Endpoint: address, HTTPClient: &http.Client{Transport: bearer{key, http.DefaultTransport}},
	}, version)
}

// connect connects the official client over a transport.
func connect(t testing.TB, over sdk.Transport, version string) *client {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1.2"}, nil)
	s, err := c.Connect(t.Context(), over, &sdk.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	require.Equal(t, version, s.InitializeResult().ProtocolVersion)
	return &client{t, s}
}

// answer is the result of a tool.
type answer struct {
	*client
	failed bool
	data   M
}

// call calls a tool.
func (c *client) call(tool string, arguments M) answer {
	c.Helper()
	res, err := c.CallTool(context.WithoutCancel(c.Context()), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(c, err)
	require.Len(c, res.Content, 1)
	text, _ := res.Content[0].(*sdk.TextContent)
	raw, err := json.Marshal(res.StructuredContent)
	require.NoError(c, err)
	require.JSONEq(c, string(raw), text.Text, "both forms of the result are the same")
	out := answer{c, res.IsError, M{}}
	require.NoError(c, json.Unmarshal(raw, &out.data))
	return out
}

// do calls an operation.
func (c *client) do(tool, operation string, arguments M) answer {
	c.Helper()
	return c.call(tool, M{"operation": operation, "arguments": arguments})
}

// ok fails the test if the call was refused, and returns its data.
func (a answer) ok() M {
	a.Helper()
	require.False(a, a.failed, "%v", a.data)
	data, _ := a.data["data"].(map[string]any)
	return data
}

// refused fails the test unless the call was refused with a code, and returns the message.
func (a answer) refused(code string) string {
	a.Helper()
	require.True(a, a.failed, "%v", a.data)
	of := a.data
	if inner, ok := of["data"].(map[string]any); ok {
		of = inner
	}
	about, _ := of["error"].(map[string]any)
	require.Equal(a, code, about["code"], "%v", a.data)
	message, _ := about["message"].(string)
	return message
}

// link fails the test unless a person must confirm the call, and returns the address.
func (a answer) link() string {
	a.Helper()
	require.False(a, a.failed, "%v", a.data)
	require.Equal(a, "prepared", a.data["status"], "%v", a.data)
	link, _ := a.data["confirm_url"].(string)
	require.NotEmpty(a, link)
	return link
}
