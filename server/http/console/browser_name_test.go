package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBrowserName(t *testing.T) {
	t.Parallel()
	const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
	for agent, want := range map[string]string{
		chrome: "Chrome on Linux", chrome + " Edg/156.0": "Edge on Linux", "": "Unknown browser", "curl/8.5": "curl",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0":                      "Firefox on Windows",
		"Something (Android 16)": "A browser on Android",
	} {
		require.Equal(t, want, browserName(agent), agent)
	}
}
