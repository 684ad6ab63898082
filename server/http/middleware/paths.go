package middleware

import (
	"regexp"
	"slices"
	"strings"

	"rail/server/problem"
)

// otherBeginning matches the beginning of a path: a version, /api, both, or only the slash.
var otherBeginning = regexp.MustCompile(`^(?i:/api)?(?i:/v[0-9]{1,3})?/`)

// otherWords maps what events call an object to the collection of the paths.
var otherWords = map[string]string{
	"affiliates": "partners", "affiliate_links": "links", "affiliate_coupons": "coupons", "rules": "flows",
}

// noPath returns the 404 of an unknown path, and suggests the most similar one.
func (d *Document) noPath(path string) *problem.Error {
	if nearest := d.nearestPath(path); nearest != "" {
		return problem.New(problem.RouteNotFound, "No such path. Did you mean %s?", nearest)
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
	if !strings.HasSuffix(path, ".txt") {
		path = otherBeginning.ReplaceAllString(path, "/v1/")
	}
	parts := strings.Split(path, "/")
	if len(parts) > 2 && otherWords[parts[2]] != "" {
		parts[2] = otherWords[parts[2]]
		path = strings.Join(parts, "/")
	}
	var paths []string
	for key := range d.routes {
		segments := strings.Split(key.path, "/")
		if fill(segments, parts) {
			paths = append(paths, strings.Join(segments, "/"))
		}
	}
	slices.Sort(paths)
	return problem.Nearest(path, slices.Compact(paths))
}

// fill copies the given ids into the segments of a described path. It reports whether each other segment is similar to
// the given one: /v1/tags/x is no suggestion for /v1/programs/x.
func fill(segments, parts []string) bool {
	if len(segments) != len(parts) {
		return false
	}
	for i, s := range segments {
		switch {
		case strings.HasPrefix(s, ":") && parts[i] != "":
			segments[i] = parts[i]
		case s != parts[i] && problem.Nearest(parts[i], []string{s}) == "":
			return false
		}
	}
	return true
}
