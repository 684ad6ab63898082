// Package lenient decodes third-party JSON leniently: any member may be missing, null or of an unexpected type. An
// unreadable member stays empty; its user checks for it.
package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/bits"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/locale/plain"
)

// maxText is the maximum stored length of a text in characters; longer ones are cut.
const maxText = 255

// Into decodes raw into v as far as possible. It returns an error only for invalid JSON, not for a member.
func Into(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	if mistyped := (*json.UnmarshalTypeError)(nil); errors.As(err, &mistyped) {
		return nil
	}
	return err
}

// Text is a string that can be stored.
type Text string

// UnmarshalJSON reads a string and leaves anything else empty.
func (t *Text) UnmarshalJSON(raw []byte) error {
	var s string
	if Into(raw, &s) == nil {
		*t = Text(Clean(s))
	}
	return nil
}

// Clean removes what PostgreSQL refuses, and cuts at 255 characters.
func Clean(s string) string {
	return plain.Cut(strings.ReplaceAll(s, "\x00", ""), maxText)
}

// ID is the id of an object, given as a string or as the object itself. An id that is too long becomes empty: a
// cut one could be another object's.
type ID string

// UnmarshalJSON reads a string, a number or the id of an object.
func (id *ID) UnmarshalJSON(raw []byte) error {
	switch c := raw[0]; {
	case c == '"':
		var s string
		if Into(raw, &s) == nil && s != "" && len(s) <= maxText && !strings.Contains(s, "\x00") {
			*id = ID(s)
		}
	case c == '{':
		// An object within an object is not an id: each level is decoded once, whatever the depth.
		var object struct {
			ID json.RawMessage `json:"id"`
		}
		if Into(raw, &object) == nil && len(object.ID) > 0 && object.ID[0] != '{' {
			return id.UnmarshalJSON(object.ID)
		}
	case c >= '0' && c <= '9' && len(raw) <= maxText:
		*id = ID(raw)
	}
	return nil
}

// Ref is an object, or only its id.
type Ref[T any] struct {
	ID     ID
	Object T // zero unless the object was given
}

// UnmarshalJSON reads the id, and the object if present.
func (r *Ref[T]) UnmarshalJSON(raw []byte) error {
	if raw[0] == '{' {
		_ = Into(raw, &r.Object) // unreadable members stay empty
	}
	return r.ID.UnmarshalJSON(raw)
}

// List is a list, or an object with a list as its data.
type List[T any] []T

// UnmarshalJSON reads either form.
func (l *List[T]) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '[':
		return Into(raw, (*[]T)(l))
	case '{':
		var page struct {
			Data []T `json:"data"`
		}
		_ = Into(raw, &page) // a page without data is empty
		*l = page.Data
	}
	return nil
}

// Int is a whole number, or none.
type Int struct {
	N  int64
	OK bool
}

// UnmarshalJSON reads a number without a fraction, also from a string.
func (i *Int) UnmarshalJSON(raw []byte) error {
	raw = bytes.Trim(raw, `"`)
	*i = Int{}
	if len(raw) > 0 && json.Unmarshal(raw, &i.N) == nil && !bytes.Equal(raw, []byte("null")) {
		i.OK = true
	}
	return nil
}

// Within returns the number if it is between zero and most, else nil.
func (i Int) Within(most int64) *int64 {
	if !i.OK {
		return nil
	}
	return new(min(max(i.N, 0), most))
}

// Bool is true, false or absent.
type Bool struct{ V, OK bool }

// UnmarshalJSON reads true and false.
func (b *Bool) UnmarshalJSON(raw []byte) error {
	*b = Bool{V: string(raw) == "true", OK: string(raw) == "true" || string(raw) == "false"}
	return nil
}

// Time converts seconds since 1970 to a time, if it is plausible for a payment.
func (i Int) Time() (clock.Time, bool) {
	at := clock.At(time.Unix(i.N, 0))
	return at, i.OK && at.Year() >= 2000 && at.Year() < 2100
}

// Time parses RFC 3339, within the same bounds.
func (t Text) Time() (clock.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, string(t))
	return clock.At(at), err == nil && at.Year() >= 2000 && at.Year() < 2100
}

// Share returns n·part/whole rounded half up, or zero for invalid input: it computes taxes, and no tax is better
// than a wrong one.
func Share(n, part, whole int64) int64 {
	if n <= 0 || part <= 0 || whole <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), uint64(part))
	lo, carry := bits.Add64(lo, uint64(whole)/2, 0)
	if hi += carry; hi >= uint64(whole) {
		return 0
	}
	quotient, _ := bits.Div64(hi, lo, uint64(whole))
	if quotient > math.MaxInt64 {
		return 0
	}
	return int64(quotient)
}

// Meta is an object defined by the merchant.
type Meta map[string]any

// UnmarshalJSON reads an object and leaves anything else empty.
func (m *Meta) UnmarshalJSON(raw []byte) error {
	var object map[string]any
	if raw[0] == '{' && Into(raw, &object) == nil {
		*m = object
	}
	return nil
}

// Text returns the string under a key, or "".
func (m Meta) Text(key string) string {
	s, _ := m[key].(string)
	return Clean(s)
}
