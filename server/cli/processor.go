package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/chargebee"
	"rail/server/inbound/connection"
	"rail/server/inbound/lemonsqueezy"
	"rail/server/inbound/paddle"
	"rail/server/inbound/polar"
	"rail/server/inbound/stripe"
	"rail/server/inbound/stripesetup"
	"rail/server/work"
)

// printedConnection is the JSON of a connection. Secret is set once, if Rail has made it.
type printedConnection struct {
	ID              string      `json:"id"`
	Object          string      `json:"object"`
	ProgramID       string      `json:"program_id"`
	Processor       string      `json:"processor"`
	Livemode        bool        `json:"livemode"`
	URL             string      `json:"url"`
	Status          string      `json:"status"`
	RecordDirect    bool        `json:"record_direct"`
	OutsideCheckout bool        `json:"outside_checkout"`
	LastEventAt     *clock.Time `json:"last_event_at"`
	CreatedAt       clock.Time  `json:"created_at"`
	UpdatedAt       clock.Time  `json:"updated_at"`
	Secret          string      `json:"secret,omitempty"`
}

func printable(d *database, c db.ProcessorConnection) printedConnection {
	return printedConnection{
		ID: c.ID, Object: "processor_connection", ProgramID: c.ProgramID, Processor: c.Processor, Livemode: c.Livemode,
		URL: connection.URL(d.config.BaseURL, c), Status: string(c.Status), RecordDirect: c.RecordDirect,
		OutsideCheckout: c.OutsideCheckout, LastEventAt: c.LastEventAt, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}

// connectionTable returns the printed table, a line for each connection.
func connectionTable(all ...printedConnection) func() []string {
	return func() []string {
		rows := []string{"ID\tPROCESSOR\tMODE\tSTATUS\tLAST EVENT\tURL"}
		for _, c := range all {
			mode, last := "live", "never"
			if !c.Livemode {
				mode = "test"
			}
			if c.LastEventAt != nil {
				last = c.LastEventAt.String()
			}
			rows = append(rows, strings.Join([]string{c.ID, c.Processor, mode, c.Status, last, c.URL}, "\t"))
		}
		return rows
	}
}

// processorConnect connects a program to a payment processor.
func processorConnect(fs *pflag.FlagSet) action {
	in := connection.Input{}
	fs.StringVar(&in.ProgramID, "program", "", "`PROGRAM_ID` whose payments it records")
	fs.StringVar(&in.Secret, "secret", "", "`SECRET` with which the processor signs its events, or - to read it; Rail can make it for generic, chargebee and lemon_squeezy")
	fs.StringVar(&in.APIKey, "api-key", "", "`KEY` of the processor's API, or - to read it; Rail makes the endpoint at Stripe with it")
	test := toggle(fs, "test", "accept only test events")
	direct := toggle(fs, "record-direct", "also record payments without a partner")
	outside := toggle(fs, "outside-checkout", "also record payments outside Stripe's checkout and invoices")
	replace := toggle(fs, "replace", "end the present connection")
	return func(ctx context.Context, env *Env, args []string) error {
		if in.ProgramID == "" {
			return usagef("--program is needed")
		}
		if !slices.Contains(connection.Processors, args[0]) {
			return usagef("there is no processor %q%s", args[0], suggestion("", args[0], connection.Processors))
		}
		in := in
		in.Processor, in.Live, in.RecordDirect, in.Replace = args[0], !*test, *direct, *replace
		in.OutsideCheckout = *outside
		if err := unhide(env, &in); err != nil {
			return err
		}
		return withDatabase(ctx, env, func(d *database) error {
			supplied := in.Secret != "" || in.APIKey != ""
			c, err := connect(ctx, env, d, in)
			if err != nil {
				return err
			}
			shown := printable(d, c.ProcessorConnection)
			if !supplied {
				shown.Secret = c.Secret
			}
			return env.print(shown, func() []string { return connected(shown) })
		})
	}
}

// unhide reads a connection's secrets from outside the arguments.
func unhide(env *Env, in *connection.Input) (err error) {
	lines := env.input()
	if in.Secret, err = hiddenSecret.read(env, lines, in.Secret); err == nil {
		in.APIKey, err = hiddenKey.read(env, lines, in.APIKey)
	}
	return err
}

// connect creates a connection in the program's organization.
func connect(ctx context.Context, env *Env, d *database, in connection.Input) (stripesetup.Connected, error) {
	u, err := ofProgram(ctx, env, d, "processor connect", in.ProgramID)
	if err != nil {
		return stripesetup.Connected{}, err
	}
	c, err := stripeSetup(d).Connect(ctx, u, in)
	warnEndpoint(env, c.EndpointErr)
	return c, err
}

// stripeSetup returns the configured service for connections.
func stripeSetup(d *database) stripesetup.Service {
	return stripesetup.Service{Keeper: d.keeper, BaseURL: d.config.BaseURL, StripeURL: d.config.StripeURL}
}

// warnEndpoint explains why the endpoint of an ended connection still exists at Stripe, if it does.
func warnEndpoint(env *Env, left error) {
	if left != nil {
		fmt.Fprintf(env.Err, "its endpoint still exists at Stripe; delete it there: %v\n", left)
	}
}

// connected describes what to do with a new connection.
func connected(c printedConnection) []string {
	rows := []string{"ID\t" + c.ID, "URL\t" + c.URL}
	if c.Secret != "" {
		rows = append(rows, "Secret\t"+c.Secret, "", "The secret is shown only once.")
	}
	return rows
}

// ofProgram returns the unit of an operator's command in the organization of a program.
func ofProgram(ctx context.Context, env *Env, d *database, command, program string) (*work.Unit, error) {
	org, err := queries.ProgramOrganization(ctx, d.pool, program)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("there is no program %q", program)
	}
	return byHand(env, d, command).For(org), err
}

// processorList lists the connections of a program.
func processorList(fs *pflag.FlagSet) action {
	program := fs.String("program", "", "`PROGRAM_ID` of the connections")
	return func(ctx context.Context, env *Env, _ []string) error {
		if *program == "" {
			return usagef("--program is needed")
		}
		return withDatabase(ctx, env, func(d *database) error {
			u, err := ofProgram(ctx, env, d, "processor list", *program)
			if err != nil {
				return err
			}
			rows, err := queries.ConnectionsOfProgram(ctx, d.pool, db.ConnectionsOfProgramParams{
				ProgramID: *program, OrgID: u.OrgID,
			})
			if err != nil {
				return err
			}
			all := make([]printedConnection, len(rows))
			for i, c := range rows {
				all[i] = printable(d, c)
			}
			return env.print(all, connectionTable(all...))
		})
	}
}

// processorCheck shows one connection, and fails if it cannot record payments.
func processorCheck(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, args []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			c, err := connectionOf(ctx, d, args[0])
			if err != nil {
				return err
			}
			shown := printable(d, c)
			if err := env.print(shown, connectionTable(shown)); err != nil {
				return err
			}
			return stripeSetup(d).Check(ctx, c)
		})
	}
}

// processorDisconnect ends a connection.
func processorDisconnect(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, args []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			c, err := connectionOf(ctx, d, args[0])
			if err != nil {
				return err
			}
			left, err := stripeSetup(d).Disconnect(ctx, byHand(env, d, "processor disconnect").For(c.OrgID), c)
			if err != nil {
				return err
			}
			warnEndpoint(env, left)
			if c, err = connectionOf(ctx, d, c.ID); err != nil {
				return err
			}
			shown := printable(d, c)
			return env.print(shown, connectionTable(shown))
		})
	}
}

// connectionOf returns a connection of any organization: an operator has no tenant.
func connectionOf(ctx context.Context, d *database, id string) (db.ProcessorConnection, error) {
	c, err := queries.ConnectionAcrossOrgs(ctx, d.pool, id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("there is no connection %q", id)
	}
	return c, err
}

// processorHelp describes which processors can be connected, and the next step.
func processorHelp() string {
	return "PROCESSOR is " + strings.Join(connection.Processors, ", ") + `. Enter the printed URL at the processor. A generic processor also gets the secret, and signs its events
as Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature). A program has one connection for
each processor and mode.

Arguments are visible in the list of processes. --secret - and --api-key - read standard input instead, a
line each in this order; without the flags, ` +
		hiddenSecret.variable + " and\n" + hiddenKey.variable + ` apply.

stripe takes --api-key, a restricted key that may write webhook endpoints: Rail then creates the endpoint
there, and deletes it on disconnect. Without a key, create an endpoint at Stripe with the events below,
enter its secret (whsec_…) with --secret, and then change the endpoint's URL to the printed one:
` + "  " + strings.Join(stripe.Events(), "\n  ") + `

paddle takes the secret of a notification destination (pdl_ntfset_…), whose URL you then change to the
printed one. The sandbox is a separate account: connect it with --test. The events that Rail reads:
` + "  " + strings.Join(paddle.Events(), "\n  ") + `

chargebee takes the printed URL with basic authentication: the secret is user:password. Only it authenticates
events. Let a checkout fill the custom field cf_rail_click of the subscription or the
customer with the click; metadata's rail_click counts, too. Each site is a mode: connect a test site with
--test. The events that Rail reads:
` + "  " + strings.Join(chargebee.Events(), "\n  ") + `

lemon_squeezy takes the printed URL and secret as a webhook's; test mode has webhooks of its own: connect it
with --test. All of these events are needed, or payments are missing:
` + "  " + strings.Join(lemonsqueezy.Events(), "\n  ") + `

polar takes the secret of a webhook as paddle does. The events that Rail reads:
` + "  " + strings.Join(polar.Events(), "\n  ") + "\n"
}
