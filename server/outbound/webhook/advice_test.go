package webhook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/outbound/webhook"
)

// TestAdvice: each kind of answer has advice.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for code, want := range map[int64]string{
		401: "raw body", 404: "correct the endpoint's url", 410: "wants no more", 302: "Redirects are not followed",
		429: "the next attempt comes later", 503: "The receiver failed", 422: "refuses the body", 418: "Only an answer from 200",
	} {
		require.Contains(t, webhook.Advice(&code, nil), want)
	}
	require.Contains(t, webhook.Advice(nil, new("The name of the receiver did not resolve.")), "did not resolve. Check")
	require.Equal(t, "There was no attempt yet.", webhook.Advice(nil, nil))
}
