package middleware

import (
	"slices"
	"strings"

	"rail/server/problem"
)

// noPath is the 404 of a path that nothing answers. It names the one that was
// probably meant.
func (d *Document) noPath(path string) *problem.Error {
	if meant := d.nearestPath(path); meant != "" {
		return problem.New(problem.RouteNotFound, "No such path. Did you mean %s?", meant)
	}
	return problem.New(problem.RouteNotFound, "No such path.")
}

// nearestPath compares with the described paths of as many segments, which have
// the given ones in the places of their ids.
func (d *Document) nearestPath(path string) string {
	path = strings.TrimSuffix(path, "/")
	if !plausibleID(path) {
		return ""
	}
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
