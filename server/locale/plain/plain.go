// Package plain removes invisible characters from names and addresses: they make equal-looking
// values differ, reverse the reading order, or split a value into two lines.
//
// Some invisible characters change the visible text around them: joiners within Persian and Indic
// words, joiners and selectors within emoji, and selectors of the forms of Han characters. A name
// may have them only there.
//
// Cut and Short shorten a text between two characters.
package plain

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden lists the categories of characters that a name must not have: controls, formats (such as
// direction and zero width), line separators, private use and surrogates.
var hidden = []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs}

// ignorable lists other characters without a glyph.
var ignorable = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// blank is the empty Braille pattern, which looks like a space but is not one in Unicode.
const blank = '\u2800'

// isHidden reports whether a character is invisible. The signs before Arabic figures have the
// category of formats, but are visible.
func isHidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return r == blank || (unicode.In(r, hidden...) || unicode.In(r, ignorable...)) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// isLine reports whether a character ends a line, or is a tab.
func isLine(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }

// Named reports whether a name may have all characters of a text.
func Named(text string) bool {
	return !strings.ContainsFunc(text, isHidden) || clean(text, never) == text
}

// Lined reports whether a text has no invisible characters except line breaks, tabs, and characters that change
// the visible text around them.
func Lined(text string) bool {
	hides := func(r rune) bool { return isHidden(r) && !isLine(r) }
	return !strings.ContainsFunc(text, hides) || clean(text, isLine) == text
}

// Name returns a name without invisible characters, except characters that change the visible text
// around them. Line separators and tabs become spaces.
func Name(text string) string {
	if !strings.ContainsFunc(text, isHidden) {
		return text
	}
	return clean(text, never)
}

func never(rune) bool { return false }

// clean returns a text without invisible characters, except those with an effect on the text and
// those for which also is true.
func clean(text string, also func(rune) bool) string {
	runes := []rune(text)
	out := make([]rune, 0, len(runes))
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch flag := flagOf(runes[i:]); {
		case flag > 0:
			out = append(out, runes[i:i+flag]...)
			i += flag - 1
		case !isHidden(r), also(r), hasPlace(r, out, runes[i+1:]):
			out = append(out, r)
		case unicode.IsSpace(r), r == blank:
			out = append(out, ' ')
		}
	}
	return string(out)
}

// Cut returns the first characters of a text, at most most.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for at := range text {
		if most--; most < 0 {
			return text[:at]
		}
	}
	return text
}

// Short returns a text with at most most characters, of which the last is an ellipsis if it was cut.
func Short(text string, most int) string {
	if Cut(text, most) == text {
		return text
	}
	return strings.TrimRight(Cut(text, most-1), " ") + "…"
}

// Names applies Name to optional names.
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
		return r == utf8.RuneError || isHidden(r) || unicode.IsSpace(r)
	})
}

// The joiners.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// hasPlace reports whether an invisible character changes the visible text around it.
func hasPlace(r rune, before, after []rune) bool {
	switch {
	case len(before) == 0:
		return false
	case r == joiner || r == nonJoiner:
		return joins(r, before, after)
	case unicode.Is(unicode.Variation_Selector, r):
		return selects(r, before[len(before)-1], after)
	}
	return false
}

// joins reports whether a joiner is valid between characters: within an emoji, beside an Indic
// virama, or within a word of a script whose letters join.
func joins(r rune, before, after []rune) bool {
	last, next := before[len(before)-1], rune(0)
	if i := slices.IndexFunc(after, func(r rune) bool { return !isHidden(r) }); i >= 0 {
		next = after[i]
	}
	switch {
	case r == joiner && isEmoji(bare(before)) && isEmoji(next):
		return true
	case slices.Contains(viramas, last):
		return true
	case slices.Contains(viramas, next):
		return unicode.Is(unicode.Lo, last)
	}
	// Vowel marks above or below letters do not matter.
	letter := letterOf(before)
	if i := slices.IndexFunc(after, func(r rune) bool { return !isHidden(r) && !unicode.Is(unicode.Mn, r) }); i >= 0 {
		next = after[i]
	}
	for _, script := range joining {
		if unicode.Is(script, letter) && unicode.Is(script, next) {
			return unicode.IsLetter(letter) && unicode.IsLetter(next) && !unicode.Is(toRight, letter) && !isHidden(last)
		}
	}
	return false
}

// letterOf returns the last character that is not a mark, or 0.
func letterOf(text []rune) rune {
	for _, r := range slices.Backward(text) {
		if !unicode.Is(unicode.Mn, r) {
			return r
		}
	}
	return 0
}

// bare returns the last character without the selector or the tone of an emoji; 0 for a joiner.
func bare(text []rune) rune {
	for _, r := range slices.Backward(text) {
		if r != emojiForm && !isTone(r) {
			return r
		}
	}
	return 0
}

// selects reports whether a selector is valid after a character.
func selects(r, last rune, after []rune) bool {
	switch {
	case unicode.Is(unicode.Mongolian, r) || r >= 0x180b && r <= 0x180f:
		return unicode.Is(unicode.Mongolian, last) && unicode.IsLetter(last)
	case r >= 0xe0100 || r <= 0xfe02:
		return unicode.Is(unicode.Han, last)
	case r != textForm && r != emojiForm:
		return false
	case last >= '0' && last <= '9' || last == '#' || last == '*':
		return len(after) > 0 && after[0] == keycap
	}
	return isEmoji(last) || isTone(last) || unicode.Is(formed, last)
}

const (
	textForm, emojiForm = '\ufe0e', '\ufe0f'
	keycap              = '\u20e3'
)

// isTone reports whether a character is the tone of an emoji's skin.
func isTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// isEmoji reports whether a character is in a block of emoji.
func isEmoji(r rune) bool { return unicode.Is(emoji, r) && !isTone(r) }

// emoji are the blocks that have emoji: arrows, signs, shapes and pictures.
var emoji = &unicode.RangeTable{
	R16: []unicode.Range16{{0x2190, 0x21ff, 1}, {0x2300, 0x23ff, 1}, {0x25a0, 0x27bf, 1}, {0x2b00, 0x2bff, 1}},
	R32: []unicode.Range32{{0x1f000, 0x1faff, 1}},
}

// formed lists other characters that a selector turns into emoji.
var formed = &unicode.RangeTable{R16: []unicode.Range16{
	{0xa9, 0xa9, 1}, {0xae, 0xae, 1}, {0x203c, 0x203c, 1}, {0x2049, 0x2049, 1}, {0x2122, 0x2122, 1}, {0x2139, 0x2139, 1},
	{0x2934, 0x2935, 1}, {0x24c2, 0x24c2, 1}, {0x3030, 0x3030, 1}, {0x303d, 0x303d, 1}, {0x3297, 0x3297, 1},
	{0x3299, 0x3299, 1},
}, LatinOffset: 2}

// flags lists those of England, Scotland and Wales: a black flag with the region's letters in
// invisible characters.
var flags = [][]rune{region("gbeng"), region("gbsct"), region("gbwls")}

func region(letters string) []rune {
	out := []rune{0x1f3f4}
	for _, r := range letters {
		out = append(out, 0xe0000+r)
	}
	return append(out, 0xe007f)
}

// flagOf returns the length of the flag with which a text begins; 0 for none.
func flagOf(text []rune) int {
	for _, flag := range flags {
		if len(text) >= len(flag) && slices.Equal(text[:len(flag)], flag) {
			return len(flag)
		}
	}
	return 0
}

// viramas lists the signs that remove the vowel of a letter; a joiner beside one selects the form
// of the letters.
var viramas = []rune{
	0x94d, 0x9cd, 0xa4d, 0xacd, 0xb4d, 0xbcd, 0xc4d, 0xccd, 0xd3b, 0xd3c, 0xd4d, 0xdca, 0x1039, 0x103a, 0x17d2, 0x1b44,
	0xa9c0, 0x11046, 0x110b9, 0x111c0, 0x11235,
}

// joining lists the scripts whose letters join.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic, unicode.Phags_Pa, unicode.Adlam,
	unicode.Hanifi_Rohingya,
}

// toRight lists the Arabic letters that do not join the next letter: a joiner after one has no effect.
var toRight = &unicode.RangeTable{R16: []unicode.Range16{
	{0x621, 0x625, 1}, {0x627, 0x627, 1}, {0x629, 0x629, 1}, {0x62f, 0x632, 1}, {0x648, 0x648, 1}, {0x671, 0x677, 1},
	{0x688, 0x699, 1}, {0x6c0, 0x6c0, 1}, {0x6c3, 0x6cb, 1}, {0x6cd, 0x6cd, 1}, {0x6cf, 0x6cf, 1}, {0x6d2, 0x6d3, 1},
	{0x6d5, 0x6d5, 1}, {0x6ee, 0x6ef, 1}, {0x759, 0x75b, 1}, {0x76b, 0x76c, 1}, {0x771, 0x771, 1}, {0x773, 0x774, 1},
	{0x778, 0x779, 1}, {0x8aa, 0x8ac, 1}, {0x8ae, 0x8ae, 1}, {0x8b1, 0x8b2, 1}, {0x8b9, 0x8b9, 1},
}}

// Cell returns a text for a cell of a table. An apostrophe keeps spreadsheets from reading it as a formula.
func Cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
