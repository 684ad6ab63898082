package mcp_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestExplainAmount: a commission is explained by its rule, rate and sale.
func TestExplainAmount(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program, M{"name": "Everyone"})
	partner := s.Partner(program)
	click := s.Click(program, s.Must(200, s.Get("/v1/partners/"+partner)).String("handle")).String("id")
	customer := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click, "email": "ada@shop.example"}))
	sale := s.Sale(program, customer.String("id"), M{"amount_minor": 10000}).String("id")
	commission, ok := s.SoleCommission(program, sale)
	require.True(t, ok)
	c := open(t, s.URL+"/mcp", s.Key, newest)
	why := c.call("explain", M{"id": commission.String("id")}).data
	summary := fmt.Sprint(why["summary"])
	require.Contains(t, summary, "Everyone")
	require.Contains(t, summary, "100.00 USD")
	require.Contains(t, fmt.Sprint(why["data"]), sale)

	why = c.call("explain", M{"id": customer.String("id")}).data
	require.Contains(t, fmt.Sprint(why["summary"]), "partner's link")
	clicks, _ := why["data"].(map[string]any)["clicks"].([]any)
	require.Len(t, clicks, 1)
	created := s.Customer(program, partner)
	require.Contains(t, fmt.Sprint(c.call("explain", M{"id": created}).data["summary"]), "The API created the customer")
}

// TestExplainWebhook: an endpoint is explained by its last failure, with advice.
func TestExplainWebhook(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Loopback)
	program := s.Program()
	sink := apitest.NewSink(t)
	endpoint := s.Must(201, s.Post("/v1/webhook_endpoints", M{"program_id": program, "url": sink.URL + "/hooks"})).String("id")
	c := open(t, s.URL+"/mcp?write", s.Key, newest)
	says := func(id string) string { return fmt.Sprint(c.call("explain", M{"id": id}).data["summary"]) }
	require.Contains(t, says(endpoint), "Nothing was sent to it yet.")
	tested := c.do("webhook_endpoints", "pingWebhookEndpoint", M{"id": endpoint}).ok()
	require.Contains(t, says(endpoint), "all arrived")
	require.Contains(t, says(tested["id"].(string)), "was delivered")
	sink.Answer = func(w http.ResponseWriter, _ apitest.Received) { w.WriteHeader(http.StatusUnauthorized) }
	failed := c.do("webhook_endpoints", "pingWebhookEndpoint", M{"id": endpoint}).ok()
	require.Contains(t, says(failed["id"].(string)), "The receiver answered 401. It likely refuses the signature")
	s.Must(200, s.Post("/v1/webhook_endpoints/"+endpoint, M{"enabled": false}))
	require.Contains(t, says(endpoint), "The endpoint is off")
}
