// Package handlers implements the operations of the description: one file a
// resource, each handler a reading of the call, a few statements, and a
// mapping of rows to the generated types.
//
// No rule is in here: what may be done, and what follows from it, is decided by
// packages program, money and outbound. The handlers are alike on purpose:
//
//   - a list reads a page of rows (package page), maps them, and adds what expand[]
//     and include[] ask for in one more round trip;
//   - a retrieval reads a row of the organization's, and CheckProgram makes one of
//     another program absent where the query names its own;
//   - a write hands the body to the rules and shows what they return. The request
//     path commits it, after the handler has returned.
//
// Errors are returned as they are: the request path turns pgx.ErrNoRows into a 404
// and a lost race into another attempt (package middleware).
package handlers

import (
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/auth"
	"rail/server/money/payout"
	"rail/server/money/sale"
	"rail/server/outbound/mail"
	"rail/server/outbound/webhook"
	"rail/server/program/customer"
	"rail/server/program/partner"
	"rail/server/program/tracking"
	"rail/server/secret"
)

// Options is what the operations depend on, besides their call.
type Options struct {
	Keys     *auth.Store
	Keeper   *secret.Keeper
	BaseURL  string // where the service is reached, without a slash at its end
	ShortURL string // where short links live; BaseURL + "/r" where it is empty
	// HoldOnHighRisk keeps partners with an open high risk flag out of payouts.
	HoldOnHighRisk bool
	// Rails are the operator's payment rails, whose payouts are in no file.
	Rails []payout.Rail
	// Partners has the rules of who takes part in a program.
	Partners *partner.Service
	// Tracking records the visits that partners bring.
	Tracking tracking.Service
	// Customers signs up who was referred; Sales records what they pay.
	Customers customer.Service
	Sales     sale.Service
	// Mail takes the mails that changes cause; nil for none.
	Mail     *mail.Outbox
	Webhooks *webhook.Endpoints
}

// Server implements the generated strict-server interface.
type Server struct {
	Options
}

// New returns the operations.
func New(o Options) *Server {
	// Addresses are made by adding a path that begins with a slash.
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	o.ShortURL = tracking.ShortBase(o.BaseURL, o.ShortURL)
	return &Server{Options: o}
}

// An operation that is added to the description does not compile until it is here.
var _ api.StrictServerInterface = (*Server)(nil)

var queries = db.New()
