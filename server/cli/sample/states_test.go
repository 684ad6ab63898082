package sample

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/secret"
)

// values counts the values of a column of a sheet.
func values(s *sheet, column string) map[any]int {
	at, out := slices.Index(s.columns, column), map[any]int{}
	for _, row := range s.rows {
		out[row[at]]++
	}
	return out
}

// Money is in every state on any day of loading.
func TestEveryDay(t *testing.T) {
	t.Parallel()
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	for days := range 13 {
		now := clock.At(time.Date(2026, 1, 1, 0, 5, 0, 0, time.UTC).AddDate(0, 0, 31*days))
		b := newBuilder("org_a", now, keeper)
		require.NoError(t, b.build())
		for _, status := range []string{"pending", "processing", "paid", "failed", "not_eligible"} {
			require.Positive(t, values(b.sheets.payouts, "status")[status], "%s at %s", status, now)
		}
		for _, status := range []string{"pending", "approved", "due", "paid", "rejected", "voided"} {
			require.Positive(t, values(b.sheets.commissions, "status")[status], "%s at %s", status, now)
		}
		for _, kind := range []string{"referral", "reward", "clawback"} {
			require.Positive(t, values(b.sheets.commissions, "kind")[kind], "%s at %s", kind, now)
		}
	}
}
