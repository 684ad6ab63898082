// Package handlers implements the operations of the description, one file per resource. A handler
// reads the call, runs a few statements, and converts rows to the generated types.
//
// Packages program, money and outbound decide what is allowed and its effects. The handlers are
// alike on purpose:
//
//   - a list (readPage) reads a page of rows, converts them, and adds the parts that
//     expand[] and include[] ask for in one more round trip;
//   - a retrieval reads a row of the organization, and complete adds the same parts;
//   - a write passes the body to the rules and returns their result. The request
//     path commits it, after the handler has returned.
//
// Handlers return errors unchanged: package middleware answers pgx.ErrNoRows with 404 and retries
// after a lost race.
package handlers

import (
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/auth"
	"rail/server/inbound/importer"
	"rail/server/money/payout"
	"rail/server/money/sale"
	"rail/server/outbound/mail"
	"rail/server/outbound/webhook"
	"rail/server/program/customer"
	"rail/server/program/partner"
	"rail/server/program/tracking"
	"rail/server/secret"
)

// Options holds the dependencies of the operations.
type Options struct {
	Keys     *auth.Store
	Keeper   *secret.Keeper
	BaseURL  string // the service's address, without a slash at the end
	ShortURL string // the address of short links; the default is BaseURL + "/r"
	// HoldOnHighRisk excludes partners with an open high risk flag from payouts.
	HoldOnHighRisk bool
	// Rails are the operator's payment rails; exports omit their payouts.
	Rails []payout.Rail
	// Partners has the rules of partners.
	Partners *partner.Service
	// Tracking records visits.
	Tracking tracking.Service
	// Customers signs up referred customers; Sales records their payments.
	Customers customer.Service
	Sales     sale.Service
	// Mail queues the mails of changes; may be nil.
	Mail     *mail.Outbox
	Webhooks *webhook.Endpoints
	// Imports starts imports from other products.
	Imports *importer.Service
	// TestClock moves the clock of a server for tests.
	TestClock TestClock
}

// Server implements the generated strict-server interface.
type Server struct {
	Options
}

// New returns the operations.
func New(o Options) *Server {
	// Paths, which begin with a slash, are appended to the addresses.
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	o.ShortURL = tracking.ShortBase(o.BaseURL, o.ShortURL)
	return &Server{Options: o}
}

// A new operation of the description does not compile until it is implemented here.
var _ api.StrictServerInterface = (*Server)(nil)

var queries = db.New()
