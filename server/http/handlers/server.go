// Package handlers implements the operations of the description: one file a
// resource, each handler a reading of the call, a few statements, and a
// mapping of rows to the generated types.
package handlers

import (
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/auth"
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
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	o.ShortURL = tracking.ShortBase(o.BaseURL, o.ShortURL)
	return &Server{Options: o}
}

var _ api.StrictServerInterface = (*Server)(nil)

var queries = db.New()
