package clock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// wire is RFC 3339 in UTC with milliseconds, the format of every time in a response or an event.
const wire = "2006-01-02T15:04:05.000Z"

// Times accepted from a client lie in [earliest, latest) (decisions, 189).
var (
	earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// ErrFormat describes a valid date-time.
var ErrFormat = errors.New("must be an RFC 3339 date-time between 2000-01-01 and 2100-01-01, such as 2026-09-01T12:00:00Z")

// ErrDate describes a valid date or date-time.
var ErrDate = errors.New("must be an ISO date (2026-09-01) or an RFC 3339 date-time between 2000-01-01 and 2100-01-01")

// Time is a moment in UTC. It reads strictly, writes milliseconds, and is
// stored as timestamptz with microseconds.
type Time struct{ time.Time }

// At returns t in UTC, truncated to microseconds.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Microsecond)} }

// Plus returns t moved by d.
func (t Time) Plus(d time.Duration) Time { return At(t.Add(d)) }

// Later returns the later of two times.
func Later(a, b Time) Time {
	if a.Before(b.Time) {
		return b
	}
	return a
}

// Days returns t moved by n periods of 24 hours.
func (t Time) Days(n int64) Time { return t.Plus(time.Duration(n) * 24 * time.Hour) }

// String returns the wire form.
func (t Time) String() string { return t.UTC().Format(wire) }

// MarshalText returns the wire form.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalJSON returns the wire form as a JSON string.
func (t Time) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, len(wire)+2)
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, wire)
	return append(b, '"'), nil
}

// UnmarshalText reads a date-time strictly.
func (t *Time) UnmarshalText(b []byte) error {
	p, err := Parse(string(b))
	if err == nil {
		*t = p
	}
	return err
}

// UnmarshalJSON reads a JSON string strictly; null leaves t as it is.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return ErrFormat
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}

// Parse parses an RFC 3339 date-time. It truncates fractions to microseconds, and refuses the
// extensions of time.Parse (a comma fraction, an hour of one digit, an offset of 24 hours).
func Parse(s string) (Time, error) {
	p, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || !wellFormed(s) {
		return Time{}, ErrFormat
	}
	if p.Before(earliest) || !p.Before(latest) {
		return Time{}, ErrFormat
	}
	return At(p), nil
}

func wellFormed(s string) bool {
	if len(s) < len("2006-01-02T15:04:05Z") || s[10] != 'T' || s[13] != ':' || strings.Contains(s, ",") {
		return false
	}
	if s[len(s)-1] == 'Z' {
		return true
	}
	offset := s[len(s)-6:]
	return offset[1:3] < "24" && offset[4:] < "60"
}

// ParseDate parses an ISO date as its midnight in UTC, or a date-time. bare is true for a date.
func ParseDate(s string) (t Time, bare bool, err error) {
	if len(s) == len(time.DateOnly) {
		p, err := time.Parse(time.DateOnly, s)
		if err != nil || p.Before(earliest) || !p.Before(latest) {
			return Time{}, false, ErrDate
		}
		return At(p), true, nil
	}
	if t, err = Parse(s); err != nil {
		return Time{}, false, ErrDate
	}
	return t, false, nil
}

// ScanTimestamptz reads a timestamptz from the database.
func (t *Time) ScanTimestamptz(v pgtype.Timestamptz) error {
	if !v.Valid {
		return fmt.Errorf("clock: cannot read NULL into a Time")
	}
	*t = At(v.Time)
	return nil
}

// TimestamptzValue writes a timestamptz to the database.
func (t Time) TimestamptzValue() (pgtype.Timestamptz, error) {
	return pgtype.Timestamptz{Time: t.Time, Valid: true}, nil
}
