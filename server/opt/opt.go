// Package opt reads and makes values that may be absent, which are pointers in
// rows and bodies.
package opt

import "strings"

// OrNil returns a pointer to v, or nil for the zero value.
func OrNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Value returns what p points to, or the zero value.
func Value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Upper returns the upper-case form of an optional code.
func Upper(p *string) *string {
	if p == nil {
		return nil
	}
	return new(strings.ToUpper(*p))
}

// Lower returns the lower-case form of an optional text.
func Lower(p *string) *string {
	if p == nil {
		return nil
	}
	return new(strings.ToLower(*p))
}

// Or returns the first pointer that is not nil.
func Or[T any](pointers ...*T) *T {
	for _, p := range pointers {
		if p != nil {
			return p
		}
	}
	return nil
}
