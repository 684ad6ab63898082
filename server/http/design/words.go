package design

import (
	"html/template"
	"reflect"
	"strconv"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/currency"
)

// functions are what templates can call. Times are in UTC, like the API's; the script
// shows them in the browser's zone where a site asks for it.
func functions(vocabulary map[string]string) template.FuncMap {
	return template.FuncMap{
		"money":  Money,
		"day":    func(t clock.Time) string { return t.UTC().Format("2 Jan 2006") },
		"moment": func(t clock.Time) string { return t.UTC().Format("2 Jan 2006, 15:04") },
		"iso":    func(t clock.Time) string { return t.String() },
		"words":  func(v any) string { return Words(reflect.Indirect(reflect.ValueOf(v)).String(), vocabulary) },
		"count":  Count,
		"size":   Size,
		"input":  NewInput,
		"tick":   NewTick,
		"style":  func() string { return StylePath },
		"script": func() string { return ScriptPath },
	}
}

// Money is an amount for people, with its currency.
func Money(minor int64, code string) string {
	return grouped(currency.Decimal(minor, code)) + " " + code
}

// Count is a number for people.
func Count(n int64) string { return grouped(strconv.FormatInt(n, 10)) }

// Size is that of a file, for people.
func Size(bytes int64) string {
	switch {
	case bytes >= 1_000_000:
		return Count(bytes/1_000_000) + " MB"
	case bytes >= 1000:
		return strconv.FormatInt(bytes/1000, 10) + " kB"
	}
	return strconv.FormatInt(bytes, 10) + " bytes"
}

// grouped puts commas between thousands.
// The minus sign is U+2212, which is as wide as a digit.
func grouped(decimal string) string {
	whole, rest, _ := strings.Cut(decimal, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "−", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return sign + whole + rest
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
func Month(key string) string {
	t, err := time.Parse(time.DateOnly, key)
	if err != nil {
		return key
	}
	return t.Format("January 2006")
}
