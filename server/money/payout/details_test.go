package payout

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/secret"
)

func TestDetailsHash(t *testing.T) {
	t.Parallel()
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	hash := func(program, method, details string) string {
		h, err := DetailsHash(keeper, program, &method, []byte(details))
		require.NoError(t, err)
		require.Len(t, h, 32)
		return string(h)
	}
	base := hash("prg_1", "wise", `{"iban":"DE02120300000000202051","name":"Ann Lee"}`)
	for _, same := range []string{
		`{"name":"Ann Lee","iban":"DE02120300000000202051"}`, `{"iban":"DE02120300000000202051"}`,
		`{"account-number":"DE02-1203-0000-0000-2020-51","bank_name":"Any","swift":"X","account_holder":"A. Lee"}`,
		`{ "Name" : " ann  lee ", "IBAN": "de02 1203 0000 0000 2020 51" }`,
		`{"iban":"DE02120300000000202051","name":"Ann Lee","bic":null,"note":" "}`,
	} {
		require.Equal(t, base, hash("prg_1", "wise", same), same)
	}
	for _, other := range []string{
		`{"iban":"DE02120300000000202052","name":"Ann Lee"}`, `{"iban":"Ann Lee","name":"DE02120300000000202051"}`,
		`{"holder":{"iban":"DE02120300000000202051","name":"Ann Lee"}}`,
	} {
		require.NotEqual(t, base, hash("prg_1", "wise", other), other)
	}
	require.NotEqual(t, base, hash("prg_2", "wise", `{"iban":"DE02120300000000202051","name":"Ann Lee"}`),
		"programs cannot be joined by it")
	require.Equal(t, base, hash("prg_1", "wire", `{"iban":"DE02120300000000202051","name":"Ann Lee"}`),
		"one account, however it is paid to")
	require.Equal(t, hash("p", "paypal", `{"email":"Pay@example.com"}`),
		hash("p", "wise", `{"email":" pay@example.com","type":"x"}`))
	require.NotEqual(t, hash("p", "wire", `{"account_number":"12345678","swift":"AAAADEFF"}`),
		hash("p", "wire", `{"account_number":"12345678","swift":"BBBBDEFF"}`),
		"a number means something at one bank only")
	require.NotEqual(t, hash("p", "a", `{"code":"x"}`), hash("p", "b", `{"code":"x"}`))
	for _, nothing := range []string{`{}`, `{"email":""}`, `{"iban":" ","account_number":null}`} {
		h, err := DetailsHash(keeper, "p", nil, []byte(nothing))
		require.NoError(t, err)
		require.NotNil(t, h, "it is not hashed again and again")
		require.Empty(t, h, nothing)
	}
	require.Equal(t, hash("p", "m", `{"account":12345678901234567890}`),
		hash("p", "m", `{"account":"1234567890-1234567890"}`))
	require.Equal(t, hash("p", "m", `{"a":[{"b":1,"c":"X"},true]}`), hash("p", "m", `{"a":[{"c":"x","b":1},true]}`))
	require.NotEqual(t, hash("p", "m", `{"a":["x","y"]}`), hash("p", "m", `{"a":["y","x"]}`))
}

// TestRecipient: a payout reaches the account in the details, however its member is spelled.
func TestRecipient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		service string
		details map[string]any
		want    string
	}{
		{"paypal", nil, "own@x.example"},
		{"paypal", map[string]any{"iban": "DE02", "email": json.Number("7"), "wise_email": "w@x.example"}, "own@x.example"},
		{"paypal", map[string]any{"PayPal email": " p@x.example\n", "email": " "}, "p@x.example"},
		{"paypal", map[string]any{"Payer ID": "QWERTY1234567"}, "QWERTY1234567"},
		{"wise", map[string]any{"Wise-Email": "w@x.example", "paypal_email": "p@x.example"}, "w@x.example"},
		{"wise", map[string]any{"E-mail": "e@x.example", "wise_email": "w@x.example"}, "e@x.example"},
		{"wise", map[string]any{"address": "a@x.example"}, "own@x.example"},
	} {
		require.Equal(t, c.want, Recipient(c.service, c.details, " own@x.example"), "%v", c)
	}
}
