package tracking

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/money/report"
)

// A flood of values does not displace those of yesterday, nor those of other fields and programs.
func TestValuesAreBounded(t *testing.T) {
	t.Parallel()
	v, day := &Values{}, clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))
	require.Equal(t, "newsletter", v.admit("prg_a source", "newsletter", day))
	for n := range 5 * maxValues {
		v.admit("prg_a source", strconv.Itoa(n), day)
	}
	require.Equal(t, report.Other, v.admit("prg_a source", "spring", day))
	require.Equal(t, "newsletter", v.admit("prg_a source", "newsletter", day))
	require.Equal(t, "spring", v.admit("prg_a campaign", "spring", day))
	require.Equal(t, "spring", v.admit("prg_b source", "spring", day))

	day = day.Days(1)
	for n := range 5 * maxValues {
		v.admit("prg_a source", "flood "+strconv.Itoa(n), day)
	}
	require.Equal(t, report.Other, v.admit("prg_a source", "spring", day))
	require.Equal(t, "newsletter", v.admit("prg_a source", "newsletter", day), "known from yesterday")
	for n := range 5 * maxValues {
		v.admit("prg_a source", strconv.Itoa(n), day)
	}
	require.LessOrEqual(t, len(v.today["prg_a source"]), 2*maxValues)
	require.Equal(t, "spring", v.admit("prg_a source", "spring", day.Days(1)), "a new day")
	require.Equal(t, "any", (*Values)(nil).admit("prg_a source", "any", day))
}
