package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"rail/openapi"
	"rail/server/cli/sample"
	"rail/server/harness/apitest"
	"rail/server/outbound/webhook"
	"rail/server/secret"
)

// neverThere are values that a list cannot contain.
var neverThere = map[string][]string{
	"/v1/commissions/maturing status":  {"due", "paid", "rejected", "voided"}, // maturing ones are pending
	"/v1/commissions/maturing kind":    {"clawback"},                          // a clawback is due at once
	"/v1/programs status":              {"paused"},                            // the sample is one program
	"/v1/processor_connections status": {"pending"},                           // a person is connecting a processor
	"/v1/payout_rails status":          {"active", "disconnected"},            // the sample pays no one
	"/v1/payout_rails kind":            {"paypal", "webhook"},
	"/v1/imports status":               {"reading", "ready", "writing", "done", "failed", "undoing", "undone"}, // the sample moved from nowhere
	"/v1/mails status":                 {"queued", "sending", "sent", "failed"},                                // the sample sends nothing
}

// TestSampleHasEveryState requests each list of the description with each status and kind that its
// objects may have. It uses the list's filter if there is one.
func TestSampleHasEveryState(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	require.NoError(t, sample.Load(t.Context(), s.Pool, keeper, s.Org, s.Clock.Now()))
	program := fmt.Sprint(s.Get("/v1/programs").Data()[0]["id"])
	requests := 0
	for path, item := range document(t).Paths.Map() {
		if item.Get == nil || itemOf(item.Get) == nil {
			continue
		}
		for _, list := range listsAt(s, item.Get, path, program) {
			for _, member := range []string{"status", "kind"} {
				for _, value := range valuesOf(itemOf(item.Get), member) {
					if slices.Contains(neverThere[path+" "+member], value) {
						continue
					}
					requests++
					require.True(t, listsValue(s, list, item.Get, member, value), "%s has no %s %s", path, member, value)
				}
			}
		}
	}
	require.Greater(t, requests, 50)
}

func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi.Read(openapi.Bundle)
	require.NoError(t, err)
	return doc
}

// itemOf returns the schema of a list's items, or nil for an operation without a list.
func itemOf(op *openapi3.Operation) *openapi3.Schema {
	ok := op.Responses.Status(200)
	if ok == nil || ok.Value.Content.Get("application/json") == nil {
		return nil
	}
	data := ok.Value.Content.Get("application/json").Schema.Value.Properties["data"]
	if data == nil || data.Value.Items == nil {
		return nil
	}
	return data.Value.Items.Value
}

func valuesOf(of *openapi3.Schema, member string) (values []string) {
	ref := of.Properties[member]
	if ref == nil {
		return nil
	}
	for _, schema := range append(openapi3.SchemaRefs{ref}, ref.Value.OneOf...) {
		for _, v := range schema.Value.Enum {
			values = append(values, fmt.Sprint(v))
		}
	}
	return values
}

// listsAt returns the addresses of a list. For a list below an object, it returns one address per
// object.
func listsAt(s *apitest.Server, op *openapi3.Operation, path, program string) []string {
	query := "?limit=100&program_id=" + program
	if from := op.Parameters.GetByInAndName("query", "from"); from != nil && from.Required {
		query += "&from=2026-08-01&to=2026-12-31"
	}
	above, below, nested := strings.Cut(path, "/{id}/")
	if !nested {
		return []string{path + query}
	}
	for _, o := range s.Must(200, s.Get(above+query)).Data() {
		if at := above + "/" + fmt.Sprint(o["id"]) + "/" + below; len(s.Must(200, s.Get(at)).Data()) > 0 {
			return []string{at + "?program_id=" + program}
		}
	}
	return nil
}

// listsValue reports whether the list contains an object whose member has that value.
func listsValue(s *apitest.Server, list string, op *openapi3.Operation, member, value string) bool {
	if op.Parameters.GetByInAndName("query", member) != nil {
		return len(s.Must(200, s.Get(list+"&"+member+"="+value)).Data()) > 0
	}
	for after := ""; ; {
		page := s.Must(200, s.Get(list+after))
		if slices.ContainsFunc(page.Data(), func(o map[string]any) bool { return o[member] == value }) {
			return true
		}
		if page.Body["has_more"] != true || op.Parameters.GetByInAndName("query", "starting_after") == nil {
			return false
		}
		after = "&starting_after=" + fmt.Sprint(page.Data()[len(page.Data())-1]["id"])
	}
}

// Nothing is sent to the sample's endpoint, and its campaigns and payouts are not sent.
func TestSampleSendsNothing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Loopback)
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	require.NoError(t, sample.Load(t.Context(), s.Pool, keeper, s.Org, s.Clock.Now()))
	program := fmt.Sprint(s.Get("/v1/programs").Data()[0]["id"])
	state := func() string {
		var out []byte
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT json_agg(x ORDER BY x.id) FROM (
			SELECT id, status, attempts FROM webhook_deliveries WHERE starts_with(id, 'sample_') UNION ALL SELECT id, status, 0 FROM campaigns
			UNION ALL SELECT id, status, submissions FROM payouts) x`).Scan(&out))
		require.True(t, json.Valid(out))
		return string(out)
	}
	before := state()
	s.Clock.Advance(1000 * time.Hour)
	for _, job := range []string{"payouts-due", "auto-payouts", "send-campaigns", "advance-sequences", "risk-sweep"} {
		apitest.RunJob(t, s, job)
	}
	sink, own := apitest.NewSink(t), s.Program()
	s.Must(201, s.Post("/v1/webhook_endpoints", M{"program_id": own, "url": sink.URL + "/own"}))
	guard := webhook.NewGuard(s.Config.WebhookAllowCIDRs, false, "")
	s.DeliverBy(func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "northwind") {
			t.Errorf("the sender went to %s", address)
		}
		return guard.DialContext(ctx, network, address)
	})
	for n := range 2 { // the sender has searched other organizations too
		s.Partner(own)
		sink.Wait(t, "/own", n+1)
	}
	require.Equal(t, before, state())
	require.Empty(t, s.EventTypes(program))
}
