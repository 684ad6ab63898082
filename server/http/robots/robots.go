// Package robots recognizes requests that are not visits: crawlers, link previews, and browsers
// that prefetch a page. Short links and the browser's endpoints use the same list.
package robots

import (
	"net/http"
	"regexp"
	"strings"
)

// agents matches the user agents of robots. The word Google alone is no sign: Instagram's browser
// sends Google/google. CUBOT is a phone maker. Only robots name the page or mailbox of their maker.
var agents = regexp.MustCompile(`(?i)(?:^|[^u])bot\b|crawl|spider|slurp|preview|scan|scrap|headless|phantomjs|puppeteer|playwright|` +
	`lighthouse|monitor|pingdom|uptime|facebookexternalhit|meta-externalagent|embedly|whatsapp|skypeuri|` +
	`vkshare|google-|googleother|feedfetcher|mediapartners|bingpreview|baiduspider|yandex\w*/|quora link|outbrain|` +
	`pinterest/0|slack-img|curl/|wget/|python-|python/|aiohttp|httpx/|go-http-client|okhttp|libwww|java/|` +
	`axios/|node-fetch|undici|^node$|got \(|ruby|perl|php/|guzzle|httpclient|http_request|w3c_validator|` +
	`\+(?:https?|mailto):`)

// Sighting reports whether a request shows a page to a visitor: no HEAD, no prefetch, no
// prerendering and no robot.
func Sighting(r *http.Request) bool {
	h := r.Header
	purpose := strings.ToLower(h.Get("Sec-Purpose") + " " + h.Get("Purpose") + " " + h.Get("X-Purpose") + " " + h.Get("X-Moz"))
	for _, unseen := range []string{"prefetch", "prerender", "preview"} {
		if strings.Contains(purpose, unseen) {
			return false
		}
	}
	return r.Method != http.MethodHead && !agents.MatchString(r.UserAgent())
}
