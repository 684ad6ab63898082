package tracking

import (
	"sync"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/report"
	"rail/server/opt"
)

// setOrigin sets the origin of a click for reports. Its values come from visitors, so s.Values bounds them.
func (s Service) setOrigin(k *db.Click, utm map[string]string) {
	set := func(field string, into **string, value string) {
		if value != "" {
			*into = new(s.Values.admit(k.ProgramID+" "+field, value, k.CreatedAt))
		}
	}
	set("source", &k.Source, report.Value(utm["utm_source"]))
	set("medium", &k.Medium, report.Value(utm["utm_medium"]))
	set("campaign", &k.Campaign, report.Value(utm["utm_campaign"]))
	set("referrer", &k.Referrer, report.Host(opt.Value(k.Referer)))
}

// maxValues is how many new values a program's field may have on a day.
const maxValues = 1000

// Values bounds the different values that visitors send, because sums of reports have a row for each. Values above
// the limit count as report.Other until the next day. Yesterday's values have a separate limit, so that a flood of
// values does not displace them (decisions, 455).
type Values struct {
	mu             sync.Mutex
	day            time.Time
	today, earlier map[string]map[string]bool // by program and field
}

// admit returns the value, or report.Other above the limit.
func (v *Values) admit(field, value string, at clock.Time) string {
	if v == nil {
		return value
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if day := at.Truncate(24 * time.Hour); v.today == nil || v.day.Before(day) { // some requests are late
		v.day, v.earlier, v.today = day, v.today, map[string]map[string]bool{}
	}
	values := v.today[field]
	limit := maxValues
	if v.earlier[field][value] {
		limit = 2 * maxValues
	}
	switch {
	case values[value]:
	case len(values) >= limit:
		return report.Other
	case values == nil:
		v.today[field] = map[string]bool{value: true}
	default:
		values[value] = true
	}
	return value
}
