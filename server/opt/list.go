package opt

import "slices"

// Distinct returns values in their order, each once. It is never nil: what is
// absent is an empty list.
func Distinct(values []string) []string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
