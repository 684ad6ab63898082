// Package hooks is where payment processors send their events. A request is verified,
// stored and answered; what becomes of the event is the inbox's.
package hooks

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/inbox"
	"rail/server/problem"
)

// Path is the address of a connection.
const Path = "/hooks/:processor/:connection_id"

// perConnection is how many signed events of one connection a server takes a second.
const perConnection = 2000

// timeout bounds the work of one request.
const timeout = 8 * time.Second

// Limits charge those who are refused.
type Limits interface {
	// Charge counts a request against its address, and refuses it where that has none
	// left.
	Charge(c echo.Context) error
	// GiveBack takes back what Charge has counted.
	GiveBack(c echo.Context)
	// ChargeTo counts a request against a name.
	ChargeTo(name string, perSecond int) error
}

// Hooks takes the requests of processors.
type Hooks struct {
	box    inbox.Box
	limits Limits
	known  known
}

// New returns what takes events into a box.
func New(box inbox.Box, limits Limits, c clock.Clock) *Hooks {
	return &Hooks{box: box, limits: limits, known: known{clock: c, list: box.Active}}
}

// failure is the body of the one refusal that the API has another status for.
type failure struct {
	Error struct {
		Type      string       `json:"type"`
		Code      problem.Code `json:"code"`
		Message   string       `json:"message"`
		RequestID string       `json:"request_id"`
	} `json:"error"`
}

// Receive stores an event. What is refused counts against its address; signed events
// count against their connection alone, since processors send from few addresses.
func (h *Hooks) Receive(c echo.Context) error {
	// The work does not end when the processor goes away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), timeout)
	defer cancel()
	connection, err := h.find(ctx, c)
	if err != nil {
		return h.charged(c, err)
	}
	body, err := readAll(c.Request())
	if err != nil {
		return h.charged(c, err)
	}
	if err := h.box.Verify(connection, c.Request().Header, body); errors.Is(err, inbox.ErrSignature) {
		if limited := h.limits.Charge(c); limited != nil {
			return limited
		}
		return forged(c, err)
	} else if err != nil {
		return err
	}
	// Only now: what is forged must not use up what the processor may send.
	if err := h.limits.ChargeTo("hook "+connection.ID, perConnection); err != nil {
		return err
	}
	if err := h.box.Receive(ctx, connection, c.Request().Header, body); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]bool{"received": true})
}

// find returns the connection that is named. Who asks too often may name none that
// the server does not know: each look-up is a question to the database.
func (h *Hooks) find(ctx context.Context, c echo.Context) (db.ProcessorConnection, error) {
	id := c.Param("connection_id")
	if limited := h.limits.Charge(c); limited != nil && !h.known.has(ctx, id) {
		return db.ProcessorConnection{}, limited
	}
	connection, err := h.box.Find(ctx, c.Param("processor"), id)
	if err == nil {
		h.limits.GiveBack(c)
	}
	return connection, err
}

// charged returns err, or that its address has asked too often.
func (h *Hooks) charged(c echo.Context, err error) error {
	if limited := h.limits.Charge(c); limited != nil {
		return limited
	}
	return err
}

// readAll returns the raw body, which is what was signed.
func readAll(r *http.Request) ([]byte, error) {
	tooLarge := problem.New(problem.PayloadTooLarge, "The body is larger than %d bytes.", inbox.MaxBody)
	if r.ContentLength > inbox.MaxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, inbox.MaxBody+1))
	if err != nil {
		return nil, problem.New(problem.InvalidJSON, "The body could not be read to its end.")
	}
	if len(body) > inbox.MaxBody {
		return nil, tooLarge
	}
	return body, nil
}

// forged answers 400: here a signature stands for no key, whose refusals are 401.
func forged(c echo.Context, err error) error {
	var f failure
	f.Error.Type, f.Error.Code, f.Error.Message = "invalid_request_error", problem.SignatureInvalid, err.Error()+"."
	f.Error.RequestID = c.Response().Header().Get("Rail-Request-Id")
	return c.JSON(http.StatusBadRequest, f)
}
