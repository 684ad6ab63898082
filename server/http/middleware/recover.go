package middleware

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/labstack/echo/v4"

	"rail/server/problem"
)

// recoverPanic answers a panic like any other failure. It logs the stack and the type of the
// panic's value, which may contain data of the request.
func (f *Front) recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				f.Log.Error("panic", "request_id", stateOf(c).id, "type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
				err = problem.Internal(fmt.Errorf("panic: %T", v))
			}
		}()
		return next(c)
	}
}

// isUnexpectedEnd reports whether a connection ended in the middle of an answer.
func isUnexpectedEnd(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}
