package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/inbound/connection"
	"rail/server/inbound/stripe"
	"rail/server/inbound/stripe/client"
)

// endpoint has Stripe make the endpoint of a connection that comes with a key and
// without a secret, and puts both into it. undo takes the endpoint away again.
func endpoint(ctx context.Context, d *database, in *connection.Input) (undo func(), err error) {
	undo = func() {}
	if in.Processor != connection.Stripe || in.APIKey == "" {
		return undo, nil
	}
	if live, known := client.Live(in.APIKey); known && live != in.Live {
		return undo, errors.New("the key is of the other mode: --test goes with a test key, and only with one")
	}
	if in.Secret != "" {
		return undo, nil
	}
	in.ID = ident.New(ident.Connection)
	to := connection.URL(d.config.BaseURL, db.ProcessorConnection{ID: in.ID, Processor: in.Processor})
	api := client.New(in.APIKey, d.config.StripeURL)
	made, err := api.CreateEndpoint(ctx, to, stripe.Events())
	if err != nil {
		return undo, fmt.Errorf("%w (or make the endpoint %s yourself, and give its --secret)", err, to)
	}
	in.Secret = made.Secret
	return func() { _ = api.DeleteEndpoint(context.WithoutCancel(ctx), made.ID) }, nil
}

// opened returns a client with the key of a connection to Stripe; nil without one.
func opened(d *database, c db.ProcessorConnection) (*client.Client, error) {
	if c.Processor != connection.Stripe || len(c.APIKey) == 0 {
		return nil, nil
	}
	key, err := connection.Service{Keeper: d.keeper}.Key(c)
	return client.New(key, d.config.StripeURL), err
}

// replaced returns the connection that a new one ends, if it is to.
func replaced(ctx context.Context, d *database, org string, in connection.Input) (*db.ProcessorConnection, error) {
	if !in.Replace {
		return nil, nil
	}
	c, err := queries.ConnectionActive(ctx, d.pool, db.ConnectionActiveParams{
		ProgramID: in.ProgramID, OrgID: org, Processor: in.Processor, Livemode: in.Live,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &c, err
}

// endEndpoint takes the endpoint of a connection that has ended away from Stripe,
// which would go on sending to nobody. That it cannot is no reason to keep the
// connection.
func endEndpoint(ctx context.Context, env *Env, d *database, c db.ProcessorConnection) {
	api, err := opened(d, c)
	if api == nil && err == nil {
		return
	}
	if err == nil {
		err = removeEndpoint(ctx, api, connection.URL(d.config.BaseURL, c))
	}
	if err != nil {
		fmt.Fprintf(env.Err, "its endpoint stays at Stripe, take it away there: %v\n", err)
	}
}

func removeEndpoint(ctx context.Context, api *client.Client, url string) error {
	e, found, err := api.FindEndpoint(ctx, url)
	if err != nil || !found {
		return err
	}
	return api.DeleteEndpoint(ctx, e.ID)
}

// checkEndpoint asks Stripe whether it sends to a connection.
func checkEndpoint(ctx context.Context, d *database, c db.ProcessorConnection) error {
	api, err := opened(d, c)
	if api == nil || err != nil {
		return err
	}
	url := connection.URL(d.config.BaseURL, c)
	e, found, err := api.FindEndpoint(ctx, url)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("no endpoint at Stripe sends to %s: connect again with --replace", url)
	case e.Status != "enabled":
		return fmt.Errorf("the endpoint %s at Stripe is %s", e.ID, e.Status)
	}
	return nil
}
