// Package hooks is where payment processors send their events. A request is verified,
// stored and answered; what becomes of the event is the inbox's.
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

// perConnection is how many signed events of one connection a server takes a second.
const perConnection = 2000

// timeout bounds the work of one request, before its body and after it.
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
	// Payer names the address, or the network, that Charge counts.
	Payer(c echo.Context) string
}

// Hooks takes the requests of processors.
type Hooks struct {
	box    inbox.Box
	limits Limits
	known  known
	places places
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

// Receive stores an event. A request counts against its address until its signature
// fits; from then on it counts against its connection alone, since processors send from
// few addresses.
func (h *Hooks) Receive(c echo.Context) error {
	// The work does not end when the processor goes away.
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
	// Only now: what is forged must not use up what the processor may send.
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

// find returns the connection that is named. An address that asks too often may name none
// that the server does not know: each look-up is a question to the database. It may name
// those that the server knows: a processor sends the events of many from one address, also
// those that somebody has made it send with another secret.
func (h *Hooks) find(ctx context.Context, c echo.Context, limited error) (db.ProcessorConnection, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	id := c.Param("connection_id")
	if limited != nil && !h.known.has(ctx, id) {
		return db.ProcessorConnection{}, limited
	}
	return h.box.Find(ctx, c.Param("processor"), id)
}

// signed returns the raw body, which is what was signed, once its signature fits. Until
// then a body that is not small has one of few places.
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
		_ = connected.SetReadDeadline(clock.Real()) // fails where the connection has ended alone
	}}
	if limited {
		at.most = placesBeyond
	}
	if size := r.ContentLength; size < 0 || size > smallBody {
		if !h.places.take(r.Context(), at) {
			return nil, busy()
		}
		defer h.places.leave(at)
	}
	body := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // no other type is put
	defer buffers.Put(body)
	if err := readAll(body, r); err != nil && h.places.lost(at) {
		return nil, busy()
	} else if err != nil {
		return nil, err
	}
	if err := h.box.Verify(connection, r.Header, body.Bytes()); err != nil {
		return nil, err
	}
	return bytes.Clone(body.Bytes()), nil
}

// buffers are used again, so that a flood of bodies makes no garbage.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

var errTooLarge = problem.New(problem.PayloadTooLarge, "The body is larger than %d bytes.", inbox.MaxBody)

// readAll reads the raw body. Room for a large one is made when its beginning has come.
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

// busy answers 429 where there is no place for a body: a 503 would be an error of the server in its log.
func busy() error {
	p := problem.New(problem.RateLimitExceeded, "Too many large bodies at once. Try again.")
	p.RetryAfter = 1
	return p
}

// forged answers 400: here a signature stands for no key, whose refusals are 401.
func forged(c echo.Context, err error) error {
	var f failure
	f.Error.Type, f.Error.Code, f.Error.Message = "invalid_request_error", problem.SignatureInvalid, err.Error()+"."
	f.Error.RequestID = c.Response().Header().Get("Rail-Request-Id")
	return c.JSON(http.StatusBadRequest, f)
}
