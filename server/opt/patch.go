package opt

import "github.com/oapi-codegen/nullable"

// Change sets a field that is given.
func Change[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// ChangeOrClear sets a field that is given, or clears it for null.
func ChangeOrClear[T any](field **T, to nullable.Nullable[T]) {
	switch value, err := to.Get(); {
	case !to.IsSpecified():
	case err != nil: // null
		*field = nil
	default:
		*field = &value
	}
}

// Given returns a pointer as the value of a field, which is not given if the pointer is nil.
func Given[T any](p *T) nullable.Nullable[T] {
	if p == nil {
		return nil
	}
	return nullable.NewNullableWithValue(*p)
}
