package mcp_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// charactersPerToken is the usual estimate for English text and JSON.
const charactersPerToken = 4

// TestToolsAreSmall: a tool a tag, at most 6,000 tokens together, with hints from the operations' methods.
func TestToolsAreSmall(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for name, address := range map[string]string{"reads": s.URL + "/mcp", "writes": s.URL + "/mcp?write=true"} {
		list, err := open(t, address, s.Key, newest).ListTools(t.Context(), nil)
		require.NoError(t, err)
		raw, err := json.Marshal(list.Tools)
		require.NoError(t, err)
		t.Log(name, len(list.Tools), len(raw)/charactersPerToken)
		for _, x := range list.Tools { t.Log(x.Name, x.Description) }
		require.LessOrEqual(t, len(raw)/charactersPerToken, 6000, name)
	}
}
