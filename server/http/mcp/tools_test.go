package mcp_test

import (
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

const (
	// charactersPerToken is the usual estimate for English text and JSON.
	charactersPerToken = 4
	// maxTokens bounds all tools together.
	maxTokens = 6000
)

// tools returns the tools of an address, by name, and their tokens.
func tools(t *testing.T, s *apitest.Server, query string) (map[string]*sdk.Tool, int) {
	t.Helper()
	list, err := open(t, s.URL+"/mcp"+query, s.Key, newest).ListTools(t.Context(), nil)
	require.NoError(t, err)
	raw, err := json.Marshal(list.Tools)
	require.NoError(t, err)
	out := map[string]*sdk.Tool{}
	for _, tool := range list.Tools {
		out[tool.Name] = tool
	}
	return out, len(raw) / charactersPerToken
}

// TestToolsAreSmall: the tools of both kinds of clients together have few tokens.
func TestToolsAreSmall(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, query := range []string{"", "?write"} {
		all, tokens := tools(t, s, query)
		t.Logf("%q: %d tools, %d tokens", query, len(all), tokens)
		require.LessOrEqual(t, tokens, maxTokens, query)
		require.Contains(t, all, "find")
		require.Contains(t, all, "explain")
	}
}

// TestToolHints: the hints of a tool follow from its operations. Without write, every tool only reads.
func TestToolHints(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	reading, _ := tools(t, s, "")
	for name, tool := range reading {
		require.True(t, tool.Annotations.ReadOnlyHint, name)
		require.False(t, *tool.Annotations.DestructiveHint, name)
		require.NotRegexp(t, `\b(create|update|delete)[A-Z]`, tool.Description, name)
		require.NotContains(t, tool.Description, "*", name)
	}
	writing, _ := tools(t, s, "?write=true")
	require.True(t, writing["reports"].Annotations.ReadOnlyHint)
	require.False(t, writing["sales"].Annotations.ReadOnlyHint)
	require.False(t, *writing["sales"].Annotations.DestructiveHint)
	require.True(t, *writing["partners"].Annotations.DestructiveHint)
	require.Contains(t, writing["sales"].Description, "refundSale*(id;")
	require.Contains(t, writing["sales"].Description,
		"createSale(program_id, external_charge_id, amount_minor, currency; affiliate_attribution,")
	require.Contains(t, writing["commissions"].Description, "createCommission(program_id")
	for _, tool := range writing {
		for _, never := range []string{
			"createPartnerSSO", "createEmbedToken", "createWebhookEndpoint", "rotateWebhookEndpointSecret", "setInboundSigning",
			"createPublishableKey", "createBrowserVisit", "receiveProcessorEvent", "createImport", "exportPayoutBatch",
		} {
			require.NotContains(t, tool.Description, never)
		}
	}
}
