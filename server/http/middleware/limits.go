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

// maxPublicBody holds the empty object, with which clients may say "no body".
const maxPublicBody = 64

// Limits of a connection. The request context, the statement time-out and
// these stand in that order, so that each layer gives up before the next.
const (
	ReadHeaderTimeout = 5 * time.Second
	ReadTimeout       = 15 * time.Second
	WriteTimeout      = 30 * time.Second
	IdleTimeout       = 60 * time.Second
	MaxHeaderBytes    = 32 << 10
)

// limits reads the whole body, within bounds, and bounds the time of the work
// (step 6). The work no longer ends when the client goes away: a write that
// has begun is finished or undone as a whole. What is wrong with a body is for
// checkBody to say, which knows whether the operation takes one.
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
		r.TransferEncoding = nil
		c.SetRequest(r)
		return next(c)
	}
}

// maxBody is how much of the request's body is read: of a caller without a key
// only whether there is one, since no public operation takes any.
func (s *state) maxBody() int64 {
	if s.route.Public {
		return maxPublicBody
	}
	return MaxBody
}

// timeout is that of the work, or what a receiver's answer to a ping may take
// on top of it.
func (f *Front) timeout(r *route) time.Duration {
	if r.waits() {
		return f.Timeout + webhook.Deadline
	}
	return f.Timeout
}

func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, problem.New(problem.UnsupportedMediaType, "The body must not be encoded (Content-Encoding: %.40q).", e)
	}
	if r.ContentLength > limit {
		return nil, tooLarge()
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, problem.Away(err)
		}
		return nil, problem.New(problem.InvalidJSON, "The body could not be read to its end.")
	}
	if int64(len(body)) > limit {
		return nil, tooLarge()
	}
	return body, nil
}

func tooLarge() error {
	return problem.New(problem.PayloadTooLarge, "The body is larger than %d bytes.", MaxBody)
}
