package locale

import (
	"strconv"
	"strings"
	"time"

	"rail/server/clock"
)

// calendar holds a language's date formats. In the patterns D is the day, M the short name of the
// month, L its long one, Y the year.
type calendar struct {
	day, month  string
	dayMonth    string // a day without its year
	short, long [12]string
}

var english = [12]string{
	"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
	"December",
}

// abbreviated shortens names to their first three letters.
func abbreviated(names [12]string) (out [12]string) {
	for i, name := range names {
		out[i] = name[:3]
	}
	return out
}

// american is the calendar of English in the United States.
var american = calendar{"M D, Y", "L Y", "M D", abbreviated(english), english}

// calendars maps language tags to calendars; the names are those of CLDR.
var calendars = map[string]*calendar{
	"en": {"D M Y", "L Y", "D M", abbreviated(english), english},
	"de": {
		"D. M Y", "L Y", "D. M",
		[12]string{"Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."},
		[12]string{
			"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
			"Dezember",
		},
	},
	"fr": {
		"D M Y", "L Y", "D M",
		[12]string{
			"janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc.",
		},
		[12]string{
			"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
			"décembre",
		},
	},
	"es": {
		"D M Y", "L de Y", "D M",
		[12]string{"ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"},
		[12]string{
			"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre",
			"diciembre",
		},
	},
	"pt-BR": {
		"D de M de Y", "L de Y", "D de M",
		[12]string{"jan.", "fev.", "mar.", "abr.", "mai.", "jun.", "jul.", "ago.", "set.", "out.", "nov.", "dez."},
		[12]string{
			"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro",
			"dezembro",
		},
	},
	"ja": {"Y年MD日", "Y年L", "MD日", japanese, japanese},
}

var japanese = [12]string{"1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"}

// write fills a pattern.
func (c *calendar) write(pattern string, t time.Time) string {
	m := t.Month() - time.January
	return strings.NewReplacer(
		"D", strconv.Itoa(t.Day()), "M", c.short[m], "L", c.long[m], "Y", strconv.Itoa(t.Year()),
	).Replace(pattern)
}

// Day formats the day of a moment, in the locale's time zone.
func (l *Locale) Day(t time.Time) string { return l.Date(clock.At(t).DayIn(l.Zone())) }

// Date formats a calendar day, without a time zone.
func (l *Locale) Date(day time.Time) string { return l.calendar.write(l.calendar.day, day) }

// DayMonth formats a calendar day without its year.
func (l *Locale) DayMonth(day time.Time) string { return l.calendar.write(l.calendar.dayMonth, day) }

// Moment formats a day and a time, in the locale's time zone. The page's script shows it in the
// browser's zone.
func (l *Locale) Moment(t time.Time) string {
	local := t.In(l.Zone())
	return l.Date(local) + ", " + l.Hour(t)
}

// Hour formats a time of the day, in the locale's time zone. The page's script shows it in the browser's zone.
func (l *Locale) Hour(t time.Time) string { return t.In(l.Zone()).Format("15:04") }

// Month formats a month with its year.
func (l *Locale) Month(t time.Time) string { return l.calendar.write(l.calendar.month, t) }

// ShortMonth returns a month's short name.
func (l *Locale) ShortMonth(t time.Time) string { return l.calendar.short[t.Month()-time.January] }
