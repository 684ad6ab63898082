package webhook

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/events"
	"rail/server/clock"
	"rail/server/outbound/webhook/vectors"
	"rail/server/work/event"
)

// TestSignatureVectors compares both headers with those computed by others.
func TestSignatureVectors(t *testing.T) {
	for _, c := range vectors.Signatures {
		at := time.Unix(c.Time, 0)
		if c.Rail != "" {
			require.Equal(t, c.Rail, RailSignature(at, []byte(c.Body), c.Secrets...))
		}
		require.Equal(t, c.Standard, StandardSignature(c.ID, at, []byte(c.Body), c.Secrets...))
	}
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, NewSecret())
}

// TestSchedule: eight attempts in 63.4 hours, each of which fails some milliseconds after it is due.
func TestSchedule(t *testing.T) {
	at := clock.At(time.Date(2026, 9, 1, 12, 7, 30, 0, time.UTC))
	var got []string
	for n := 1; ; n++ {
		next, again := Next(n, at)
		if !again {
			require.Equal(t, MaxAttempts, n)
			break
		}
		got, at = append(got, next.Format("02T15:04:05")), next.Plus(5*time.Millisecond)
	}
	require.Equal(t,
		[]string{"01T12:31:00", "01T13:01:00", "01T13:31:00", "01T15:31:00", "02T03:31:00", "03T03:31:00", "04T03:31:00"},
		got)
}

// TestAllTypes: an endpoint with all types gets every type, also those of later releases.
func TestAllTypes(t *testing.T) {
	var all []string
	for _, c := range Catalogue() {
		all = append(all, c.Type, c.Type)
	}
	types, err := typesOf(all, false)
	require.NoError(t, err)
	require.Empty(t, types)
	types, err = typesOf(all[2:], false)
	require.NoError(t, err)
	require.Len(t, types, len(Catalogue())-1)
}

// TestCatalogue: every type has a description and an example.
func TestCatalogue(t *testing.T) {
	require.Len(t, Catalogue(), 48)
	for _, c := range Catalogue() {
		require.NotEmpty(t, c.Description, c.Type)
		body, err := TestEvent(c.Type, "evt_test_1", clock.At(time.Unix(0, 0)), c.PartnerEligible)
		require.NoError(t, err)
		require.NotContains(t, string(body), `"request"`)
		if c.PartnerEligible {
			require.NotContains(t, string(body), "email", c.Type)
		}
	}
}

// TestPartnersSeeNothingHidden compares every type's example, which matches the emitted type, with the members
// hidden from partners.
func TestPartnersSeeNothingHidden(t *testing.T) {
	hidden := map[string]bool{}
	for _, row := range events.Catalogue {
		for _, name := range row.HiddenFromPartners {
			hidden[name] = true
		}
	}
	require.NotEmpty(t, hidden)
	for i, row := range events.Catalogue {
		c := Catalogue()[i]
		require.Equal(t, string(row.Type), c.Type)
		require.Equal(t, row.PartnerVisible, c.PartnerEligible)
		if !row.PartnerVisible {
			continue
		}
		var example struct{ Data json.RawMessage }
		require.NoError(t, json.Unmarshal(c.Example, &example))
		shown, err := event.ForPartner(c.Type, example.Data)
		require.NoError(t, err)
		var whole, left map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(example.Data, &whole))
		require.NoError(t, json.Unmarshal(shown, &left))
		for name := range whole {
			require.Equal(t, !hidden[name], left[name] != nil, "%s: %s", c.Type, name)
		}
		for _, name := range row.HiddenFromPartners {
			require.Contains(t, whole, name, "the example of %s does not have what it hides", c.Type)
		}
	}
}
