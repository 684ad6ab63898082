package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
)

// stripeAPI imitates Stripe's webhook endpoints, for keys that may write them.
type stripeAPI struct {
	mu        sync.Mutex
	endpoints []map[string]any
	created   int
}

func (a *stripeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, key, _ := strings.Cut(r.Header.Get("Authorization"), "Bearer ")
	id, one := strings.CutPrefix(r.URL.Path, "/v1/webhook_endpoints/")
	switch {
	case key != "rk_test_good":
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"error":{"message":"The key lacks a permission."}}`)
	case r.Method == http.MethodPost:
		a.created++
		e := map[string]any{
			"id": fmt.Sprint("we_", a.created), "url": r.FormValue("url"), "status": "enabled", "events": r.Form["enabled_events[]"],
		}
		a.endpoints = append(a.endpoints, e)
		_ = json.NewEncoder(w).Encode(map[string]any{"id": e["id"], "secret": fmt.Sprint("whsec_", a.created)})
	case r.Method == http.MethodDelete && one:
		a.endpoints = slices.DeleteFunc(a.endpoints, func(e map[string]any) bool { return e["id"] == id })
		fmt.Fprint(w, `{"deleted":true}`)
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"data": a.endpoints})
	}
}

func (a *stripeAPI) urls() []any {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []any
	for _, e := range a.endpoints {
		all = append(all, e["url"])
	}
	return all
}

// TestStripeBackfill: events visible to a connection's key are read and printed, and an obstacle is explained.
func TestStripeBackfill(t *testing.T) {
	t.Parallel()
	api := &stripetest.API{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	w := newSealing(t)
	w.environ["RAIL_STRIPE_URL"] = server.URL
	backfill := strings.Fields("stripe backfill --since 2026-08-20")
	_, _, errs := w.run(backfill...)
	require.Contains(t, errs, "no program is connected to Stripe")
	connect := strings.Fields("processor connect stripe --program prg_1 --test --secret whsec_1 --replace")
	w.object(connect...)
	require.Contains(t, w.must(backfill...), "skipped: the connection has no API key")
	id := w.object(append(connect, "--api-key", "rk_test_good")...)["id"].(string)
	p := stripetest.Purchase{
		Version: stripetest.Clover, Name: "1", At: w.now.Now().AddDate(0, 0, -3), Customer: "cus_1", Invoiced: true,
		Amount: 2400, Currency: "usd", Email: "a@example.com",
	}
	api.Add(p)
	api.Happened(p.Event("invoice.paid", p.Invoice()))
	found := w.object(append(backfill, "--connection", id)...)
	one := found["connections"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"backfill", id, 1.0, 1.0, 1.0}, []any{
		found["object"], one["connection_id"], one["seen"], one["missing"], one["ignored"],
	})
	require.Equal(t, "no_partner", one["differences"].([]any)[0].(map[string]any)["reason_code"])
	api.Answer(http.StatusForbidden)
	status, out, errs := w.run(backfill...)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "resume with --connection "+id+" --since 2026-08-20")
	require.Contains(t, out, id)
	for args, says := range map[string]string{
		"": "--since must be", "--since 2026-13-01": "--since must be", "--since 2027-01-01": "is in the future",
		"--since 2026-08-20 --connection pco_none": "no connection",
	} {
		_, _, errs := w.run(append([]string{"stripe", "backfill"}, strings.Fields(args)...)...)
		require.Contains(t, errs, says, args)
	}
}

// TestProcessorStripe: with a key, the endpoint at Stripe is created and deleted with the connection.
func TestProcessorStripe(t *testing.T) {
	t.Parallel()
	api := &stripeAPI{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	w := newSealing(t)
	w.environ["RAIL_STRIPE_URL"] = server.URL
	connect := strings.Fields("processor connect stripe --program prg_1 --test --outside-checkout --api-key rk_test_good")

	first := w.object(connect...)
	require.Equal(t, []any{false, true, nil}, []any{first["livemode"], first["outside_checkout"], first["secret"]})
	require.Equal(t, []any{first["url"]}, api.urls())
	require.True(t, strings.HasSuffix(first["url"].(string), "/hooks/stripe/"+first["id"].(string)))
	require.Contains(t, api.endpoints[0]["events"], "invoice.paid")
	c, err := queries.ConnectionAcrossOrgs(t.Context(), w.pool, first["id"].(string))
	require.NoError(t, err)
	connections := connection.Service{Keeper: w.keeper(w.config().SecretKey)}
	signing, err := connections.Secret(c)
	require.NoError(t, err)
	require.Equal(t, "whsec_1", signing)
	key, err := connections.Key(c)
	require.NoError(t, err)
	require.Equal(t, "rk_test_good", key)

	status, _, errs := w.run(connect...)
	require.Equal(t, 1, status)
	require.Contains(t, errs, first["id"], "the one that works is named")
	require.Len(t, api.urls(), 1, "the endpoint of the refused one is gone")
	second := w.object(append(connect, "--replace")...)
	require.Equal(t, []any{second["url"]}, api.urls(), "the endpoint of the replaced one is gone")
	id := second["id"].(string)
	w.must("processor", "check", id)
	api.endpoints[0]["status"] = "disabled"
	_, _, errs = w.run("processor", "check", id)
	require.Contains(t, errs, "is disabled")
	w.must("processor", "disconnect", id)
	require.Empty(t, api.urls())

	byHand := w.object(strings.Fields("processor connect stripe --program prg_1 --secret whsec_own")...)
	require.Equal(t, []any{true, nil}, []any{byHand["livemode"], byHand["secret"]})
	w.must("processor", "disconnect", byHand["id"].(string))
	for args, says := range map[string]string{
		"":                                  "the processor's signing secret is required",
		"--api-key rk_test_good":            "the key has the wrong mode",
		"--api-key rk_live_1 --test":        "the key has the wrong mode",
		"--api-key rk_live_bad":             "lacks a permission",
		"--api-key odd_key --secret whsec_": "",
	} {
		status, _, errs := w.run(strings.Fields("processor connect stripe --program prg_1 " + args)...)
		require.Equal(t, says != "", status != 0, args)
		require.Contains(t, errs, says, args)
	}
	require.Empty(t, api.urls())
}
