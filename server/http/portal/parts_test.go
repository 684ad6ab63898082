package portal

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/money/report"
	"rail/server/outbound/webhook"
)

func TestChart(t *testing.T) {
	t.Parallel()
	rows := func(amounts ...int64) (out []report.Row) {
		for _, a := range amounts {
			out = append(out, report.Row{Key: "2026-01-01", Figures: report.Figures{CommissionsMinor: a}})
		}
		return out
	}
	c := newChart(rows(0, 500, 1000), "USD")
	require.InDelta(t, 100, c.Zero, 0.001)
	require.Equal(t, []mark{{0, 1000}, {50, 500}, {100, 0}}, c.Marks)
	require.Equal(t, []float64{100, 50, 0}, []float64{c.Bars[0].Y, c.Bars[1].Y, c.Bars[2].Y})
	require.Equal(t, []float64{0, 50, 100}, []float64{c.Bars[0].Height, c.Bars[1].Height, c.Bars[2].Height})
	require.Equal(t, "January 2026", c.Bars[0].Month)

	c = newChart(rows(1000, -1000), "USD")
	require.InDelta(t, 50, c.Zero, 0.001)
	require.Equal(t, []float64{0, 50, 50, 50}, []float64{c.Bars[0].Y, c.Bars[0].Height, c.Bars[1].Y, c.Bars[1].Height})
	for _, amounts := range [][]int64{{19_80, 180_00, -160_20}, {10_000, -1}, {1, -10_000}, {-500}, {1 << 60, -3}} {
		c = newChart(rows(amounts...), "USD")
		require.True(t, slices.ContainsFunc(c.Marks, func(m mark) bool { return m.Amount == 0 }), amounts)
		for i, m := range c.Marks[1:] {
			require.GreaterOrEqual(t, m.Y-c.Marks[i].Y, float64(apart), amounts)
		}
	}
	require.True(t, newChart(rows(0, 0), "USD").Empty)
	require.True(t, newChart(nil, "USD").Empty)
	require.False(t, newChart(rows(1), "JPY").Empty)
	for amount, want := range map[int64]int64{-5: 0, 0: 0, 1: 1, 3: 4, 5: 6, 9: 10, 11: 20, 350: 400, 1001: 2000} {
		require.Equal(t, want, round(amount), amount)
	}
	require.Positive(t, round(1<<62))
}

func TestWhatIsVeiled(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a•••@example.com", veiled("ada@example.com"))
	require.Equal(t, "•••• 3000", veiled("DE89370400440532013000"))
	require.Equal(t, "É•••", veiled("Édith"))
	require.Equal(t, "É•••", mask(nil, new("Édith")))
	require.Equal(t, "•••", mask(nil, new("")))
	require.Equal(t, "−1,234,567.89 USD", money(-123456789, "USD"))
	require.Equal(t, "123 JPY", money(123, "JPY"))
	require.Equal(t, "1,000 JPY", money(1000, "JPY"))
}

func TestBrand(t *testing.T) {
	t.Parallel()
	for program, side := range map[string]string{"Acme": "Partners", "Acme partners": "", "Partners of Acme": "Partners"} {
		require.Equal(t, side, frame{Program: program, SignedIn: true}.Side(), program)
	}
	require.Empty(t, frame{Program: "Acme"}.Side(), "nobody is signed in")
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"DE89370400440532013000": true, "de89 3704 0044 0532 0130 00": true, "GB82WEST12345698765432": true,
		"DE89370400440532013001": false, "GB82WEST12345698765431": false,
		"12345678": true, "00-1234-5678": true, "123": false, "1234567<": false, "": false,
	} {
		require.Equal(t, good, account(text) == "", text)
	}
	require.Empty(t, swift("DEUTDEFF500"))
	require.NotEmpty(t, swift("DEUT"))
	require.Empty(t, wallet("0x52908400098527886E0F7030069857D2E4169EE7"))
	require.NotEmpty(t, wallet("0x5"))
}

// TestEveryTypeHasWords: a postback's choices are explained to partners.
func TestEveryTypeHasWords(t *testing.T) {
	t.Parallel()
	n := 0
	for _, kind := range webhook.Catalogue() {
		if kind.PartnerEligible {
			require.Contains(t, meanings, kind.Type)
			n++
		}
	}
	require.Len(t, meanings, n)
}
