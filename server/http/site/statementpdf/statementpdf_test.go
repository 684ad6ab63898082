package statementpdf_test

import (
	"image/color"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/http/site/statementpdf"
	"rail/server/locale"
	"rail/server/money/statement"
)

// TestVoid: the sheet of a statement whose payment was undone shows that above its facts, in the partner's language, and
// names the statement that corrects it.
func TestVoid(t *testing.T) {
	t.Parallel()
	at := clock.At(time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC))
	d := statement.Document{
		Number: "R-2026-000001", IssuedAt: at, Seller: statement.Seller{Name: "Shop"},
		Program: statement.Program{Name: "Shop", TimeZone: "UTC"}, Partner: statement.Partner{Name: "Ada"},
		Payout: statement.Payout{PeriodEnd: at, PaidAt: at, Currency: "USD", AmountMinor: 500},
	}
	for language, want := range map[string]string{
		"en": "This payment was undone. Statement R-2026-000002 corrects this one.",
		"de": "Diese Zahlung wurde rückgängig gemacht. Die Abrechnung R-2026-000002 korrigiert diese.",
		"ja": "This payment was undone. Statement R-2026-000002 corrects this one.", // not drawn
	} {
		s := statementpdf.Of(locale.Of("", language), d, nil, color.RGBA{})
		require.Empty(t, s.Alert)
		valid, err := s.PDF()
		require.NoError(t, err)
		s.Void("R-2026-000002")
		require.Equal(t, want, s.Alert)
		void, err := s.PDF()
		require.NoError(t, err)
		require.NotEqual(t, valid, void)
		s.Void("")
		require.NotContains(t, s.Alert, "R-2026")
	}
}
