// Package front is the path that every request takes before its handler and
// after it. The steps, each in a file of its own:
//
//  1. request id                    requestid.go
//  2. version and rate headers      headers.go
//  3. body, header and time limits  limits.go
//  4. authentication                authenticate.go
//  5. rate limit                    ratelimit.go
//  6. canonical query               query.go
//  7. scope, read from the document scope.go
//  8. the JSON front door           jsondoor.go, jsontext.go
//  9. validation                    validate.go, document.go
//  10. transaction and idempotency  work.go, idempotency.go
//
// Everything that goes wrong is written by one writer, errors.go.
package front

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/server/auth"
	"rail/server/clock"
	"rail/server/secret"
)

// Version is the contract's version (specification, Versioning).
const Version = "2026-08-21"

// Options is what the request path depends on.
type Options struct {
	Pool           *pgxpool.Pool
	Keys           *auth.Store
	Keeper         *secret.Keeper
	Clock          clock.Clock
	Document       *Document
	Log            *slog.Logger
	Metrics        *Metrics
	TrustedProxies []netip.Prefix
	// Told is called when events have been committed; it may be nil.
	Told func()
	// Timeout bounds the work of one request; 8 s where it is zero.
	Timeout time.Duration
}

// Front holds the request path.
type Front struct {
	Options
	limiter *limiter
}

// New returns the request path.
func New(o Options) *Front {
	if o.Timeout == 0 {
		o.Timeout = 8 * time.Second
	}
	return &Front{Options: o, limiter: newLimiter(o.Clock)}
}

// Install puts the request path around the routes of e.
func (f *Front) Install(e *echo.Echo) {
	e.HTTPErrorHandler = f.writeError
	e.Use(f.begin, f.observe, f.recoverPanic, f.headers, f.limits, f.match, f.authenticate, f.rateLimit, f.canonical, f.scope, f.door, f.validate, f.work)
}
