package clock

import (
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones for machines without them, such as containers
)

// Zone returns the time zone with an IANA name, such as Australia/Sydney. It refuses the empty name
// and Local, which Go accepts for UTC and the local zone, and files of some systems that are not
// zones.
func Zone(name string) (*time.Location, error) {
	switch folder, _, _ := strings.Cut(name, "/"); folder {
	case "", "Local", "localtime", "posixrules", "Factory", "posix", "right":
		return nil, fmt.Errorf("%q is not an IANA time zone", name)
	}
	return time.LoadLocation(name)
}

// zones caches the zones that StoredZone has returned, by name. There are about 600.
var zones sync.Map // string to *time.Location

// StoredZone returns a zone that was validated when it was stored. It returns UTC if this machine
// does not have the zone.
func StoredZone(name string) *time.Location {
	if name == "UTC" || name == "" {
		return time.UTC
	}
	cached, _ := zones.Load(name)
	if loc, ok := cached.(*time.Location); ok {
		return loc
	}
	loc, err := Zone(name)
	if err != nil {
		return time.UTC
	}
	zones.Store(name, loc)
	return loc
}

// DayIn returns the day of t in a zone, as its midnight in UTC: the last day that has begun. If
// clocks are set back across midnight, the repeated part of the day before belongs to the new day.
// The database's function zone_day does the same.
func (t Time) DayIn(loc *time.Location) time.Time {
	y, m, d := t.In(loc).Date()
	day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	if next := day.AddDate(0, 0, 1); !t.Before(Midnight(next, loc).Time) {
		return next
	}
	return day
}

// Midnight returns the first moment of a day in a zone: the moment of the change if clocks are set
// forward at midnight, and the earlier one if midnight occurs twice. The database's function
// zone_midnight does the same.
func Midnight(day time.Time, loc *time.Location) Time {
	y, m, d := day.Date()
	at := time.Date(y, m, d, 0, 0, 0, 0, loc) // by the offset before or after a change
	_, offset := at.Add(-24 * time.Hour).Zone()
	early := time.Date(y, m, d, 0, 0, -offset, 0, time.UTC)
	local := early.In(loc)
	begun := !time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC).
		Before(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
	if begun && (early.Before(at) || at.Day() != d) {
		return At(early)
	}
	return At(at)
}

// EndOf returns the last moment of a day in a zone.
func EndOf(day time.Time, loc *time.Location) Time {
	return Midnight(day.AddDate(0, 0, 1), loc).Plus(-time.Microsecond)
}

// MonthOf returns the first day of the month of a day.
func MonthOf(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
}
