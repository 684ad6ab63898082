package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
)

// TestDesign: the page of all parts is served on a developer's machine alone, without a session.
func TestDesign(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	require.Equal(t, 404, s.Do("GET", "/console/design", "", nil).Status)
	local := apitest.New(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://127.0.0.1" })
	require.Contains(t, string(local.Must(200, local.Do("GET", "/console/design", "", nil)).Raw), "<h1>Design</h1>")
	b := browsertest.New(t, local.URL)
	b.Accessible("/console/design")
	b.Silent()
}
