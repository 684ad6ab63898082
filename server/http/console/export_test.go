package console

import (
	"maps"
	"slices"
)

// Patterns are the patterns of all routes, for tests that hold every one of them to something.
func Patterns() []string { return slices.Sorted(maps.Keys(routes())) }
