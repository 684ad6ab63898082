package middleware

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"rail/server/outbound/webhook"
	"rail/server/problem"
)

// MaxBody is the largest body that is read, in bytes (decisions, 11).
const MaxBody = 1 << 20

// maxPublicBody has room for an empty object, which some clients send instead of no body.
const maxPublicBody = 64

// Timeouts of a connection. The timeouts of the work, of statements and of the connection grow in
// that order, so that the innermost fails first and its failure can still be answered.
const (
	ReadHeaderTimeout = 5 * time.Second
	ReadTimeout       = 15 * time.Second
	WriteTimeout      = 30 * time.Second
	IdleTimeout       = 60 * time.Second
	MaxHeaderBytes    = 32 << 10
)

// limits reads the whole body, up to maxBody, and bounds the time of the work (step 6). From here
// on the work continues when the client disconnects: a write is finished or rolled back as a whole.
// checkBody reports a fault of the body, since it knows whether the operation takes one.
func (f *Front) limits(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		body, err := readBody(c.Request(), s.maxBody())
		switch {
		case err != nil && toProblem(err).Status() >= http.StatusInternalServerError:
			return err
		case err != nil:
			s.unread = err
		}
		s.body = body
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), f.timeout(s.route))
		defer cancel()
		r := c.Request().WithContext(ctx)
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		// The body is now a plain buffer; hide its original encoding from the validator.
		r.TransferEncoding = nil
		c.SetRequest(r)
		return next(c)
	}
}

// maxBody returns the largest body of the request. Public operations take no body, so of a caller
// without a key only its presence matters, and a page's body is small.
func (s *state) maxBody() int64 {
	switch {
	case s.route.Public:
		return maxPublicBody
	case s.route.Browser:
		return maxBrowserBody
	}
	return MaxBody
}

// batchTime is the additional time of a batch, in which each new customer costs round trips.
const batchTime = 12 * time.Second

// moveTime is the time limit of a move of the test clock. Its answer must still be written.
const moveTime = WriteTimeout - 5*time.Second

// timeout returns the time limit of the work; a ping also has the time of the receiver's answer.
func (f *Front) timeout(r *route) time.Duration {
	switch {
	case r.movesClock():
		return moveTime
	case r.pings():
		return f.Timeout + webhook.Deadline
	case r.batches():
		return f.Timeout + batchTime
	}
	return f.Timeout
}

// readBody returns the body, or the reason why it cannot be read. It refuses a compressed body,
// which could unpack to any size.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, problem.New(problem.UnsupportedMediaType, "The body must not be encoded (Content-Encoding: %.40q).", e)
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		// A timeout is not a fault of the body.
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, problem.Away(err)
		}
		return nil, problem.New(problem.InvalidJSON, "The body could not be read to its end.")
	}
	if int64(len(body)) > limit {
		return nil, tooLarge(limit)
	}
	return body, nil
}

// tooLarge returns the 413. For an operation without a body, the message refers to requests with a key.
func tooLarge(limit int64) error {
	if limit == maxPublicBody {
		limit = MaxBody
	}
	return problem.New(problem.PayloadTooLarge, "The body is larger than %d bytes.", limit)
}
