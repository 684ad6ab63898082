package robots_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/http/robots"
)

func TestSighting(t *testing.T) {
	t.Parallel()
	see := func(method, agent string, header ...string) bool {
		r := httptest.NewRequestWithContext(t.Context(), method, "/", http.NoBody)
		r.Header.Set("User-Agent", agent)
		if len(header) > 0 {
			r.Header.Set(header[0], header[1])
		}
		return robots.Sighting(r)
	}
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	for _, people := range []string{
		firefox,
		"Mozilla/5.0 (Linux; Android 14; CUBOT NOTE 50) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Mobile Instagram 300.0 (iPhone; Google/google)",
	} {
		require.True(t, see(http.MethodGet, people), people)
	}
	for _, robot := range []string{
		"Googlebot/2.1", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "TelegramBot (like TwitterBot)",
		"facebookexternalhit/1.1", "WhatsApp/2.23", "curl/8.0", "Go-http-client/1.1", "Mozilla/5.0 HeadlessChrome/140.0",
		"Iframely/1.3.1 (+https://iframely.com/docs/about)", "Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)",
	} {
		require.False(t, see(http.MethodGet, robot), robot)
	}
	require.False(t, see(http.MethodHead, firefox))
	require.False(t, see(http.MethodGet, firefox, "Sec-Purpose", "prefetch;prerender"))
	require.False(t, see(http.MethodGet, firefox, "X-Moz", "prefetch"))
}
