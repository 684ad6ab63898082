package payout

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/secret"
)

func ptr[T any](v T) *T { return &v }

func TestWriteFile(t *testing.T) {
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	sealed := func(id, details string) []byte {
		b, err := keeper.Seal([]byte(details), DetailsPlace(id))
		require.NoError(t, err)
		return b
	}
	payees := []Payee{
		{db.Payout{ID: "pyt_1", AmountMinor: 4999, Currency: "USD"}, db.Partner{ID: "part_1", Email: "ada@example.com", FirstName: ptr("Ada"), LastName: ptr(`Love, "lace"`)}, "USD"},
		{db.Payout{ID: "pyt_2", AmountMinor: 5, Currency: "USD"}, db.Partner{ID: "part_2", Email: "b@example.com", CompanyName: ptr("=HYPERLINK(1)"), PayoutDetails: sealed("part_2", `{"email":"pay+b@example.com","n":1}`)}, "EUR"},
		{db.Payout{ID: "pyt_3", AmountMinor: 5, Currency: "USD"}, db.Partner{ID: "part_3", Email: "c@example.com", Handle: "c", PayoutDetails: sealed("part_3", `{"email":"=cmd|' /C calc'!A0@x.com"}`)}, "USD"},
		{db.Payout{ID: "pyt_4", AmountMinor: 100, Currency: "USD"}, db.Partner{ID: "part_4", Email: "d@example.com", Handle: "dee", PayoutDetails: sealed("part_4", `{"payer_id":"QWERTY1234567"}`)}, "USD"},
	}
	var b bytes.Buffer
	left, err := WriteFile(&b, "paypal", keeper, payees)
	require.NoError(t, err)
	require.Equal(t, []string{"pyt_3"}, left)
	require.Equal(t, "ada@example.com,49.99,USD,pyt_1,,PAYPAL\npay+b@example.com,0.05,USD,pyt_2,,PAYPAL\nQWERTY1234567,1.00,USD,pyt_4,,PAYPAL\n", b.String())
	b.Reset()
	_, err = WriteFile(&b, "wise", keeper, payees)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Equal(t, []string{
		"name,recipientEmail,paymentReference,receiverType,amountCurrency,amount,sourceCurrency,targetCurrency,type",
		`"Ada Love, ""lace""",ada@example.com,pyt_1,PERSON,target,49.99,USD,USD,EMAIL`,
		"HYPERLINK(1),pay+b@example.com,pyt_2,INSTITUTION,target,0.05,EUR,USD,EMAIL",
		"dee,d@example.com,pyt_4,PERSON,target,1.00,USD,USD,EMAIL",
	}, lines)
	payees[1].Partner.ID = "part_9"
	_, err = WriteFile(&b, "wise", keeper, payees)
	require.ErrorIs(t, err, secret.ErrSealed, "details moved to another partner do not open")
}
