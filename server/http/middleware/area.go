package middleware

import "strings"

// areas name what is beyond the description, by the first part of a route: they are operations of their own for
// metrics and in the log.
var areas = map[string]string{
	"portal": "portal", "embed": "portal", "console": "console", "join": "joinPage", "mail": "mailPage", "docs": "docs",
	"": "docs", "r": "shortLink", "healthz": "probe", "readyz": "probe", "assets": "file", "look": "file",
	"favicon.ico": "file", "embed.js": "file", "rail.js": "file",
}

// area returns the name of the area that a route is in, "" for none.
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
