package problem

import (
	"errors"
	"fmt"
	"slices"
)

// Error is a refusal or failure for the client. Cause is the internal error, which is logged and
// never sent. The code determines the status; the message is for people and may change.
type Error struct {
	Code       Code
	Message    string
	Param      string // path of the parameter at fault, such as items.0.url; "" for none
	Existing   any    // the row that a 409 conflicts with; the HTTP layer converts it
	RetryAfter int    // seconds; 0 for none
	Cause      error
	// Committed marks a refusal that keeps its effects: a self-referral (decisions, 216).
	Committed bool
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the internal cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether err is a refusal with one of the codes.
func Is(err error, codes ...Code) bool {
	p, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(codes, p.Code)
}

// Type returns the error.type of the code.
func (e *Error) Type() string { return classes[e.Code].kind }

// Status returns the HTTP status of the code.
func (e *Error) Status() int { return classes[e.Code].status }

// New returns an error with a formatted message for people.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// On returns an error that names the parameter at fault.
func On(param string, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns a parameter_invalid error for param.
func Invalid(param, format string, args ...any) *Error {
	return On(param, ParameterInvalid, format, args...)
}

// Missing returns a parameter_missing error for param.
func Missing(param string) *Error { return On(param, ParameterMissing, "%s is required.", param) }

// NotFound returns the 404 that absent and foreign objects share. param names
// the field that refers to the object; it is empty for the path.
func NotFound(param string) *Error {
	if param == "" {
		return New(ResourceNotFound, "No such object.")
	}
	return On(param, ResourceNotFound, "%s: no such object.", param)
}

// Taken returns a 409 with the row that has the value.
func Taken(code Code, param string, existing any, format string, args ...any) *Error {
	e := On(param, code, format, args...)
	e.Existing = existing
	return e
}

// Internal wraps an unexpected error.
func Internal(cause error) *Error {
	return &Error{Code: InternalError, Message: "Something went wrong on our side; nothing was changed.", Cause: cause}
}

// Full wraps an error of a database without disk space. It passes when the operator frees space.
func Full(cause error) *Error {
	return &Error{
		Code: Unavailable, Message: "The database has no room; nothing was changed. Try again when the operator has made some.",
		Cause: cause, RetryAfter: 10,
	}
}

// Away wraps an error of a database or server that is temporarily unavailable: a 503, after which
// the client retries.
func Away(cause error) *Error {
	return &Error{
		Code: Unavailable, Message: "The service is unavailable for a moment; try again.", Cause: cause, RetryAfter: 1,
	}
}
