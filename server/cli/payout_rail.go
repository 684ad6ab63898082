package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/payout/rails"
	"rail/server/outbound/webhook"
)

// railKinds are the services that a program can be connected to.
var railKinds = []string{string(db.PayoutRailKindPaypal)}

// printedRail is the JSON of a payout rail.
type printedRail struct {
	ID             string      `json:"id"`
	Object         string      `json:"object"`
	ProgramID      string      `json:"program_id"`
	Kind           string      `json:"kind"`
	Methods        []string    `json:"methods"`
	Livemode       bool        `json:"livemode"`
	Status         string      `json:"status"`
	WithoutFundsAt *clock.Time `json:"without_funds_at"`
	LastSuccessAt  *clock.Time `json:"last_success_at"`
	LastError      *string     `json:"last_error"`
	CreatedAt      clock.Time  `json:"created_at"`
	UpdatedAt      clock.Time  `json:"updated_at"`
}

func printableRail(c db.PayoutRail) printedRail {
	return printedRail{
		ID: c.ID, Object: "payout_rail", ProgramID: c.ProgramID, Kind: string(c.Kind), Methods: c.Methods,
		Livemode: c.Livemode, Status: string(c.Status), WithoutFundsAt: c.WithoutFundsAt, LastSuccessAt: c.LastSuccessAt,
		LastError: c.LastError, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}

// railTable returns the printed table, a line for each rail.
func railTable(all ...printedRail) func() []string {
	return func() []string {
		rows := []string{"ID\tKIND\tMODE\tSTATUS\tLAST ANSWER\tLAST ERROR"}
		for _, c := range all {
			mode, last, failed := "live", "never", ""
			if !c.Livemode {
				mode = "test"
			}
			if c.LastSuccessAt != nil {
				last = c.LastSuccessAt.String()
			}
			if c.LastError != nil {
				failed = *c.LastError
			}
			rows = append(rows, strings.Join([]string{c.ID, c.Kind, mode, c.Status, last, failed}, "\t"))
		}
		return rows
	}
}

// maxSecretFile bounds the file of a client secret, in bytes.
const maxSecretFile = 4 << 10

// payoutRailConnect connects a program to a service that moves money.
func payoutRailConnect(fs *pflag.FlagSet) action {
	in, file := rails.PayPal{}, ""
	fs.StringVar(&in.ProgramID, "program", "", "`PROGRAM_ID` whose payouts it sends")
	fs.StringVar(&in.ClientID, "client-id", "", "`ID` of the app at PayPal")
	fs.StringVar(&file, "client-secret-file", "", "`FILE` with the app's secret")
	test := toggle(fs, "test", "use PayPal's sandbox, which moves no money")
	return func(ctx context.Context, env *Env, args []string) error {
		switch {
		case args[0] != railKinds[0]:
			return usagef("there is no payout rail %q%s", args[0], suggestion("", args[0], railKinds))
		case in.ProgramID == "":
			return usagef("--program is needed")
		case in.ClientID == "" || file == "":
			return usagef("--client-id and --client-secret-file are needed")
		}
		in := in
		in.Live = !*test
		return withDatabase(ctx, env, func(d *database) (err error) {
			if in.Secret, err = secretIn(file); err != nil {
				return err
			}
			u, err := ofProgram(ctx, env, d, "payout-rail connect", in.ProgramID)
			if err != nil {
				return err
			}
			c, err := payoutRails(env, d).Connect(ctx, u, in)
			if err != nil {
				return err
			}
			shown := printableRail(c)
			return env.print(shown, railTable(shown))
		})
	}
}

// secretIn reads a secret from a file.
func secretIn(file string) (string, error) {
	text, err := os.ReadFile(file)
	switch {
	case err != nil:
		return "", err
	case len(text) > maxSecretFile:
		return "", fmt.Errorf("%s has more than %d bytes", file, maxSecretFile)
	case strings.TrimSpace(string(text)) == "":
		return "", fmt.Errorf("%s is empty", file)
	}
	return strings.TrimSpace(string(text)), nil
}

// payoutRails returns the configured service for payout rails.
func payoutRails(env *Env, d *database) *rails.Service {
	return &rails.Service{
		Keeper: d.keeper, Clock: env.Clock, PayPalURL: d.config.PayPalURL, Name: d.config.ServiceName,
		Guard: webhook.NewGuard(d.config.WebhookAllowCIDRs, d.config.WebhookHTTPSOnly, d.config.BaseURL),
	}
}

// payoutRailList lists the rails of a program.
func payoutRailList(fs *pflag.FlagSet) action {
	program := fs.String("program", "", "`PROGRAM_ID` of the rails")
	return func(ctx context.Context, env *Env, _ []string) error {
		if *program == "" {
			return usagef("--program is needed")
		}
		return withDatabase(ctx, env, func(d *database) error {
			u, err := ofProgram(ctx, env, d, "payout-rail list", *program)
			if err != nil {
				return err
			}
			rows, err := queries.PayoutRailsOfProgram(ctx, d.pool, db.PayoutRailsOfProgramParams{
				ProgramID: *program, OrgID: u.OrgID,
			})
			if err != nil {
				return err
			}
			all := make([]printedRail, len(rows))
			for i, c := range rows {
				all[i] = printableRail(c)
			}
			return env.print(all, railTable(all...))
		})
	}
}

// payoutRailCheck shows one rail, and fails if it cannot send payouts.
func payoutRailCheck(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, args []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			c, err := railOf(ctx, d, args[0])
			if err != nil {
				return err
			}
			shown := printableRail(c)
			if err := env.print(shown, railTable(shown)); err != nil {
				return err
			}
			return payoutRails(env, d).Check(ctx, c)
		})
	}
}

// payoutRailDisconnect ends a rail.
func payoutRailDisconnect(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, args []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			c, err := railOf(ctx, d, args[0])
			if err != nil {
				return err
			}
			u := byHand(env, d, "payout-rail disconnect").For(c.OrgID)
			if err := payoutRails(env, d).Disconnect(ctx, u, c); err != nil {
				return err
			}
			if c, err = railOf(ctx, d, c.ID); err != nil {
				return err
			}
			shown := printableRail(c)
			return env.print(shown, railTable(shown))
		})
	}
}

// railOf returns a rail of any organization: an operator has no tenant.
func railOf(ctx context.Context, d *database, id string) (db.PayoutRail, error) {
	c, err := queries.PayoutRailOperated(ctx, d.pool, id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("there is no payout rail %q", id)
	}
	return c, err
}

// payoutRailHelp describes what is needed at the service.
func payoutRailHelp() string {
	return `KIND is paypal. The PayPal business account needs the right to use Payouts: ask PayPal for it first. Create an app in
PayPal's developer dashboard; its client id and secret connect the program. A program has one rail for each
kind and mode. If the secret changes, connect the same client id again: the rail stays. Rail asks PayPal about
each payout every five minutes; a webhook is not needed. A rail with --test can be checked, and sends nothing.

Nothing is sent until a person confirms it: POST /v1/payout_batches/{id}/send.
`
}
