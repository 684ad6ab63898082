package payout

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/locale/currency"
	"rail/server/secret"
	"rail/server/work"
)

// Refuse refuses a payout as it was when it was leased.
func (s Sender) Refuse(ctx context.Context, u *work.Unit, leased db.Payout, why Refusal) error {
	return s.newRound(u, nil, db.PayoutRail{}).refuse(ctx, leased, why)
}

func TestRowsOfFiles(t *testing.T) {
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	sealed := func(id, details string) []byte {
		b, err := keeper.Seal([]byte(details), DetailsPlace(id))
		require.NoError(t, err)
		return b
	}
	payees := []db.PayoutsToFileRow{
		{
			Payout: db.Payout{ID: "pyt_1", AmountMinor: 4999},
			Partner: db.Partner{
				ID: "part_1", Email: "ada@example.com", FirstName: new("Ada"), LastName: new(`Love, "lace"`),
			},
			ProgramCurrency: "USD",
		},
		{
			Payout: db.Payout{ID: "pyt_2", AmountMinor: 5},
			Partner: db.Partner{
				ID: "part_2", Email: "b@example.com", CompanyName: new("=HYPERLINK(1)"),
				PayoutDetails: sealed("part_2", `{"email":"pay+b@example.com","n":1}`),
			},
			ProgramCurrency: "EUR",
		},
		{
			Payout: db.Payout{ID: "pyt_3", AmountMinor: 5},
			Partner: db.Partner{
				ID: "part_3", Email: "c@example.com", Handle: "c",
				PayoutDetails: sealed("part_3", `{"email":"=cmd|' /C calc'!A0@x.com"}`),
			},
			ProgramCurrency: "USD",
		},
		{
			Payout: db.Payout{ID: "pyt_4", AmountMinor: 100},
			Partner: db.Partner{
				ID: "part_4", Email: "d@example.com", Handle: "dee",
				PayoutDetails: sealed("part_4", `{"payer_id":"QWERTY1234567"}`),
			},
			ProgramCurrency: "USD",
		},
	}
	rows := func(format string) (out [][]string) {
		f := File{Keeper: keeper, Format: format}
		for _, p := range payees {
			p.Payout.Currency, p.Payout.Method, p.Partner.PayoutMethod, p.Partner.Status = "USD", &format, &format, "active"
			cells, left, err := f.row(p)
			require.NoError(t, err)
			require.Equal(t, p.Payout.ID == "pyt_3", left.Why == "its recipient is not a valid address", left)
			if left.Why == "" {
				out = append(out, cells)
			}
		}
		return out
	}
	require.Equal(t, [][]string{
		{"ada@example.com", "49.99", "USD", "pyt_1", "", "PAYPAL"},
		{"pay+b@example.com", "0.05", "USD", "pyt_2", "", "PAYPAL"}, {"QWERTY1234567", "1.00", "USD", "pyt_4", "", "PAYPAL"},
	}, rows("paypal"))
	payees[3].Partner.PayoutDetails = nil
	require.Equal(t, [][]string{
		{`Ada Love, "lace"`, "ada@example.com", "PPYT_1", "PERSON", "target", "49.99", "USD", "USD"},
		{"HYPERLINK(1)", "pay+b@example.com", "PPYT_2", "INSTITUTION", "target", "0.05", "EUR", "USD"},
		{"dee", "d@example.com", "PPYT_4", "PERSON", "target", "1.00", "USD", "USD"},
	}, rows("wise"))
	payees[1].Partner.ID = "part_9"
	_, _, err = File{Keeper: keeper, Format: "wise"}.row(payees[1])
	require.ErrorIs(t, err, secret.ErrSealed, "details moved to another partner do not open")
}

// TestUnpayable: PayPal's currencies are in ISO 4217, and whole units are required only for currencies with
// decimals.
func TestUnpayable(t *testing.T) {
	t.Parallel()
	for format, codes := range fileCurrencies {
		for _, code := range codes {
			require.True(t, currency.Valid(code), code)
			require.Empty(t, unpayable(format, 100, code), code)
			whole := slices.Contains(fileWhole[format], code)
			require.Equal(t, whole, unpayable(format, 101, code) != "", code)
			require.True(t, !whole || currency.Digits(code) > 0, code)
		}
	}
	for _, format := range []string{"wise", CSV} {
		require.Empty(t, unpayable(format, 123455, "HUF"))
		require.Empty(t, unpayable(format, 1, "INR"))
	}
	require.NotEmpty(t, unpayable("paypal", 100, "INR"))
}
