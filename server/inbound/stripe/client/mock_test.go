package client_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/stripetest/stripemock"
	"rail/server/inbound/stripe"
	"rail/server/inbound/stripe/client"
)

// TestStripeMock: Stripe's own API description accepts the requests, and the client reads its answers.
func TestStripeMock(t *testing.T) {
	t.Parallel()
	address := stripemock.New(t)
	c := client.New("rk_test_123", address)
	_, err := c.CreateEndpoint(t.Context(), "https://rail.example/hooks/stripe/pco_1", stripe.Events())
	require.ErrorContains(t, err, "no secret", "the description's example of an endpoint was made before")
	_, found, err := c.FindEndpoint(t.Context(), "https://elsewhere.example")
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, c.DeleteEndpoint(t.Context(), "we_1"))

	for path, filter := range map[string]url.Values{
		"/v1/events":            {"types[]": {"invoice.paid", "charge.refunded"}, "created[gte]": {"1"}, "created[lt]": {"2"}},
		"/v1/invoices":          {"status": {"paid"}, "created[gte]": {"1"}},
		"/v1/checkout/sessions": {"status": {"complete"}, "created[gte]": {"1"}},
		"/v1/refunds":           {"expand[]": {"data.charge"}, "created[gte]": {"1"}},
		"/v1/disputes":          {"expand[]": {"data.charge"}, "created[gte]": {"1"}},
	} {
		seen := 0
		require.NoError(t, c.Each(t.Context(), path, filter, func(page []json.RawMessage) error {
			seen += len(page)
			return nil
		}), path)
		require.NotZero(t, seen, path)
	}
	invoice, err := c.InvoiceOf(t.Context(), "pi_1")
	require.NoError(t, err)
	require.NotEmpty(t, invoice)
	_, err = client.New("rk_live_123", address).InvoiceOf(t.Context(), "pi_1")
	require.True(t, client.Refused(err))
}
