// Package hooks serves the addresses for payment processors' events. It verifies, stores and
// answers each request; package inbox applies the event.
package hooks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/inbox"
	"rail/server/problem"
)

// Path is the address of a connection.
const Path = "/hooks/:processor/:connection_id"

// perConnection is the number of signed events a second that a server accepts of one connection.
const perConnection = 2000

// timeout bounds the work of one request before and after reading its body.
const timeout = 8 * time.Second

// Limits charges addresses for their requests.
type Limits interface {
	// Charge charges a request to its address, and refuses it beyond the address's limit.
	Charge(c echo.Context) error
	// GiveBack undoes Charge.
	GiveBack(c echo.Context)
	// ChargeTo charges a request to a name.
	ChargeTo(name string, perSecond int) error
	// Payer names the address or network that Charge charges.
	Payer(c echo.Context) string
}

// Hooks serves the requests of processors.
type Hooks struct {
	box    inbox.Box
	limits Limits
	known  known
	places places
}

// New returns the handler that stores events in a box.
func New(box inbox.Box, limits Limits, c clock.Clock) *Hooks {
	return &Hooks{box: box, limits: limits, known: known{clock: c, list: box.Active}}
}

// failure is the body of a refusal whose status differs from the API's.
type failure struct {
	Error struct {
		Type      string       `json:"type"`
		Code      problem.Code `json:"code"`
		Message   string       `json:"message"`
		RequestID string       `json:"request_id"`
	} `json:"error"`
}

// Receive stores an event. A request is charged to its address until its signature is verified, and
// then only to its connection, because processors send from few addresses.
func (h *Hooks) Receive(c echo.Context) error {
	// The work continues when the processor disconnects.
	alive := context.WithoutCancel(c.Request().Context())
	limited := h.limits.Charge(c)
	connection, err := h.find(alive, c, limited)
	if err != nil {
		return err
	}
	body, err := h.signed(c, connection, limited != nil)
	switch {
	case err == nil:
		h.limits.GiveBack(c)
	case limited != nil:
		return limited
	case errors.Is(err, inbox.ErrSignature):
		return forged(c, err)
	default:
		return err
	}
	// After verification: forged events must not use up the connection's limit.
	if err := h.limits.ChargeTo("hook "+connection.ID, perConnection); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(alive, timeout)
	defer cancel()
	if err := h.box.Receive(ctx, connection, c.Request().Header, body); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]bool{"received": true})
}

// find returns the connection of the path. An address beyond its limit may only use cached
// connections, since a look-up costs a query. Cached ones remain usable because a processor sends
// the events of many accounts from one address, including wrongly signed ones.
func (h *Hooks) find(ctx context.Context, c echo.Context, limited error) (db.ProcessorConnection, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	id := c.Param("connection_id")
	if limited != nil && !h.known.has(ctx, id) {
		return db.ProcessorConnection{}, limited
	}
	return h.box.Find(ctx, c.Param("processor"), id)
}

// signed returns the raw body after verifying its signature. Until then, a body larger than
// smallBody needs one of few places.
func (h *Hooks) signed(c echo.Context, connection db.ProcessorConnection, limited bool) ([]byte, error) {
	r := c.Request()
	if r.ContentLength > inbox.MaxBody {
		return nil, errTooLarge
	}
	if err := h.box.Head(connection, r.Header); err != nil {
		return nil, err
	}
	connected := http.NewResponseController(c.Response().Writer)
	at := &place{address: h.limits.Payer(c), most: placesOfAddress, stop: func() {
		_ = connected.SetReadDeadline(clock.Real()) // fails only if the connection has ended
	}}
	if limited {
		at.most = placesBeyond
	}
	if size := r.ContentLength; size < 0 || size > smallBody {
		if !h.places.take(r.Context(), at) {
			return nil, busy("Too many large bodies at once. Try again.")
		}
		defer h.places.leave(at)
	}
	body := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // no other type is put
	defer buffers.Put(body)
	if err := readAll(body, r); err != nil && h.places.lost(at) {
		return nil, busy("Too many large bodies at once. Try again.")
	} else if err != nil {
		return nil, err
	}
	if err := h.box.Verify(connection, r.Header, body.Bytes()); err != nil {
		return nil, err
	}
	return bytes.Clone(body.Bytes()), nil
}

// buffers are reused, so that many bodies make no garbage.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

var errTooLarge = problem.New(problem.PayloadTooLarge, "The body is larger than %d bytes.", inbox.MaxBody)

// readAll reads the raw body. It allocates memory for a large one only after its beginning has arrived.
func readAll(body *bytes.Buffer, r *http.Request) error {
	body.Reset()
	_, err := body.ReadFrom(io.LimitReader(r.Body, smallBody))
	if left := r.ContentLength - int64(body.Len()); err == nil && left > 0 {
		body.Grow(int(left) + bytes.MinRead)
	}
	if err == nil {
		_, err = body.ReadFrom(io.LimitReader(r.Body, inbox.MaxBody+1-int64(body.Len())))
	}
	if err != nil {
		return problem.New(problem.InvalidJSON, "The body could not be read to its end.")
	}
	if body.Len() > inbox.MaxBody {
		return errTooLarge
	}
	return nil
}

// busy answers 429: a 503 would be logged as an error of the server.
func busy(why string) error {
	p := problem.New(problem.RateLimitExceeded, "%s", why)
	p.RetryAfter = 1
	return p
}

// forged answers 400: 401 is for API keys, and this signature has none.
func forged(c echo.Context, err error) error {
	var f failure
	f.Error.Type, f.Error.Code, f.Error.Message = "invalid_request_error", problem.SignatureInvalid, err.Error()+"."
	f.Error.RequestID = c.Response().Header().Get("Rail-Request-Id")
	return c.JSON(http.StatusBadRequest, f)
}
