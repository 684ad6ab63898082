package source

import (
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/inbound/lenient"
	"rail/server/locale/currency"
)

// number is a JSON number as text. Sources give numbers as text as well.
type number string

// UnmarshalJSON reads a number or a text, and leaves anything else empty.
func (n *number) UnmarshalJSON(raw []byte) error {
	*n = ""
	if text := strings.Trim(string(raw), `" `); strings.Trim(text, "-.,0123456789") == "" {
		*n = number(text)
	}
	return nil
}

// cents returns a whole number of minor units.
func (n number) cents() (int64, bool) {
	whole, part, _ := strings.Cut(string(n), ".")
	if strings.Trim(part, "0") != "" {
		return 0, false
	}
	return currency.Minor(whole, "JPY")
}

// minor returns a decimal number in minor units of a currency. A fraction of one is rounded, since sources with
// percentages keep more decimals than they pay.
func (n number) minor(code string) (int64, bool) {
	whole, part, _ := strings.Cut(strings.Replace(string(n), ",", ".", 1), ".")
	digits := currency.Digits(code)
	if len(part) <= digits {
		return currency.Minor(string(n), code)
	}
	if strings.Trim(part, "0123456789") != "" {
		return 0, false
	}
	amount, ok := currency.Minor(whole+"."+part[:digits], code)
	switch {
	case part[digits] < '5':
	case strings.HasPrefix(whole, "-"):
		amount--
	default:
		amount++
	}
	return amount, ok
}

// address is a URL of any length. A text is cut, which would change the page and the parameters.
type address string

// UnmarshalJSON reads a string and leaves anything else empty.
func (a *address) UnmarshalJSON(raw []byte) error {
	var text string
	if lenient.Into(raw, &text) == nil {
		*a = address(strings.ReplaceAll(text, "\x00", ""))
	}
	return nil
}

// moment is a time: RFC 3339, a date with or without a time, or seconds or milliseconds since 1970. It is zero if it
// cannot be read.
type moment struct{ clock.Time }

// layouts are the forms of times besides RFC 3339 and days. Times without a zone are UTC.
var layouts = []string{"2006-01-02T15:04:05-0700", "2006-01-02T15:04:05", time.DateTime}

// UnmarshalJSON reads any of the forms.
func (m *moment) UnmarshalJSON(raw []byte) error {
	*m = moment{}
	var n lenient.Int
	if _ = n.UnmarshalJSON(raw); n.OK {
		if n.N > 1e11 { // in seconds this would be the year 5138
			at, ok := lenient.Int{N: n.N / 1000, OK: true}.Time()
			m.set(at.Plus(time.Duration(n.N%1000)*time.Millisecond), ok)
			return nil
		}
		m.set(n.Time())
		return nil
	}
	text := strings.Trim(string(raw), `"`)
	m.set(lenient.Text(text).Time())
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); m.IsZero() && err == nil {
			m.set(lenient.Text(at.Format(time.RFC3339)).Time())
		}
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, unknownZone); err == nil {
		_, ok := lenient.Text(day.Format(time.RFC3339)).Time()
		m.set(clock.Time{Time: day}, ok)
	}
	return nil
}

func (m *moment) set(at clock.Time, ok bool) {
	if ok {
		m.Time = at
	}
}

// or returns the time, or the first of others that is known.
func (m moment) or(others ...moment) moment {
	for _, other := range others {
		if m.IsZero() {
			m = other
		}
	}
	return m
}

// known returns the time, or nil.
func (m moment) known() *clock.Time {
	if m.IsZero() {
		return nil
	}
	return &m.Time
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...lenient.Text) string {
	for _, text := range texts {
		if text != "" {
			return string(text)
		}
	}
	return ""
}

// distinct returns the ids that are not empty, each once.
func distinct(ids ...lenient.ID) []string {
	var all []string
	for _, id := range ids {
		if id != "" && (len(all) == 0 || all[0] != string(id)) {
			all = append(all, string(id))
		}
	}
	return all
}

// processorOf returns the processor that gave an id, if the id shows it.
func processorOf(id lenient.ID) string {
	if strings.HasPrefix(string(id), "cus_") {
		return "stripe"
	}
	return ""
}
