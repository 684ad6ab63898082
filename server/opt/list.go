package opt

import "slices"

// Distinct returns the distinct values in their order. The result is never nil.
func Distinct(values []string) []string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
