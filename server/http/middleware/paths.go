package middleware

import (
	"regexp"
	"slices"
	"strings"

	"rail/server/problem"
)

// otherVersion is the beginning of a path of a version that does not exist.
var otherVersion = regexp.MustCompile(`^/v[0-9]{1,3}/`)

// noPath returns the 404 of a path that nothing answers, with the path that was
// probably meant.
func (d *Document) noPath(path string) *problem.Error {
	if meant := d.nearestPath(path); meant != "" {
		return problem.New(problem.RouteNotFound, "No such path. Did you mean %s?", meant)
	}
	return problem.New(problem.RouteNotFound, "No such path.")
}

// nearestPath returns the most similar described path, or "". It compares with
// those of as many segments, with the given ids in the places of theirs. A
// missing /v1 is the usual mistake, another version in its place the next.
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
