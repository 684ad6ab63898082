package mcp_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"rail/server/cli"
	"rail/server/harness/apitest"
)

// stdio connects the official client to `rail mcp`.
func stdio(t *testing.T, s *apitest.Server, key, version string, flags ...string) *client {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	toCommand, fromClient := io.Pipe()
	toClient, fromCommand := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, &cli.Env{
			In: toCommand, Out: fromCommand, Err: io.Discard, Clock: s.Clock,
			Environ: map[string]string{"RAIL_API_URL": s.URL, "RAIL_API_KEY": key},
		}, append([]string{"mcp"}, flags...))
	}()
	t.Cleanup(func() {
		_ = fromClient.Close()
		require.Zero(t, <-ended)
		stop()
	})
	return connect(t, &sdk.IOTransport{Reader: toClient, Writer: fromClient}, version)
}

// TestVersionsAndTransports does the main job with the official client in each protocol version, over both transports:
// it reads, finds, writes, and prepares. The audit log names the client.
func TestVersionsAndTransports(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		for name, open := range map[string]func(*testing.T, *apitest.Server, string) *client{
			"http": func(t *testing.T, s *apitest.Server, version string) *client {
				return open(t, s.URL+"/mcp?write", s.Key, version)
			},
			"stdio": func(t *testing.T, s *apitest.Server, version string) *client {
				return stdio(t, s, s.Key, version, "--write")
			},
		} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				mainJob(t, apitest.New(t), version, open)
			})
		}
	}
}

func mainJob(t *testing.T, s *apitest.Server, version string, open func(*testing.T, *apitest.Server, string) *client) {
	t.Helper()
	program := s.Program()
	s.Flow(program)
	c := open(t, s, version)
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Greater(t, len(list.Tools), 20)
	resources, err := c.ListResources(t.Context(), nil)
	require.NoError(t, err)
	text, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: resources.Resources[0].URI})
	require.NoError(t, err)
	require.Contains(t, text.Contents[0].Text, "# ")

	// program_id is that of the only program.
	partner := c.do("partners", "createPartner", M{"email": "ada@partner.example", "first_name": "Ada"}).ok()
	customer := c.do("customers", "createCustomer", M{"partner_id": partner["id"], "external_customer_id": "cus_1"}).ok()
	sale := c.do("sales", "createSale", M{
		"customer_id": customer["id"], "external_charge_id": "ch_1", "amount_minor": 10000, "currency": "USD",
	}).ok()
	require.Equal(t, partner["id"], sale["partner_id"])
	found, _ := c.do("sales", "listSales", M{"partner_id": partner["id"], "limit": 5}).ok()["data"].([]any)
	require.Len(t, found, 1)
	require.Contains(t, c.do("sales", "refundSale", M{"id": sale["id"]}).link(), s.Config.BaseURL+"/console/confirm/")
	refused := c.do("partners", "retrievePartner", M{"id": "part_unknown"})
	require.NotEmpty(t, refused.refused("resource_not_found"))

	log := s.Must(200, s.Get("/v1/audit_log_entries?program_id="+program)).Data()
	require.NotEmpty(t, log)
	for _, entry := range log {
		require.Equal(t, "tester 1.2", entry["client"], "%v", entry)
		require.Equal(t, "api_key", entry["actor_type"])
	}
}

// TestSeveralServers: each message goes to another server of one database.
func TestSeveralServers(t *testing.T) {
	t.Parallel()
	first := apitest.New(t)
	first.Program()
	second := apitest.On(t, first.DSN, first.Clock)
	for _, version := range versions {
		both := &alternating{to: []string{first.URL, second.URL}}
		c := connect(t, &sdk.StreamableClientTransport{
			Endpoint: first.URL + "/mcp?write", HTTPClient: &http.Client{Transport: bearer{first.Key, both}},
		}, version)
		for i := range 4 {
			c.do("partners", "createPartner", M{"email": apitest.Unique("ada") + "@partner.example"}).ok()
			require.Len(t, first.Must(200, first.Get("/v1/programs")).Data(), 1, i)
		}
		require.Greater(t, both.n, 4)
	}
}

// alternating sends each request to the next server.
type alternating struct {
	to []string
	n  int
}

func (a *alternating) RoundTrip(r *http.Request) (*http.Response, error) {
	next, err := r.URL.Parse(a.to[a.n%len(a.to)] + r.URL.RequestURI())
	if err != nil {
		return nil, err
	}
	a.n++
	r.URL, r.Host = next, next.Host
	return http.DefaultTransport.RoundTrip(r)
}
