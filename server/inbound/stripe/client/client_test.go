package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// answers serves answers in turn, repeating the last, and records the requests and the client's waits.
type answers struct {
	*Client
	requests []*http.Request
	bodies   []string
	waits    []time.Duration
}

type answer struct {
	status int
	retry  string
	body   string
}

func serve(t *testing.T, all ...answer) *answers {
	t.Helper()
	a := &answers{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		one := all[min(len(a.requests), len(all)-1)]
		a.requests, a.bodies = append(a.requests, r), append(a.bodies, string(body))
		if one.retry != "" {
			w.Header().Set("Retry-After", one.retry)
		}
		w.WriteHeader(one.status)
		_, _ = io.WriteString(w, one.body)
	}))
	t.Cleanup(server.Close)
	a.Client = New("rk_test_1", server.URL+"/")
	a.wait = func(_ context.Context, d time.Duration) error { a.waits = append(a.waits, d); return nil }
	return a
}

const endpointJSON = `{"id":"we_1","object":"webhook_endpoint","secret":"whsec_1","url":"https://rail.example/hooks","livemode":false}`

// TestCreateEndpoint checks the exact request.
func TestCreateEndpoint(t *testing.T) {
	t.Parallel()
	a := serve(t, answer{200, "", endpointJSON})
	e, err := a.CreateEndpoint(t.Context(), "https://rail.example/hooks", []string{"invoice.paid", "charge.refunded"})
	require.NoError(t, err)
	require.Equal(t, Endpoint{ID: "we_1", URL: "https://rail.example/hooks", Secret: "whsec_1"}, e)
	r := a.requests[0]
	require.Equal(t, "POST /v1/webhook_endpoints", r.Method+" "+r.URL.Path)
	require.Equal(t, "Bearer rk_test_1", r.Header.Get("Authorization"))
	require.Equal(t, version, r.Header.Get("Stripe-Version"))
	require.NotEmpty(t, r.Header.Get("Idempotency-Key"))
	require.Equal(t, "api_version=2025-09-30.clover&description=Rail&enabled_events%5B%5D=invoice.paid"+
		"&enabled_events%5B%5D=charge.refunded&url=https%3A%2F%2Frail.example%2Fhooks", a.bodies[0])
}

// TestAskAgain: transient errors are retried with the same idempotency key, refusals are not.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	a := serve(t, answer{429, "7", "{}"}, answer{500, "", "<html>"}, answer{409, "9999", "{}"}, answer{200, "", endpointJSON})
	_, err := a.CreateEndpoint(t.Context(), "u", nil)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{7 * time.Second, time.Second, 30 * time.Second}, a.waits)
	for _, r := range a.requests {
		require.Equal(t, a.requests[0].Header.Get("Idempotency-Key"), r.Header.Get("Idempotency-Key"))
	}

	a = serve(t, answer{503, "", ""})
	_, err = a.CreateEndpoint(t.Context(), "u", nil)
	require.Equal(t, &Error{Status: 503}, err)
	require.EqualError(t, err, "Stripe answered 503: Service Unavailable")
	require.Len(t, a.requests, attempts)

	a = serve(t, answer{403, "", `{"error":{"code":"x","message":"The key lacks rak_webhook_write."}}`})
	_, err = a.CreateEndpoint(t.Context(), "u", nil)
	require.EqualError(t, err, "Stripe answered 403: The key lacks rak_webhook_write.")
	require.Len(t, a.requests, 1)
}

// TestAnswers: an invalid answer is an error.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "[]", `{"id":"we_1"}`, `{"id":7}`} {
		_, err := serve(t, answer{200, "", body}).CreateEndpoint(t.Context(), "u", nil)
		require.Error(t, err, body)
	}
	a := serve(t, answer{302, "", ""})
	_, err := a.CreateEndpoint(t.Context(), "u", nil)
	require.Equal(t, &Error{Status: 302}, err, "the key follows no redirect")

	a = serve(t, answer{500, "", ""})
	ended, cancel := context.WithCancelCause(t.Context())
	a.wait = func(ctx context.Context, _ time.Duration) error { cancel(errors.New("enough")); return ctx.Err() }
	_, err = a.CreateEndpoint(ended, "u", nil)
	require.Equal(t, &Error{Status: 500}, err, "who waits no longer learns what came last")
	require.Len(t, a.requests, 1)
}

// TestFindAndDelete reads all pages, and treats a missing endpoint as deleted.
func TestFindAndDelete(t *testing.T) {
	t.Parallel()
	a := serve(t, answer{200, "", `{"data":[{"id":"we_1","url":"a"}],"has_more":true}`},
		answer{200, "", `{"data":[{"id":"we_2","url":"b","status":"enabled"}]}`}, answer{200, "", `{"data":[]}`},
		answer{404, "", `{}`}, answer{401, "", `{}`})
	e, found, err := a.FindEndpoint(t.Context(), "b")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "we_2", e.ID)
	require.Equal(t, "limit=100&starting_after=we_1", a.requests[1].URL.RawQuery)
	_, found, err = a.FindEndpoint(t.Context(), "b")
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, a.DeleteEndpoint(t.Context(), "we/2"))
	require.Equal(t, "DELETE /v1/webhook_endpoints/we%2F2", a.requests[3].Method+" "+a.requests[3].URL.EscapedPath())
	require.Equal(t, &Error{Status: 401}, a.DeleteEndpoint(t.Context(), "we_2"))
}

// TestLive reads a key's mode.
func TestLive(t *testing.T) {
	t.Parallel()
	for key, want := range map[string][2]bool{
		"rk_live_x": {true, true}, "sk_test_x": {false, true}, "whsec_x": {}, "": {}, "rk_live": {true, true},
	} {
		live, ok := Live(key)
		require.Equal(t, want, [2]bool{live, ok}, key)
	}
	require.Equal(t, Address, New("k", "").address)
}
