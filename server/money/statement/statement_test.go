package statement_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/proof"
	"rail/server/money/statement"
)

// TestCanonicalBytesAreStable: a document that is read from its stored bytes has the same bytes again, whatever is in
// its texts, and its lines have the same hash.
func TestCanonicalBytesAreStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return rapid.String().Draw(t, name) }
		at := clock.At(time.UnixMicro(rapid.Int64Range(946684800e6, 4102444799e6).Draw(t, "time")))
		seller, err := json.Marshal(statement.Seller{
			Name: text("seller"), Address: new(text("address")), TaxIDs: []string{text("tax id"), "DE123456789"},
		})
		require.NoError(t, err)
		of := statement.Subject{
			Name: text("name"),
			Program: db.Program{
				ID: "prg_1", Name: text("program"), TimeZone: "UTC", StatementSeller: seller,
				SelfBilling: rapid.Bool().Draw(t, "self billing"),
			},
			Partner: db.Partner{ID: "part_1", CompanyName: new(text("company")), TaxID: new(text("partner tax id"))},
			Payout: db.Payout{
				ID: "pyt_1", PaidAt: &at, PeriodEnd: at, Method: new("paypal"), ExternalID: new(text("reference")),
				AmountMinor: rapid.Int64Range(1, 1<<53-1).Draw(t, "amount"), Currency: "USD",
			},
		}
		for range rapid.IntRange(0, 5).Draw(t, "lines") {
			of.Lines = append(of.Lines, db.StatementLinesRow{
				ID: text("commission"), Kind: "referral", SaleID: new(text("sale")), ExternalChargeID: new(text("order")),
				OccurredAt: at, AmountMinor: rapid.Int64Range(-1<<53+1, 1<<53-1).Draw(t, "part"), Currency: "USD",
			})
		}
		d, err := statement.New(of, at)
		require.NoError(t, err)
		once, err := proof.Canonical(d)
		require.NoError(t, err)
		stored, err := statement.Read(once)
		require.NoError(t, err)
		again, err := proof.Canonical(stored)
		require.NoError(t, err)
		require.Equal(t, string(once), string(again))
		canonical, err := proof.Canonicalize(once)
		require.NoError(t, err)
		require.Equal(t, string(once), string(canonical))
		sum := proof.NewDigest()
		for _, row := range of.Lines {
			require.NoError(t, sum.AddLine(statement.LineOf(row, stored.Salt)))
		}
		require.Equal(t, stored.LinesHash, sum.Sum())
	})
}

func TestNumber(t *testing.T) {
	t.Parallel()
	require.Equal(t, "SHOP-2026-000042", statement.Number("SHOP", 2026, 42))
	require.Equal(t, "R-2026-1000000", statement.Number("R", 2026, 1_000_000))
	for subdomain, want := range map[string]string{
		"shop": "SHOP", "shop-partners": "SHOP", "long-name-to-cut": "LONG-NAME-TO", "abcdefghijklmn": "ABCDEFGHIJKL",
		"abcdefghijkl-mn": "ABCDEFGHIJKL", "": "R",
	} {
		require.Equal(t, want, statement.PrefixOf(subdomain))
	}
	at := clock.At(time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC))
	require.EqualValues(t, 2026, statement.Year(at, db.Program{TimeZone: "UTC"}))
	require.EqualValues(t, 2027, statement.Year(at, db.Program{TimeZone: "Europe/Berlin"}))
}

// TestSelfBilling: the words are in the partner's language. A reverse charge needs VAT ids of two countries of the EU.
func TestSelfBilling(t *testing.T) {
	t.Parallel()
	seller := func(ids ...string) []byte {
		s, err := json.Marshal(statement.Seller{Name: "Shop", TaxIDs: ids})
		require.NoError(t, err)
		return s
	}
	for _, c := range []struct {
		seller          []byte
		partner, lang   string
		words, reversed string
	}{
		{seller("DE 123 456 789"), "ATU12345678", "de-AT", "Gutschrift", "Steuerschuldnerschaft des Leistungsempfängers"},
		{seller("DE123456789"), "FR12 345678901", "fr", "Autofacturation", "Autoliquidation"},
		{seller("DE123456789"), "DE987654321", "de", "Gutschrift", ""},
		{seller("GB123456789"), "DE987654321", "en", "Self-billing", ""},
		{seller("IT12345678901"), "FRRMRC80A01H501X", "it", "Self-billing", ""}, // an Italian tax code
		{seller("IT12345678901"), "ROGA800101AB1", "es-MX", "Facturación por el destinatario", ""},
		{seller("IT12345678901"), "ATKPS1234C", "en-IN", "Self-billing", ""},
		{seller("IT12345678901"), "SE123456A", "en-GB", "Self-billing", ""},
		{seller("IT12345678901"), "NL123456789B01", "en", "Self-billing", "Reverse charge"},
		{seller("IT12345678901"), "IE1234567FA", "en", "Self-billing", "Reverse charge"},
		{seller("DE123456789"), "", "ja", "Self-billing", ""},
		{nil, "DE987654321", "es", "Facturación por el destinatario", ""},
	} {
		at := clock.At(time.Unix(0, 0))
		d, err := statement.New(statement.Subject{
			Program: db.Program{Name: "P", SelfBilling: true, StatementSeller: c.seller},
			Partner: db.Partner{LanguageCode: &c.lang, TaxID: &c.partner},
			Payout:  db.Payout{PaidAt: &at, AmountMinor: 500},
		}, at)
		require.NoError(t, err)
		require.Equal(t, c.words, d.SelfBilling.Words)
		if c.reversed == "" {
			require.Empty(t, d.SelfBilling.VAT)
			continue
		}
		require.Equal(t, []statement.VAT{{
			Treatment: statement.ReverseCharge, Words: c.reversed, NetMinor: 500,
		}}, d.SelfBilling.VAT)
	}
}

// TestVATAtHome: with a rate, an invoice between two VAT ids of one country has the VAT that the payout includes. Net
// and tax add up to the payout.
func TestVATAtHome(t *testing.T) {
	t.Parallel()
	seller, err := json.Marshal(statement.Seller{Name: "Shop", TaxIDs: []string{"DE123456789"}})
	require.NoError(t, err)
	for _, c := range []struct {
		partner          string
		rate, gross, tax int64
	}{
		{"DE987654321", 1900, 11_900, 1_900},
		{"DE987654321", 1900, 500, 80},
		{"DE987654321", 700, 1, 0},
		{"DE987654321", 5000, 9_000_000_000_000_000, 3_000_000_000_000_000},
		{"FR12345678901", 1900, 500, 0},
	} {
		at := clock.At(time.Unix(0, 0))
		d, err := statement.New(statement.Subject{
			Program: db.Program{Name: "P", SelfBilling: true, StatementSeller: seller, VatRateBps: &c.rate},
			Partner: db.Partner{LanguageCode: new("de-DE"), TaxID: &c.partner},
			Payout:  db.Payout{PaidAt: &at, AmountMinor: c.gross},
		}, at)
		require.NoError(t, err)
		want := statement.VAT{
			Treatment: statement.Standard, Words: "Mehrwertsteuer enthalten", RateBPS: c.rate, TaxMinor: c.tax,
			NetMinor: c.gross - c.tax,
		}
		if c.partner[:2] != "DE" {
			want = statement.VAT{
				Treatment: statement.ReverseCharge, Words: "Steuerschuldnerschaft des Leistungsempfängers", NetMinor: c.gross,
			}
		}
		require.Equal(t, []statement.VAT{want}, d.SelfBilling.VAT)
	}
}
