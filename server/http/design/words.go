package design

import (
	"html/template"
	"reflect"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/locale"
)

// functions are what templates can call, in the words and the figures of l. Times are in
// UTC, like the API's; the script shows them in the browser's zone where a site asks for it.
func functions(l *locale.Locale, vocabulary map[string]string) template.FuncMap {
	return template.FuncMap{
		"t":       l.T,
		"lang":    l.Language,
		"money":   l.Money,
		"percent": l.Percent,
		"country": l.Country,
		"day":     func(t clock.Time) string { return l.Day(t.Time) },
		"moment":  func(t clock.Time) string { return l.Moment(t.Time) },
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
	}
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
	if known, ok := vocabulary[v]; ok {
		return known
	}
	s := strings.ReplaceAll(v, "_", " ")
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Month is the name of a month that a report's row begins.
// It returns the key itself if it is no date.
func Month(l *locale.Locale, key string) string {
	t, err := time.Parse(time.DateOnly, key)
	if err != nil {
		return key
	}
	return l.Month(t)
}
