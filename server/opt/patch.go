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

// Nullable returns a pointer as a nullable field. Without a value, the field is unset.
func Nullable[T any](p *T) nullable.Nullable[T] {
	if p == nil {
		return nil
	}
	return nullable.NewNullableWithValue(*p)
}
