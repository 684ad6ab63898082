package processor

import (
	"maps"
	"slices"
)

// Table has the types of events that say something to Rail, and what reads each.
type Table[R any] map[string]func(R) error

// Types are the types that Rail should be sent, in order.
func (t Table[R]) Types() []string { return slices.Sorted(maps.Keys(t)) }

// Ignore says why an event records nothing.
func (r *Reading) Ignore(why Reason, note string) error {
	r.Ignored, r.Note = why, note
	return nil
}

// Binds is Ignore for an event that may say who a customer is.
func (r *Reading) Binds(b Binding, why Reason, note string) error {
	r.Binding = &b
	return r.Ignore(why, note)
}

// Interval returns the interval of a subscription, or "" for what Rail has no word for.
func Interval[S ~string](given S) string {
	switch given {
	case "day", "week", "month", "year":
		return string(given)
	}
	return ""
}
