package payout

import (
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
		`{"name":"Ann Lee","iban":"DE02120300000000202051"}`,
		`{ "Name" : " ann  lee ", "IBAN": "de02 1203 0000 0000 2020 51" }`,
		`{"iban":"DE02120300000000202051","name":"Ann Lee","bic":null,"note":" "}`,
	} {
		require.Equal(t, base, hash("prg_1", "wise", same), same)
	}
	for _, other := range []string{
		`{"iban":"DE02120300000000202052","name":"Ann Lee"}`, `{"iban":"DE02120300000000202051"}`, `{"iban":"Ann Lee","name":"DE02120300000000202051"}`,
		`{"holder":{"iban":"DE02120300000000202051","name":"Ann Lee"}}`,
	} {
		require.NotEqual(t, base, hash("prg_1", "wise", other), other)
	}
	require.NotEqual(t, base, hash("prg_2", "wise", `{"iban":"DE02120300000000202051","name":"Ann Lee"}`), "programs cannot be joined by it")
	require.NotEqual(t, base, hash("prg_1", "wire", `{"iban":"DE02120300000000202051","name":"Ann Lee"}`))
	require.Equal(t, hash("p", "m", `{"account":12345678901234567890}`), hash("p", "m", `{"account":"12345678901234567890"}`))
	require.Equal(t, hash("p", "m", `{"a":[{"b":1,"c":"X"},true]}`), hash("p", "m", `{"a":[{"c":"x","b":1},true]}`))
	require.NotEqual(t, hash("p", "m", `{"a":["x","y"]}`), hash("p", "m", `{"a":["y","x"]}`))
}
