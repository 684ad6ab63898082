package stripe

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/stripetest"
	"rail/server/inbound/processor"
)

// TestVerify checks the documented signature.
func TestVerify(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	body, now := []byte(`{"id":"evt_1"}`), clock.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	header := http.Header{Header: {stripetest.Sign(secret, body, now.Time)}}
	require.NoError(t, Source{}.Verify(secret, header, body, now))
	require.Equal(t, processor.ErrSignature, Source{}.Verify("whsec_other", header, body, now))
	require.Equal(t, processor.ErrNoSignature, Source{}.Verify(secret, http.Header{}, body, now))
}
