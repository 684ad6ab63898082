package middleware

import "strings"

// areas names the routes outside the description by their first segment. Metrics and the log use
// the names as operations.
var areas = map[string]string{
	"portal": "portal", "embed": "portal", "console": "console", "join": "joinPage", "mail": "mailPage", "docs": "docs",
	"": "docs", "r": "shortLink", "healthz": "probe", "readyz": "probe", "assets": "file", "look": "file",
	"verify": "verifyPage", ".well-known": "file", ":program": "ledger",
	"favicon.ico": "file", "embed.js": "file", "rail.js": "file",
}

// area returns the area of a route, or "".
func area(route string) string {
	if !strings.HasPrefix(route, "/") {
		return ""
	}
	first, _, _ := strings.Cut(route[1:], "/")
	if strings.HasPrefix(first, "rail-") { // a script by its hash
		first = "rail.js"
	}
	return areas[first]
}
