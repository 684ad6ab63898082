package opt

import "github.com/oapi-codegen/nullable"

// Change sets a field that is given.
func Change[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}

// ChangeOrClear sets a field that is given, or clears it for null.
func ChangeOrClear[T any](field **T, given nullable.Nullable[T]) {
	switch value, err := given.Get(); {
	case !given.IsSpecified():
	case err != nil: // null
		*field = nil
	default:
		*field = &value
	}
}
