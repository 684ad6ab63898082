// Package handlers implements the operations of the description: one file a
// resource, each handler a reading of the call, a few statements, and a
// mapping of rows to the generated types.
package handlers

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/auth"
	"rail/server/outbound/mail"
	"rail/server/outbound/webhook"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// Options is what the operations depend on, besides their call.
type Options struct {
	Keys     *auth.Store
	Keeper   *secret.Keeper
	BaseURL  string // where the service is reached, without a slash at its end
	ShortURL string // where short links live; BaseURL + "/r" where it is empty
	// HoldOnHighRisk keeps partners with an open high risk flag out of payouts.
	HoldOnHighRisk bool
	// Mail takes the mails that changes cause; nil for none.
	Mail *mail.Outbox
	// Guard judges the addresses of webhook endpoints; ServiceName is in their
	// User-Agent.
	Guard       *webhook.Guard
	ServiceName string
	// Wake tells the webhook sender that there is work.
	Wake func()
}

// Server implements the generated strict-server interface.
type Server struct {
	Options
	pings pings
}

// New returns the operations.
func New(o Options) *Server {
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	o.ShortURL = strings.TrimSuffix(o.ShortURL, "/")
	if o.ShortURL == "" {
		o.ShortURL = o.BaseURL + "/r"
	}
	if o.Guard == nil {
		o.Guard = webhook.NewGuard(nil, false, o.BaseURL)
	}
	if o.Wake == nil {
		o.Wake = func() {}
	}
	return &Server{Options: o, pings: pings{atWork: map[string]int{}}}
}

var _ api.StrictServerInterface = (*Server)(nil)

var queries = db.New()

// found turns "no row" into the 404 that absent and foreign objects share.
// param names the field that refers to the object; "" is the path.
func found(err error, param string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return problem.NotFound(param)
	}
	return err
}

// program returns a program of the caller's organization that a field names.
func program(ctx context.Context, u *work.Unit, id string) (db.Program, error) {
	p, err := queries.ProgramGet(ctx, u.DB(), db.ProgramGetParams{ID: id, OrgID: u.OrgID})
	return p, found(err, "program_id")
}

// sameProgram refuses an object of the caller's own other program (decisions,
// 196): what is named must fit here.
func sameProgram(objectProgram, programID, param string) error {
	if objectProgram != programID {
		return problem.On(param, problem.InvalidReference, "%s belongs to another program.", param)
	}
	return nil
}

// ptr returns a pointer to v.
func ptr[T any](v T) *T { return &v }

// orNil returns nil for the empty string.
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// deref returns the value of p, or the zero value.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// upper returns the upper-case form of an optional code.
func upper(p *string) *string {
	if p == nil {
		return nil
	}
	return ptr(strings.ToUpper(*p))
}

// ignoreNoRows returns nil for "no row".
func ignoreNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}
