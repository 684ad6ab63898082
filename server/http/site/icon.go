package site

import (
	"fmt"
	"hash/fnv"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// symbols are the names of the icons in icons.svg.
var symbols = symbolsOf(read("assets/icons.svg"))

func symbolsOf(sprite []byte) map[string]bool {
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`<symbol id="([a-z0-9-]+)"`).FindAllSubmatch(sprite, -1) {
		out[string(m[1])] = true
	}
	return out
}

// Icons returns the names of all icons.
func Icons() []string { return slices.Sorted(maps.Keys(symbols)) }

// icon returns an icon of icons.svg. Screen readers skip it: a button with an icon alone needs a hidden text.
func icon(name string) (template.HTML, error) {
	if !symbols[name] {
		return "", fmt.Errorf("icons.svg has no icon %q", name)
	}
	return template.HTML(`<svg class="icon" aria-hidden="true" focusable="false"><use href="` + //nolint:gosec // known names
		IconsPath + "#" + name + `"/></svg>`), nil
}

// avatarColours is how many colours design.css has for avatars.
const avatarColours = 6

// avatar returns the initials of a name on a colour that depends on the name. Screen readers skip it.
func avatar(name string) template.HTML {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name))                                                                  // never fails
	return template.HTML(fmt.Sprintf(`<span class="avatar avatar-%d" aria-hidden="true">%s</span>`, //nolint:gosec // escaped
		sum.Sum32()%avatarColours, template.HTMLEscapeString(initials(name))))
}

// initials returns the first letters of the first and the last word of a name, in capitals.
func initials(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return "?"
	}
	out := firstLetter(words[0])
	if last := words[len(words)-1]; len(words) > 1 && !strings.Contains(name, "@") {
		out += firstLetter(last)
	}
	return out
}

func firstLetter(word string) string {
	r, _ := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(r))
}

// processorMarks are the letters and the colours of the processors' marks. Marks use no processor's logo.
var processorMarks = map[string]string{
	"stripe": "St", "paddle": "Pa", "chargebee": "Cb", "lemonsqueezy": "Ls", "polar": "Po", "generic": "API",
	"paypal": "PP", "wise": "Wi",
}

// processorMark returns the mark of a processor or a payout method. Screen readers skip it.
func processorMark(kind string) template.HTML {
	letters, ok := processorMarks[kind]
	if !ok {
		kind, letters = "other", initials(kind)
	}
	return template.HTML(`<span class="mark mark-` + kind + `" aria-hidden="true">` + //nolint:gosec // known or escaped
		template.HTMLEscapeString(letters) + `</span>`)
}
