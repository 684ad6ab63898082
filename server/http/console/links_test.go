package console_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/cli/sample"
	"rail/server/harness/apitest"
	"rail/server/harness/crawl"
	"rail/server/secret"
)

// TestLinks follows all links of the sample program's pages: each leads to a page, and to none that is
// too long for a slow line.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	require.NoError(t, sample.Load(t.Context(), s.Pool, keeper, s.Org, s.Clock.Now()))
	d := newSiteOf(s, s.Must(200, s.Get("/v1/programs")).Data()[0]["id"].(string))
	kinds := map[string]int{}
	require.NoError(t, crawl.Walk(d.at, func(at string) (string, error) {
		a := d.owner.ask("GET", at, nil)
		if a.Status != http.StatusOK {
			return "", fmt.Errorf("the answer is %d", a.Status)
		}
		kinds[crawl.Kind(at)] = max(kinds[crawl.Kind(at)], len(a.Raw))
		return string(a.Raw), nil
	}))
	program := crawl.Kind(d.at)
	for _, kind := range []string{
		"", "?days=365", "/reports?attribution&dimension&from&partner_id&to", "/partners/{id}", "/customers/{id}", "/commissions/{id}",
		"/sales/{id}", "/payouts/{id}", "/payouts/batches/{id}", "/risk/{id}", "/webhooks/{id}", "/mails/{id}",
	} {
		require.Contains(t, kinds, program+kind)
	}
	for kind, bytes := range kinds {
		require.LessOrEqual(t, bytes, 60_000, kind)
	}
}
