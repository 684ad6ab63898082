// Package stripesetup connects programs to payment processors on both sides: in Rail, by the rules of package
// connection, and at Stripe, where it creates, checks and deletes the endpoint with the merchant's key.
package stripesetup

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/inbound/chargebee"
	"rail/server/inbound/connection"
	"rail/server/inbound/lemonsqueezy"
	"rail/server/inbound/paddle"
	"rail/server/inbound/polar"
	"rail/server/inbound/stripe"
	"rail/server/inbound/stripe/client"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

var queries = db.New()

// Service connects programs. BaseURL is the service's address, StripeURL that of Stripe's API; "" for the
// default.
type Service struct {
	Keeper             *secret.Keeper
	BaseURL, StripeURL string
}

// Connected is a new connection.
type Connected struct {
	db.ProcessorConnection
	Secret string // the signing secret, which is never shown again
	// EndpointErr is the failure to delete the replaced connection's endpoint at Stripe, or nil.
	EndpointErr error
}

// Events returns the processor's event types that Rail reads; nil for the generic processor, which uses Rail's
// format.
func Events(processor string) []string {
	switch processor {
	case connection.Stripe:
		return stripe.Events()
	case connection.Paddle:
		return paddle.Events()
	case connection.Chargebee:
		return chargebee.Events()
	case connection.LemonSqueezy:
		return lemonsqueezy.Events()
	case connection.Polar:
		return polar.Events()
	}
	return nil
}

// URL returns the address for a connection's events.
func (s Service) URL(c db.ProcessorConnection) string { return connection.URL(s.BaseURL, c) }

// Find returns a connection of a program.
func (s Service) Find(ctx context.Context, u *work.Unit, program, id string) (db.ProcessorConnection, error) {
	c, err := queries.ConnectionGet(ctx, u.DB(), db.ConnectionGetParams{ID: id, OrgID: u.OrgID})
	if err == nil && c.ProgramID != program {
		err = problem.NotFound("")
	}
	return c, work.Found(err, "")
}

// Connect creates a connection. u has no transaction yet: calls to Stripe happen outside of one.
func (s Service) Connect(ctx context.Context, u *work.Unit, in connection.Input) (out Connected, err error) {
	out.EndpointErr, err = s.store(ctx, u, in, func(u *work.Unit, in connection.Input) (err error) {
		out.ProcessorConnection, out.Secret, err = s.rules().Connect(ctx, u, in)
		return err
	})
	return out, err
}

// Complete sets secrets and options of a pending connection. u has no transaction yet, as in Connect.
func (s Service) Complete(
	ctx context.Context, u *work.Unit, c db.ProcessorConnection, in connection.Input,
) (out Connected, err error) {
	in.ID, in.ProgramID, in.Processor, in.Live = c.ID, c.ProgramID, c.Processor, c.Livemode
	in.Replace = in.APIKey != "" && in.Secret == "" // a typed secret is proven by the first event
	out.EndpointErr, err = s.store(ctx, u, in, func(u *work.Unit, in connection.Input) (err error) {
		out.ProcessorConnection, err = s.rules().Complete(ctx, u, c, in)
		return err
	})
	return out, err
}

// store creates the endpoint of a connection at Stripe if in asks for it, writes the connection, and deletes the
// endpoint of the connection that it replaces. left is why that endpoint still exists.
func (s Service) store(
	ctx context.Context, u *work.Unit, in connection.Input, write func(*work.Unit, connection.Input) error,
) (left, err error) {
	old, err := replaced(ctx, u, in)
	if err != nil {
		return nil, err
	}
	undo, err := s.endpoint(ctx, &in)
	if err != nil {
		return nil, err
	}
	if err := u.Within(ctx, func(u *work.Unit) error { return write(u, in) }); err != nil {
		undo()
		return nil, err
	}
	if old != nil {
		left = s.deleteEndpoint(ctx, *old)
	}
	return left, nil
}

// rules returns the rules of connections in Rail.
func (s Service) rules() connection.Service { return connection.Service{Keeper: s.Keeper} }

// Reserve returns a pending connection.
func (s Service) Reserve(ctx context.Context, u *work.Unit, in connection.Input) (c db.ProcessorConnection, err error) {
	err = u.Within(ctx, func(u *work.Unit) (err error) {
		c, err = s.rules().Reserve(ctx, u, in)
		return err
	})
	return c, err
}

// Disconnect ends a connection. left is why its endpoint still exists at Stripe, which does not stop the
// disconnection; nil if it does not.
func (s Service) Disconnect(ctx context.Context, u *work.Unit, c db.ProcessorConnection) (left, err error) {
	err = u.Within(ctx, func(u *work.Unit) error { return connection.Disconnect(ctx, u, c) })
	if err != nil {
		return nil, err
	}
	return s.deleteEndpoint(ctx, c), nil
}

var errNoSecret = errors.New("its signing secret is missing: continue its setup")

// Check returns why a connection cannot record payments, nil if Rail finds no fault.
func (s Service) Check(ctx context.Context, c db.ProcessorConnection) error {
	if c.Secret == nil {
		return errNoSecret
	}
	if _, err := s.rules().Secret(c); err != nil {
		return fmt.Errorf("its secret cannot be decrypted: replace the connection: %w", err)
	}
	if c.Status == db.ConnectionStatusDisconnected {
		return fmt.Errorf("%s is %s and accepts no events", c.ID, c.Status)
	}
	api, err := s.client(c)
	if api == nil || err != nil {
		return err
	}
	e, found, err := api.FindEndpoint(ctx, s.URL(c))
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("no endpoint at Stripe sends to %s: replace the connection", s.URL(c))
	case e.Status != "enabled":
		return fmt.Errorf("the endpoint %s at Stripe is %s", e.ID, e.Status)
	}
	return nil
}

// endpoint creates Stripe's endpoint for a connection with a key and without a secret, and sets secret and
// endpoint. undo deletes the endpoint.
func (s Service) endpoint(ctx context.Context, in *connection.Input) (undo func(), err error) {
	undo = func() {}
	if in.Processor != connection.Stripe || in.APIKey == "" {
		return undo, nil
	}
	if live, ok := client.Live(in.APIKey); ok && live != in.Live {
		return undo, connection.Refuse("api_key",
			"the key has the wrong mode: a connection for test events requires a test key, and others a live key")
	}
	if in.Secret != "" {
		return undo, nil
	}
	if in.ID == "" {
		in.ID = ident.New(ident.Connection)
	}
	to := s.URL(db.ProcessorConnection{ID: in.ID, Processor: in.Processor})
	api := client.New(in.APIKey, s.StripeURL)
	e, err := api.CreateEndpoint(ctx, to, stripe.Events())
	if err != nil {
		return undo, connection.Refuse("api_key", "%w (or create an endpoint at Stripe manually, and enter its secret)", err)
	}
	in.Secret = e.Secret
	return func() { _ = api.DeleteEndpoint(context.WithoutCancel(ctx), e.ID) }, nil
}

// client returns a client with the key of a Stripe connection; nil without one.
func (s Service) client(c db.ProcessorConnection) (*client.Client, error) {
	if c.Processor != connection.Stripe || len(c.APIKey) == 0 {
		return nil, nil
	}
	key, err := s.rules().Key(c)
	return client.New(key, s.StripeURL), err
}

// replaced returns the connection that a new one replaces, if any.
func replaced(ctx context.Context, u *work.Unit, in connection.Input) (*db.ProcessorConnection, error) {
	if !in.Replace {
		return nil, nil
	}
	c, err := queries.ConnectionActive(ctx, u.DB(), db.ConnectionActiveParams{
		ProgramID: in.ProgramID, OrgID: u.OrgID, Processor: in.Processor, Livemode: in.Live,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &c, err
}

// deleteEndpoint deletes the Stripe endpoint of an ended connection, which would keep sending events.
func (s Service) deleteEndpoint(ctx context.Context, c db.ProcessorConnection) error {
	api, err := s.client(c)
	if api == nil || err != nil {
		return err
	}
	e, found, err := api.FindEndpoint(ctx, s.URL(c))
	if err != nil || !found {
		return err
	}
	return api.DeleteEndpoint(ctx, e.ID)
}
