// Package plain removes invisible characters from names and addresses: they make equal-looking
// values differ, reverse the reading order, or split a value into two lines.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden lists the categories of characters that a name must not have: controls, formats (such as
// direction and zero width), line separators, private use and surrogates.
var hidden = []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs}

// ignorable lists other characters without a glyph.
var ignorable = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// isHidden reports whether a name must not have a character.
func isHidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return unicode.In(r, hidden...)
}

// Named reports whether a name may have all characters of a text.
func Named(text string) bool { return !strings.ContainsFunc(text, isHidden) }

// Lined reports whether a text has no invisible characters except line breaks and tabs.
func Lined(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return isHidden(r) && r != '\n' && r != '\r' && r != '\t' })
}

// Name returns a name without invisible characters. Line separators and tabs become spaces.
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

// Names does the same to optional names.
func Names(names ...**string) {
	for _, name := range names {
		if *name != nil && !Named(**name) {
			*name = new(Name(**name))
		}
	}
}

// Addressed reports whether an address may have all characters of a text: visible ones and no
// space.
func Addressed(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || isHidden(r) || unicode.IsSpace(r) || r >= utf8.RuneSelf && unicode.In(r, ignorable...)
	})
}
