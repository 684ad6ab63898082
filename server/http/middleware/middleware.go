// Package middleware is the path that every request takes before its handler and
// after it. The steps, each in a file of its own:
//
//  1. request id                    requestid.go
//  2. version and rate headers      headers.go
//  3. operation                     state.go; pages and short links leave here, outside.go
//  4. authentication                authenticate.go
//  5. rate limit                    ratelimit.go, sharedlimit.go
//  6. body and time limits          limits.go
//  7. signature                     authenticate.go
//  8. canonical query               query.go
//  9. scope, read from the document scope.go
//  10. the body's JSON              body.go, json.go
//  11. a page's key and origin      browser.go
//  12. validation                   validate.go, document.go
//  13. a table of the answer        table.go
//  14. transaction and idempotency  work.go, idempotency.go; a read's standby, standby.go
//
// Who asks is decided by the headers alone: nothing that a caller without a key
// sends is kept, and a look-up in the database needs a token of the address's
// bucket. Everything that goes wrong is written by one writer, errors.go.
package middleware

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/server/auth"
	"rail/server/clock"
	"rail/server/postgres/pgtx/share"
	"rail/server/postgres/shortage"
	"rail/server/postgres/standby"
	"rail/server/program/publishable"
	"rail/server/secret"
	"rail/server/telemetry/tracing"
	"rail/server/work/quota"
)

// Version is the contract's version: a date, which additions never change.
const Version = "2026-08-21"

// Options is what the request path depends on.
type Options struct {
	Pool           *pgxpool.Pool
	GroupCommit    *share.GroupCommit // for operations of route.shares; may be nil
	Reads          *share.Reads       // batches short reads; may be nil
	Standbys       *standby.Set
	Keys           *auth.Store
	Pages          *publishable.Store // the keys that stand in pages
	Plain          bool               // the service is reached without TLS
	Keeper         *secret.Keeper
	Clock          clock.Clock
	Document       *Document
	Log            *slog.Logger
	Metrics        *Metrics
	Tracer         *tracing.Tracer // nil for none
	Shortage       *shortage.Watch // of errors of the database; nil for none
	TrustedProxies []netip.Prefix
	// Plan is the limits of organizations that have none of their own.
	Plan quota.Plan
	// Existing maps the row of a conflict to what the API shows; nil shows none.
	Existing func(row any) any
	// Wake is called when events have been committed; it may be nil.
	Wake func()
	// AddressLimit is the requests a second of one address without a valid key.
	AddressLimit int
	// Timeout bounds the work of one request; 8 s where it is zero.
	Timeout time.Duration
}

// Front is the request path.
type Front struct {
	Options
	limiter *limiter
	pages   *limiter // of browsers' requests, by address and by key
	shared  *sharedLimiter
	beyond  map[string]echo.HandlerFunc
	free    map[string]string // operations outside of the path's limits, by path
	sheets  chan struct{}     // one for each table that is being made
}

// New returns the request path.
func New(o Options) *Front {
	if o.Timeout == 0 {
		o.Timeout = 8 * time.Second
	}
	alone := newLimiter(o.Clock)
	return &Front{
		Options: o, limiter: alone, pages: newLimiter(o.Clock), shared: newSharedLimiter(o.Pool, o.Clock, alone),
		beyond: map[string]echo.HandlerFunc{},
		free:   map[string]string{},
		sheets: make(chan struct{}, maxTables),
	}
}

// Install puts the request path around the routes of e.
func (f *Front) Install(e *echo.Echo) {
	e.HTTPErrorHandler = f.writeError
	e.Use(head, f.begin, f.observe, f.recoverPanic, f.headers, f.match, f.authenticate, f.rateLimit, f.limits, f.signature,
		f.canonical, f.scope, f.checkBody, f.browser, f.validate, f.tables, f.work)
}
