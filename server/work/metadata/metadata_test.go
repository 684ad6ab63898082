package metadata

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	many := make([]string, maxKeys+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	for text, refused := range map[string]string{
		"":                             "",
		" null ":                       "",
		"{}":                           "",
		`{"a":{"b":{"c":{"d":{}}}}}`:   "",
		`{"a":{"b":{"c":{"d":[{}]}}}}`: "deeper than 5",
		`{"a":"{[{[{[\\\"{"}`:          "",
		`{"a":""}`:                     "",
		`{"a":{"":1}}`:                 "empty key",
		`[]`:                           "must be an object",
		`{"a":"` + strings.Repeat("x", 16<<10) + `"}`: "larger than 16 KiB",
		"{" + strings.Join(many[1:], ",") + "}":       "",
		"{" + strings.Join(many, ",") + "}":           "more than 50 keys",
	} {
		err := Check(json.RawMessage(text), "metadata")
		if refused == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, refused, text)
		}
	}
}

func TestStored(t *testing.T) {
	t.Parallel()
	require.Nil(t, Stored(nil))
	require.Nil(t, Stored(json.RawMessage("null")))
	require.Equal(t, []byte("{}"), Stored(json.RawMessage("{}")))
}
