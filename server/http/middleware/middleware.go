// Package middleware is the path of every request before and after its handler. The steps, one a
// file:
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
// The headers alone identify the caller: the server stores nothing from a caller without a key, and
// a look-up in the database needs a token of the address's bucket. errors.go writes all errors.
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

// Version is the contract's version: a date, which additions do not change.
const Version = "2026-08-21"

// Options holds the dependencies and settings of the request path.
type Options struct {
	Pool           *pgxpool.Pool
	GroupCommit    *share.GroupCommit // for operations of route.shares; may be nil
	Reads          *share.Reads       // batches short reads; may be nil
	Standbys       *standby.Set
	Keys           *auth.Store
	Pages          *publishable.Store // publishable keys
	Plain          bool               // clients reach the service without TLS
	Keeper         *secret.Keeper
	Clock          clock.Clock
	Document       *Document
	Log            *slog.Logger
	Metrics        *Metrics
	Tracer         *tracing.Tracer // may be nil
	Shortage       *shortage.Watch // counts database errors; may be nil
	TrustedProxies []netip.Prefix
	// Plan holds the default limits of organizations.
	Plan quota.Plan
	// Existing converts the row of a conflict to its API object; may be nil.
	Existing func(row any) any
	// Wake is called after events have been committed; may be nil.
	Wake func()
	// AddressLimit is the number of requests a second for one address without a valid key.
	AddressLimit int
	// Timeout bounds the work of one request; the default is 8 s.
	Timeout time.Duration
}

// Front is the request path.
type Front struct {
	Options
	limiter         *limiter
	pages           *limiter // for browsers' requests, by address and by key
	shared          *sharedLimiter
	limitedHandlers map[string]echo.HandlerFunc
	exempt          map[string]string // operations without the path's limits, by path
	sheets          chan struct{}     // one element for each table in progress
}

// New returns the request path.
func New(o Options) *Front {
	if o.Timeout == 0 {
		o.Timeout = 8 * time.Second
	}
	alone := newLimiter(o.Clock)
	return &Front{
		Options:         o,
		limiter:         alone,
		pages:           newLimiter(o.Clock),
		shared:          newSharedLimiter(o.Pool, o.Clock, alone),
		limitedHandlers: map[string]echo.HandlerFunc{},
		exempt:          map[string]string{},
		sheets:          make(chan struct{}, maxTables),
	}
}

// Install puts the request path around the routes of e.
func (f *Front) Install(e *echo.Echo) {
	e.HTTPErrorHandler = f.writeError
	e.Use(head, f.begin, f.observe, f.recoverPanic, f.headers, f.match, f.authenticate, f.rateLimit, f.limits, f.signature,
		f.canonical, f.scope, f.checkBody, f.browser, f.validate, f.tables, f.work)
}
