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

// maxPublicBody is room for the empty object, which some clients send for "no
// body".
const maxPublicBody = 64

// Limits of a connection. The time of the work, the statement time-out and these
// grow in that order, so that the inner layer gives up first and its failure can
// still be answered.
const (
	ReadHeaderTimeout = 5 * time.Second
	ReadTimeout       = 15 * time.Second
	WriteTimeout      = 30 * time.Second
	IdleTimeout       = 60 * time.Second
	MaxHeaderBytes    = 32 << 10
)

// limits reads the whole body, within bounds, and bounds the time of the work
// (step 6). From here on the work does not end when the client goes away: a write
// that has begun is finished or undone as a whole. A fault of the body is
// reported by checkBody, which knows whether the operation takes one.
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
		// The body is a plain buffer by now; the validator must not see how it
		// came.
		r.TransferEncoding = nil
		c.SetRequest(r)
		return next(c)
	}
}

// maxBody returns how many bytes of the request's body are read. No public
// operation takes a body, so of a caller without a key only its presence matters,
// and a page's is small.
func (s *state) maxBody() int64 {
	switch {
	case s.route.Public:
		return maxPublicBody
	case s.route.Browser:
		return maxBrowserBody
	}
	return MaxBody
}

// batchTime is what a batch may take in addition: each new customer in it costs
// round trips of its own.
const batchTime = 12 * time.Second

// timeout returns the time that the work may take; a ping may take that of the
// receiver's answer in addition.
func (f *Front) timeout(r *route) time.Duration {
	switch {
	case r.waits():
		return f.Timeout + webhook.Deadline
	case r.batches():
		return f.Timeout + batchTime
	}
	return f.Timeout
}

// readBody returns the body, or why it cannot be read. A compressed body is
// refused: a few bytes could unpack to any amount.
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
		// The time ran out, which is no fault of the body.
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

// tooLarge returns the 413; where no body is taken at all, it speaks of keyed requests.
func tooLarge(limit int64) error {
	if limit == maxPublicBody {
		limit = MaxBody
	}
	return problem.New(problem.PayloadTooLarge, "The body is larger than %d bytes.", limit)
}
