// Package slug makes short names for addresses: handles, and the names of groups and programs.
package slug

import (
	"strconv"
	"strings"
)

// Unused returns stem, or stem with the first free suffix from -2 on. The stem is cut before the suffix is added
// (decisions, 178).
func Unused(stem string, limit int, taken []string) string {
	used := make(map[string]bool, len(taken))
	for _, t := range taken {
		used[t] = true
	}
	name := stem
	for n := 2; used[name]; n++ {
		suffix := "-" + strconv.Itoa(n)
		base := stem[:min(len(stem), limit-len(suffix))]
		name = strings.TrimRight(base, "-") + suffix
	}
	return name
}

// Of converts text to lower-case letters, digits and single hyphens, at most limit of them and with no hyphen at
// either end. It may be empty.
func Of(text string, limit int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	slug := b.String()
	return strings.Trim(slug[:min(len(slug), limit)], "-")
}
