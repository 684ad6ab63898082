package pages

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/openapi"
)

// TestSamplesOfEveryOperation checks that the reference has a sample of each operation in each language, and is
// otherwise the published description.
func TestSamplesOfEveryOperation(t *testing.T) {
	t.Parallel()
	w := get(t, up, "/docs/openapi.json")
	require.Equal(t, http.StatusOK, w.Code)
	var served struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &served))
	for path, item := range served.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var op struct {
				Samples []struct{ Lang, Label, Source string } `json:"x-codeSamples"`
			}
			require.NoError(t, json.Unmarshal(raw, &op))
			var labels []string
			for _, s := range op.Samples {
				labels = append(labels, s.Label)
				require.NotEmpty(t, s.Source)
			}
			if strings.HasPrefix(path, "/hooks/") {
				require.Empty(t, labels)
				continue
			}
			require.Equal(t, []string{"curl", "TypeScript", "Python", "Go"}, labels, "%s %s", method, path)
		}
	}
	require.JSONEq(t, string(openapi.Bundle), string(without(t, w.Body.Bytes(), "x-codeSamples")))
}

// without returns a JSON document without the members of a name.
func without(t *testing.T, document []byte, name string) []byte {
	t.Helper()
	var d any
	require.NoError(t, json.Unmarshal(document, &d))
	var remove func(any)
	remove = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, name)
			for _, one := range v {
				remove(one)
			}
		case []any:
			for _, one := range v {
				remove(one)
			}
		}
	}
	remove(d)
	out, err := json.Marshal(d)
	require.NoError(t, err)
	return out
}
