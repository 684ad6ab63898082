package risk

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
)

// shared returns partners that share one value each.
func shared(groups ...string) (out []sharing) {
	for i, g := range groups {
		for partner := range strings.FieldsSeq(g) {
			out = append(out, sharing{partner, fmt.Sprint(i)})
		}
	}
	return out
}

// texts returns the findings in short form.
func texts(found []Finding) (out []string) {
	for _, f := range found {
		out = append(out,
			fmt.Sprintf("%s: %v %v first %v", f.PartnerID, f.Signals[sameDetails], f.Signals[sameAddress],
				f.Signals["other_partner_id"]))
	}
	return out
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	nothing, err := readHistory(nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a: b c first b", "b: a <nil> first a", "c: <nil> a first a"},
		texts(nothing.duplicates("prg", map[string][]sharing{sameDetails: shared("b a"), sameAddress: shared("a c", "c a")})))

	a, b, now := "a", "b", clock.At(time.Unix(1, 0))
	history, err := readHistory([]db.RiskFlagsOfKindRow{
		{PartnerID: &a, ResolvedAt: &now, Evidence: []byte(`{"check":"duplicate_partner","same_payout_details_as":"b,c"}`)},
		{PartnerID: &b, Evidence: []byte(`{"same_payout_details_as":"a"}`)},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a: d b first d", "c: a,b,d <nil> first a", "d: a,b,c <nil> first a"},
		texts(history.duplicates("prg", map[string][]sharing{sameDetails: shared("a b c d"), sameAddress: shared("a b")})),
		"b's flag is open; a's with b and c is settled, but for the address")

	history.changed["c"] = clock.At(now.Add(time.Hour))
	require.Contains(t, texts(history.duplicates("prg", map[string][]sharing{sameDetails: shared("a b c")})),
		"a: c <nil> first c",
		"c came to the account after the flag was closed")

	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("p%03d", i))
	}
	found := nothing.duplicates("prg", map[string][]sharing{sameDetails: shared(strings.Join(many, " "))})
	require.Len(t, found, 200)
	require.Len(t, strings.Split(found[0].Signals[sameDetails].(string), ","), maxOthers)
}

func TestSpike(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		day, before int64
		want        bool
	}{{9, 0, false}, {10, 0, true}, {10, 56, true}, {10, 57, false}, {100, 560, true}, {100, 561, false}} {
		require.Equal(t, v.want, spike(v.day, v.before), v)
	}
}
