package handlers

import (
	"strings"

	"rail/server/slug"
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
	if stem := slug.Of(local, handleMax); len(stem) >= 2 {
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
