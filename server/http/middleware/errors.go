package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/labstack/echo/v4"

	"rail/server/postgres/pgtx"
	"rail/server/postgres/shortage"
	"rail/server/problem"
)

// envelope is the body of every error.
type envelope struct {
	Error    errorBody `json:"error"`
	Existing any       `json:"existing,omitempty"`
}

// errorBody describes a failure; param names the invalid part of the request.
type errorBody struct {
	Type      string       `json:"type"`
	Code      problem.Code `json:"code"`
	Message   string       `json:"message"`
	Param     string       `json:"param,omitempty"`
	RequestID string       `json:"request_id"`
}

// The limits of Problem, in bytes.
const (
	maxMessage = 4 << 10
	maxParam   = 255
)

// brief truncates a text to a number of bytes, at the end of a character.
func brief(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// writeError writes all errors, so that they have the same form. After a response has begun, it
// only records the problem for the log.
func (f *Front) writeError(err error, c echo.Context) {
	f.Shortage.Note(err)
	p, id := Problem(err), ""
	if s, ok := c.Get(stateKey).(*state); ok {
		if p.Code == problem.ResourceNotFound && p.Param == "" {
			p = f.Document.absent(s.route, p, c.Param("id"))
		}
		s.problem, id = p, s.id
	}
	if c.Response().Committed {
		return
	}
	h := c.Response().Header()
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if p.Status() == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	h.Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	c.Response().WriteHeader(p.Status())
	body := json.NewEncoder(c.Response())
	body.SetEscapeHTML(false) // people read the message
	about := errorBody{p.Type(), p.Code, p.Message, p.Param, id}
	if err := body.Encode(envelope{about, f.existing(p.Existing)}); err != nil {
		f.Log.Debug("response not written", "error", err)
	}
}

// existing returns the object that a request conflicts with, so that a client need not retrieve it.
func (f *Front) existing(row any) any {
	if row == nil || f.Existing == nil {
		return nil
	}
	return f.Existing(row)
}

// toProblem maps any error to the client's error.
func toProblem(err error) *problem.Error {
	var p *problem.Error
	var he *echo.HTTPError
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, pgx.ErrNoRows):
		return problem.NotFound("")
	case errors.As(err, &he):
		return echoProblem(he)
	default:
		return databaseProblem(err)
	}
}

// echoProblem maps errors of the router and the generated binder.
func echoProblem(he *echo.HTTPError) *problem.Error {
	switch he.Code {
	case http.StatusNotFound:
		return problem.New(problem.RouteNotFound, "No such path.")
	case http.StatusMethodNotAllowed:
		return problem.New(problem.MethodNotAllowed, "This path does not support the method.")
	case http.StatusUnsupportedMediaType:
		return problem.New(problem.UnsupportedMediaType, "Content-Type must be application/json.")
	case http.StatusBadRequest:
		// The binder's error may contain a part of the body, so it is dropped.
		return problem.New(problem.ParameterInvalid, "A parameter cannot be read.")
	default:
		return problem.Internal(he)
	}
}

// databaseProblem returns 503 if the database is unavailable, so that clients retry, and 500 for a
// bug.
func databaseProblem(err error) *problem.Error {
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case shortage.Of(err) == shortage.Disk:
		return problem.Full(err)
	case errors.As(err, &pg):
		if unavailable(pg.Code) || pgtx.Again(err) {
			return problem.Away(err)
		}
		return problem.Internal(err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.As(err, &connect), errors.As(err, &network), pgconn.SafeToRetry(err), connectionLost(err):
		return problem.Away(err)
	default:
		return problem.Internal(err)
	}
}

// unavailable lists the SQLSTATEs of a database that cannot serve at the moment: lock and statement
// timeouts, shutdown, recovery, a primary that has become a standby; and the classes of lost
// connections (08) and insufficient resources (53).
func unavailable(code string) bool {
	switch code {
	case "25006", "55P03", "57014", "57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "40001", "40P01", "58030":
		return true
	}
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53")
}

// connectionLost reports whether the connection broke during the work.
func connectionLost(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, pgx.ErrTxClosed) || isUnexpectedEnd(err)
}
