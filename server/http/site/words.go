package site

import (
	"html/template"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/locale"
)

// functions are the functions of templates, with the words and figures of l. Days and times
// are in the zone of the page's reader, which Write fills in; the script shows times in
// the browser's zone where a site asks for it.
func functions(l *locale.Locale, vocabulary map[string]string) template.FuncMap {
	return template.FuncMap{
		"t":       l.T,
		"lang":    l.Language,
		"dates":   l.Dates,
		"money":   l.Money,
		"percent": l.Percent,
		"country": l.Country,
		"day":     func(t clock.Time) string { return mark('d', t.UnixMicro()) },
		"moment":  func(t clock.Time) string { return mark('m', t.UnixMicro()) },
		"hour":    func(t clock.Time) string { return mark('h', t.UnixMicro()) },
		"zone":    func() string { return mark('z', 0) },
		"iso":     func(t clock.Time) string { return t.String() },
		"words": func(v any) string {
			return l.Said(Words(reflect.Indirect(reflect.ValueOf(v)).String(), vocabulary))
		},
		"count":  l.Count,
		"size":   func(bytes int64) string { return Size(l, bytes) },
		"input":  NewInput,
		"tick":   NewTick,
		"style":  func() string { return StylePath },
		"script": func() string { return ScriptPath },
		"icon":   icon,
		"avatar": avatar,
		"mark":   processorMark,
		"spark":  NewSpark,
	}
}

// mark is a placeholder for a day, a moment, an hour or the name of the zone. Write replaces it, since readers of all
// zones share the templates of a language. It has private characters.
func mark(kind rune, micros int64) string {
	return "\ue000" + string(kind) + strconv.FormatInt(micros, 10) + "\ue001"
}

// marks finds what mark makes.
var marks = regexp.MustCompile("\ue000([dmhz])(-?[0-9]{1,19})\ue001")

// filled replaces the marks in a page by days and moments in the reader's zone.
func filled(page []byte, l *locale.Locale) []byte {
	return marks.ReplaceAllFunc(page, func(found []byte) []byte {
		parts := marks.FindSubmatch(found)
		micros, _ := strconv.ParseInt(string(parts[2]), 10, 64) // 0 where it is none, as a visitor may type
		switch at := time.UnixMicro(micros); parts[1][0] {
		case 'd':
			return []byte(l.Day(at))
		case 'm':
			return []byte(l.Moment(at))
		case 'h':
			return []byte(l.Hour(at))
		}
		return []byte(l.Zone().String())
	})
}

// Size is that of a file, for people.
func Size(l *locale.Locale, bytes int64) string {
	switch {
	case bytes >= 1_000_000:
		return l.Count(bytes/1_000_000) + " MB"
	case bytes >= 1000:
		return l.Count(bytes/1000) + " kB"
	}
	return l.T("%d bytes", bytes)
}

// Words is a value of an enum for people.
// A value that the vocabulary lacks is shown as it is, with spaces for underscores, so
// that a new state of the API needs no change here.
func Words(v string, vocabulary map[string]string) string {
	if text, ok := vocabulary[v]; ok {
		return text
	}
	s := strings.ReplaceAll(v, "_", " ")
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Paragraphs splits a plain text at empty lines.
func Paragraphs(text string) (out []string) {
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
