package middleware

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckJSON(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"a":1,"b":[true,null,"\u00e9\n"]}`:              "",
		strings.Repeat("[", 32) + strings.Repeat("]", 32): "",
		strings.Repeat("[", 34) + strings.Repeat("]", 34): "more than 32 levels",
		``:                                   "it ends too early",
		`{"a":1`:                             "it ends too early",
		`{"a":1,}`:                           "invalid character",
		`{"a":1} 2`:                          "data after the end of the value",
		`{"a":1}]`:                           "data after the end of the value",
		`{"a":"` + "\xff" + `"}`:             "not valid UTF-8",
		`{"a":"\ud800"}`:                     "surrogate",
		`{"a":"\u0000"}`:                     "a NUL character in a string",
		`{"a":1,"A":2}`:                      `the member "A" is given twice`,
		`{"a":{"b":1},"c":{"b":1}}`:          "",
		`{"amount_minor":10.0}`:              "amount_minor must be an integer without a point or exponent, not 10.0.",
		`{"a":[0,{"b":1e2}]}`:                "a[1].b must be an integer without a point or exponent, not 1e2.",
		`{"metadata":{"weight":1.5}}`:        "",
		`{"actions":[{"conditions":[1.5]}]}`: "",
	} {
		err := CheckJSON([]byte(body))
		if want == "" {
			require.Nil(t, err, body)
			continue
		}
		require.NotNil(t, err, body)
		require.Contains(t, err.Message, want, body)
	}
}

func TestProgramOf(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"program_id":"prg_1"}`:                        "prg_1",
		`{"a":{"program_id":"x"},"program_id":"prg_1"}`: "prg_1",
		`{"a":[1,{}],"program_id":"pr\u0067_1","b":1}`:  "prg_1",
		`{"a":{"program_id":"x"}}`:                      "",
		`{"program_id":null}`:                           "",
		`[{"program_id":"x"}]`:                          "",
		`{}`:                                            "",
		`{"a"`:                                          "",
		``:                                              "",
	} {
		require.Equal(t, want, programOf([]byte(body)), body)
	}
}
