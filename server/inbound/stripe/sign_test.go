package stripe

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/stripetest"
)

// TestVerify holds the signature to what Stripe documents: any v1 may fit, v0
// counts nothing, and a request is fresh for five minutes either way.
func TestVerify(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	body, now := []byte(`{"id":"evt_1"}`), clock.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	good := stripetest.Sign(secret, body, now.Time)
	t0, rest, _ := strings.Cut(good, ",")
	v1, _, _ := strings.Cut(rest, ",")
	for name, c := range map[string]struct {
		secret, header string
		off            time.Duration
		want           error
	}{
		"as Stripe sends it":            {secret, good, 0, nil},
		"a rolled secret comes second":  {secret, t0 + ",v1=" + strings.Repeat("ab", 32) + "," + v1, 0, nil},
		"a rolled secret comes first":   {secret, t0 + "," + v1 + ",v1=" + strings.Repeat("ab", 32), 0, nil},
		"spaces":                        {secret, t0 + ", " + v1, 0, nil},
		"300 seconds late":              {secret, good, 300 * time.Second, nil},
		"301 seconds late":              {secret, good, 301 * time.Second, ErrStale},
		"300 seconds early":             {secret, good, -300 * time.Second, nil},
		"301 seconds early":             {secret, good, -301 * time.Second, ErrStale},
		"another secret":                {"whsec_other", good, 0, ErrSignature},
		"another secret, and stale":     {"whsec_other", good, time.Hour, ErrSignature},
		"no secret":                     {"", stripetest.Sign("", body, now.Time), 0, ErrNoSignature},
		"no header":                     {secret, "", 0, ErrNoSignature},
		"no time":                       {secret, v1, 0, ErrNoSignature},
		"no signature":                  {secret, t0, 0, ErrNoSignature},
		"v0 alone":                      {secret, t0 + ",v0=" + strings.TrimPrefix(v1, "v1="), 0, ErrNoSignature},
		"not hex":                       {secret, t0 + ",v1=zz", 0, ErrSignature},
		"cut":                           {secret, strings.TrimSuffix(good[:len(t0)+1+len(v1)], "0")[:60], 0, ErrSignature},
		"another time":                  {secret, "t=1," + v1, 0, ErrSignature},
		"two times, the second was not": {secret, t0 + "," + v1 + ",t=1", 0, nil},
	} {
		header := http.Header{Header: {c.header}}
		require.Equal(t, c.want, Source{}.Verify(c.secret, header, body, now.Plus(c.off)), name)
	}
	require.Equal(t, ErrSignature, Verify(secret, good, append([]byte(" "), body...), now), "another body")
	words := stripetest.Sign(secret, body, time.Time{})
	require.ErrorIs(t, Verify(secret, words, body, now), ErrStale, "a time before 1970")
}
