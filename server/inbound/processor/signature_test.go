package processor

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
)

// TestSignature: any signature may match, other pairs are ignored, and a request is valid for five minutes
// either way, in each processor's format.
func TestSignature(t *testing.T) {
	t.Parallel()
	for _, s := range []Signature{
		{Between: ",", Time: "t", Sum: "v1", Joint: "."},
		{Between: ";", Time: "ts", Sum: "h1", Joint: ":"},
	} {
		t.Run(s.Sum, func(t *testing.T) { t.Parallel(); testSignature(t, s) })
	}
}

func testSignature(t *testing.T, s Signature) {
	t.Helper()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	body, now := []byte(`{"id":"evt_1"}`), clock.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	hash := func(secret, at string) string {
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "%s%s%s", at, s.Joint, body)
		return hex.EncodeToString(mac.Sum(nil))
	}
	at := fmt.Sprint(now.Unix())
	header := func(pairs ...string) string { return strings.Join(pairs, s.Between) }
	time0, good, other := s.Time+"="+at, s.Sum+"="+hash(secret, at), s.Sum+"="+strings.Repeat("ab", 32)
	many := make([]string, 16)
	for i := range many {
		many[i] = other
	}
	for name, c := range map[string]struct {
		secret, header string
		off            time.Duration
		want           error
	}{
		"as it is sent":                 {secret, header(time0, good), 0, nil},
		"a rolled secret comes second":  {secret, header(time0, other, good), 0, nil},
		"a rolled secret comes first":   {secret, header(time0, good, other), 0, nil},
		"the 17th is not looked at":     {secret, header(append(append([]string{time0}, many...), good)...), 0, ErrSignature},
		"spaces":                        {secret, header(time0, " "+good), 0, nil},
		"a pair of no name":             {secret, header(time0, good, "x"), 0, nil},
		"300 seconds late":              {secret, header(time0, good), 300 * time.Second, nil},
		"301 seconds late":              {secret, header(time0, good), 301 * time.Second, ErrStale},
		"300 seconds early":             {secret, header(time0, good), -300 * time.Second, nil},
		"301 seconds early":             {secret, header(time0, good), -301 * time.Second, ErrStale},
		"another secret":                {"whsec_other", header(time0, good), 0, ErrSignature},
		"another secret, and stale":     {"whsec_other", header(time0, good), time.Hour, ErrSignature},
		"no secret":                     {"", header(time0, s.Sum+"="+hash("", at)), 0, ErrNoSignature},
		"no header":                     {secret, "", 0, ErrNoSignature},
		"no time":                       {secret, good, 0, ErrNoSignature},
		"no sum":                        {secret, time0, 0, ErrNoSignature},
		"a sum of another name":         {secret, header(time0, "v0="+hash(secret, at)), 0, ErrNoSignature},
		"not hex":                       {secret, header(time0, s.Sum+"=zz"), 0, ErrSignature},
		"cut":                           {secret, header(time0, good)[:60], 0, ErrSignature},
		"another time":                  {secret, header(s.Time+"=1", good), 0, ErrSignature},
		"two times, the second was not": {secret, header(time0, good, s.Time+"=1"), 0, nil},
		"a time in words":               {secret, header(s.Time+"=now", s.Sum+"="+hash(secret, "now")), 0, ErrSignature},
		"a time before 1970":            {secret, header(s.Time+"=-1", s.Sum+"="+hash(secret, "-1")), 0, ErrStale},
	} {
		require.Equal(t, c.want, s.Verify(c.secret, c.header, body, now.Plus(c.off)), name)
	}
	require.Equal(t, ErrSignature, s.Verify(secret, header(time0, good), append([]byte(" "), body...), now), "another body")
}
