package processor

import (
	"maps"
	"slices"
)

// Table maps each event type that Rail uses to its reader.
type Table[R any] map[string]func(R) error

// Types returns the types that Rail should be sent, sorted.
func (t Table[R]) Types() []string { return slices.Sorted(maps.Keys(t)) }

// Ignore sets the reason why an event records nothing.
func (r *Reading) Ignore(why Reason, note string) error {
	r.Ignored, r.Note = why, note
	return nil
}

// Binds is Ignore for an event that may identify a customer.
func (r *Reading) Binds(b Binding, why Reason, note string) error {
	r.Binding = &b
	return r.Ignore(why, note)
}

// Interval returns the interval of a subscription, or "" if Rail does not support it.
func Interval[S ~string](text S) string {
	switch text {
	case "day", "week", "month", "year":
		return string(text)
	}
	return ""
}
