package middleware

import (
	"regexp"
	"slices"
	"strings"

	"rail/server/problem"
)

// otherVersion matches the beginning of a path with a version.
var otherVersion = regexp.MustCompile(`^/v[0-9]{1,3}/`)

// noPath returns the 404 of an unknown path, and suggests the most similar one.
func (d *Document) noPath(path string) *problem.Error {
	if meant := d.nearestPath(path); meant != "" {
		return problem.New(problem.RouteNotFound, "No such path. Did you mean %s?", meant)
	}
	return problem.New(problem.RouteNotFound, "No such path.")
}

// nearestPath returns the most similar described path, or "". It compares paths with the same
// number of segments, and inserts the given ids. The usual mistakes are a missing /v1 and another
// version.
func (d *Document) nearestPath(path string) string {
	path = strings.TrimSuffix(path, "/")
	if !plausibleID(path) {
		return ""
	}
	path = otherVersion.ReplaceAllString(path, "/v1/")
	if !strings.HasPrefix(path, "/v1/") && !strings.HasSuffix(path, ".txt") {
		path = "/v1" + path
	}
	given := strings.Split(path, "/")
	var known []string
	for key := range d.routes {
		segments := strings.Split(key.path, "/")
		if len(segments) != len(given) {
			continue
		}
		for i, s := range segments {
			if strings.HasPrefix(s, ":") {
				segments[i] = given[i]
			}
		}
		known = append(known, strings.Join(segments, "/"))
	}
	slices.Sort(known)
	return problem.Nearest(path, slices.Compact(known))
}
