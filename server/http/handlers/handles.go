package handlers

import (
	"strconv"
	"strings"
)

// handleMax is the longest handle; handleRoom leaves room for the suffix that
// tells derived handles apart, so that those of one stem begin alike.
const (
	handleMax  = 32
	handleRoom = 26
)

// handleStem derives a handle from an email: the local part without its +tag,
// in the letters that a handle may have (decisions, 42).
func handleStem(email string) string {
	local := email
	if at := strings.LastIndexByte(email, '@'); at >= 0 {
		local = email[:at]
	}
	local, _, _ = strings.Cut(local, "+")
	if stem := slugify(local, handleMax); len(stem) >= 2 {
		return stem
	}
	return "partner"
}

// handlePattern is the LIKE pattern of the handles that a stem can lead to.
func handlePattern(stem string) string {
	if len(stem) > handleRoom {
		return stem[:handleRoom] + "%"
	}
	return stem + "-%"
}

// unused returns stem, or stem with the first suffix from -2 on that is not
// taken. The stem is cut before the suffix is added (decisions, 178).
func unused(stem string, limit int, taken []string) string {
	held := make(map[string]bool, len(taken))
	for _, t := range taken {
		held[t] = true
	}
	name := stem
	for n := 2; held[name]; n++ {
		suffix := "-" + strconv.Itoa(n)
		base := stem[:min(len(stem), limit-len(suffix))]
		name = strings.TrimRight(base, "-") + suffix
	}
	return name
}

// slugify writes text in lower-case letters, digits and single hyphens, at
// most limit of them and with no hyphen at either end. It may be empty.
func slugify(text string, limit int) string {
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
