// Package plain keeps invisible characters out of names and addresses: with them two that
// look alike differ, a line is read in another order, or one value becomes two lines.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden are the categories of characters that have no place in a name: controls, formats (such as
// those of direction and of no width), separators of lines, private use and surrogates.
var hidden = []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs}

// ignorable are further characters that are shown as nothing.
var ignorable = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// isHidden reports whether a character has no place in a name.
func isHidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return unicode.In(r, hidden...)
}

// Named reports whether all characters of a text have a place in a name.
func Named(text string) bool { return !strings.ContainsFunc(text, isHidden) }

// Lined reports whether a text has no invisible characters except line breaks and tabs.
func Lined(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return isHidden(r) && r != '\n' && r != '\r' && r != '\t' })
}

// Name returns a name without invisible characters. What separates lines or is a tab
// becomes a space.
func Name(text string) string {
	if Named(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) && isHidden(r), unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		case isHidden(r):
			return -1
		}
		return r
	}, text)
}

// Names does the same to names that may be missing.
func Names(names ...**string) {
	for _, name := range names {
		if *name != nil && !Named(**name) {
			*name = new(Name(**name))
		}
	}
}

// Addressed reports whether all characters of a text have a place in an address: those of a name
// that are seen, and no space.
func Addressed(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || isHidden(r) || unicode.IsSpace(r) || r >= utf8.RuneSelf && unicode.In(r, ignorable...)
	})
}
