package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/app"
	"rail/server/clock"
	"rail/server/money/payout/rails"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/outbound/webhook"
	"rail/server/work"
)

// railKinds are the services that a program can be connected to.
var railKinds = []string{string(db.PayoutRailKindPaypal), string(db.PayoutRailKindWebhook)}

// printedRail is the JSON of a payout rail. Secret is that of a new webhook rail, and Notifications is the address for
// PayPal's webhooks.
type printedRail struct {
	ID                  string      `json:"id"`
	Object              string      `json:"object"`
	ProgramID           string      `json:"program_id"`
	Kind                string      `json:"kind"`
	Methods             []string    `json:"methods"`
	Livemode            bool        `json:"livemode"`
	Status              string      `json:"status"`
	URL                 *string     `json:"url"`
	Secret              string      `json:"secret,omitempty"`
	Notifications       string      `json:"notifications,omitempty"`
	AutomaticBatchMinor *int64      `json:"automatic_batch_minor"`
	AutomaticDayMinor   *int64      `json:"automatic_day_minor"`
	WithoutFundsAt      *clock.Time `json:"without_funds_at"`
	LastSuccessAt       *clock.Time `json:"last_success_at"`
	LastError           *string     `json:"last_error"`
	CreatedAt           clock.Time  `json:"created_at"`
	UpdatedAt           clock.Time  `json:"updated_at"`
}

func printableRail(d *database, c db.PayoutRail) printedRail {
	shown := printedRail{
		ID: c.ID, Object: "payout_rail", ProgramID: c.ProgramID, Kind: string(c.Kind), Methods: c.Methods,
		Livemode: c.Livemode, Status: string(c.Status), URL: c.URL, AutomaticBatchMinor: c.AutomaticBatchMinor,
		AutomaticDayMinor: c.AutomaticDayMinor, WithoutFundsAt: c.WithoutFundsAt, LastSuccessAt: c.LastSuccessAt,
		LastError: c.LastError, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
	if c.Kind == db.PayoutRailKindPaypal {
		shown.Notifications = d.config.BaseURL + "/hooks/paypal/" + c.ID
	}
	return shown
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

// railInput has the flags of payout-rail connect.
type railInput struct {
	paypal  rails.PayPal
	bridge  rails.Bridge
	file    string // with the secret
	methods string
	test    *bool
}

// payoutRailConnect connects a program to a service that moves money.
func payoutRailConnect(fs *pflag.FlagSet) action {
	in := railInput{}
	fs.StringVar(&in.paypal.ProgramID, "program", "", "`PROGRAM_ID` whose payouts it sends")
	fs.StringVar(&in.paypal.ClientID, "client-id", "", "paypal: `ID` of the app at PayPal")
	fs.StringVar(&in.file, "client-secret-file", "", "paypal: `FILE` with the app's secret")
	fs.StringVar(&in.paypal.WebhookID, "webhook-id", "", "paypal: `ID` of the webhook for the rail's address (optional)")
	fs.StringVar(&in.bridge.URL, "url", "", "webhook: `URL` that gets payout.submitted")
	fs.StringVar(&in.methods, "methods", "", "webhook: payout `METHODS` that it pays, separated by commas")
	in.test = toggle(fs, "test", "paypal: use PayPal's sandbox, which moves no money")
	return func(ctx context.Context, env *Env, args []string) error {
		in := in
		if err := in.check(args[0]); err != nil {
			return err
		}
		return withDatabase(ctx, env, func(d *database) (err error) {
			if in.file != "" {
				if in.paypal.Secret, err = secretIn(in.file); err != nil {
					return err
				}
			}
			u, err := ofProgram(ctx, env, d, "payout-rail connect", in.paypal.ProgramID)
			if err != nil {
				return err
			}
			shown, err := in.connect(ctx, env, d, u, args[0])
			if err != nil {
				return err
			}
			return env.print(shown, func() []string {
				rows := railTable(shown)()
				if shown.Secret != "" {
					rows = append(rows, "", "Secret\t"+shown.Secret, "The secret signs the messages. It is shown only once.")
				}
				return rows
			})
		})
	}
}

// check refuses flags that do not fit the kind.
func (in railInput) check(kind string) error {
	isPayPal := kind == railKinds[0]
	switch {
	case !slices.Contains(railKinds, kind):
		return usagef("there is no payout rail %q%s", kind, suggestion("", kind, railKinds))
	case in.paypal.ProgramID == "":
		return usagef("--program is needed")
	case isPayPal && (in.paypal.ClientID == "" || in.file == ""):
		return usagef("--client-id and --client-secret-file are needed")
	case isPayPal && in.bridge.URL+in.methods != "":
		return usagef("--url and --methods are for the kind webhook")
	case !isPayPal && (in.bridge.URL == "" || in.methods == ""):
		return usagef("--url and --methods are needed")
	case !isPayPal && (in.paypal.ClientID+in.file+in.paypal.WebhookID != "" || *in.test):
		return usagef("--client-id, --client-secret-file, --webhook-id and --test are for the kind paypal")
	}
	return nil
}

// connect connects the program, and returns the rail to print.
func (in railInput) connect(ctx context.Context, env *Env, d *database, u *work.Unit, kind string) (printedRail, error) {
	service, err := railChanger(env, d)
	if err != nil {
		return printedRail{}, err
	}
	if kind == railKinds[0] {
		in.paypal.Live = !*in.test
		c, err := service.Connect(ctx, u, in.paypal)
		return printableRail(d, c), err
	}
	in.bridge.ProgramID, in.bridge.Methods = in.paypal.ProgramID, strings.Split(in.methods, ",")
	c, secret, err := service.ConnectBridge(ctx, u, in.bridge)
	shown := printableRail(d, c)
	shown.Secret = secret
	return shown, err
}

// payoutRailLimit changes what a rail may send without a person's confirmation.
func payoutRailLimit(fs *pflag.FlagSet) action {
	batch := fs.Int64("batch", 0, "`MINOR` units of the program's currency for one batch; 0 for nothing")
	day := fs.Int64("day", 0, "`MINOR` units for one day; 0 for nothing")
	return func(ctx context.Context, env *Env, args []string) error {
		if *batch < 0 || *day < 0 || (*batch == 0) != (*day == 0) {
			return usagef("--batch and --day are needed, both positive or both 0")
		}
		return withDatabase(ctx, env, func(d *database) error {
			c, err := railOf(ctx, d, args[0])
			if err != nil {
				return err
			}
			u := byHand(env, d, "payout-rail limit").For(c.OrgID)
			service, err := railChanger(env, d)
			if err != nil {
				return err
			}
			if err := service.Limit(ctx, u, c, opt.OrNil(*batch), opt.OrNil(*day)); err != nil {
				return err
			}
			if c, err = railOf(ctx, d, c.ID); err != nil {
				return err
			}
			shown := printableRail(d, c)
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

// payoutRails returns the configured service for payout rails. Only changes of rails send mails.
func payoutRails(env *Env, d *database, outbox *mail.Outbox) *rails.Service {
	return &rails.Service{
		Keeper: d.keeper, Clock: env.Clock, PayPalURL: d.config.PayPalURL, Name: d.config.ServiceName, Mail: outbox,
		Guard: webhook.NewGuard(d.config.WebhookAllowCIDRs, d.config.WebhookHTTPSOnly, d.config.BaseURL),
	}
}

// railChanger returns the service for a change of a rail.
func railChanger(env *Env, d *database) (*rails.Service, error) {
	mails, err := app.Mail(d.config, d.pool, d.keeper, env.Clock, logger(env.Err, d.config))
	return payoutRails(env, d, mails.Outbox), err
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
				all[i] = printableRail(d, c)
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
			shown := printableRail(d, c)
			if err := env.print(shown, railTable(shown)); err != nil {
				return err
			}
			return payoutRails(env, d, nil).Check(ctx, c)
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
			service, err := railChanger(env, d)
			if err != nil {
				return err
			}
			if err := service.Disconnect(ctx, u, c); err != nil {
				return err
			}
			if c, err = railOf(ctx, d, c.ID); err != nil {
				return err
			}
			shown := printableRail(d, c)
			return env.print(shown, railTable(shown))
		})
	}
}

// railOf returns a rail of any organization: an operator has no tenant.
func railOf(ctx context.Context, d *database, id string) (db.PayoutRail, error) {
	c, err := queries.PayoutRailAcrossOrgs(ctx, d.pool, id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("there is no payout rail %q", id)
	}
	return c, err
}

// payoutRailHelp describes what is needed at the service.
func payoutRailHelp() string {
	return `KIND is paypal or webhook. A program has one rail for each kind and mode.

paypal: the PayPal business account needs the right to use Payouts: ask PayPal for it first. Create an app in PayPal's
developer dashboard; its client id and secret connect the program. If the secret changes, connect the same client id
again: the rail stays. Rail asks PayPal about each payout every five minutes; to learn results at once, add the printed
address as a webhook at PayPal and connect again with --webhook-id. A rail with --test can be checked, and sends nothing.

webhook: a service of yours gets each payout at --url and reports the result by POST /v1/payouts/{id}/rail_result.

Nothing is sent until a person confirms it, in the console or by POST /v1/payout_batches/{id}/send. With
rail payout-rail limit, due payouts of a program with auto_payouts_enabled are sent without confirmation up to limits.
`
}
