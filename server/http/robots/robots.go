// Package robots knows who looks at a page without being its visitor: crawlers,
// programs that preview links, and browsers that fetch what nobody has seen yet.
// Short links and the browser's endpoints go by this one list.
package robots

import (
	"net/http"
	"regexp"
	"strings"
)

// agents matches the user agents of robots. Instagram's browser, which people use,
// says Google/google: the word alone is no sign. CUBOT makes phones. Only robots name the
// page or mailbox of their maker.
var agents = regexp.MustCompile(`(?i)(?:^|[^u])bot\b|crawl|spider|slurp|preview|scan|scrap|headless|phantomjs|puppeteer|playwright|` +
	`lighthouse|monitor|pingdom|uptime|facebookexternalhit|meta-externalagent|embedly|whatsapp|skypeuri|` +
	`vkshare|google-|googleother|feedfetcher|mediapartners|bingpreview|baiduspider|yandex\w*/|quora link|outbrain|` +
	`pinterest/0|slack-img|curl/|wget/|python-|python/|aiohttp|httpx/|go-http-client|okhttp|libwww|java/|` +
	`axios/|node-fetch|undici|^node$|got \(|ruby|perl|php/|guzzle|httpclient|http_request|w3c_validator|` +
	`\+(?:https?|mailto):`)

// Sighting reports whether a request is a visitor's who sees a page. HEAD,
// prefetches and prerendered pages are not, and neither are robots.
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
