package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/payout"
)

func payoutsExport(fs *flag.FlagSet) action {
	batch := fs.String("batch", "", "`ID` of the payout batch")
	format := fs.String("format", "", "paypal or wise")
	currency := fs.String("currency", "", "only payouts in this `CODE`; needed where the batch has several")
	return func(ctx context.Context, env *Env, _ []string) error {
		if *batch == "" {
			return usagef("--batch is needed")
		}
		if !slices.Contains(payout.Formats, *format) {
			return usagef("--format must be %s", strings.Join(payout.Formats, " or "))
		}
		for _, r := range env.Rails {
			if slices.Contains(r.Methods(), *format) {
				return fmt.Errorf("the rail %s pays %s payouts: a file of them would pay them twice", r.Name(), *format)
			}
		}
		return withDatabase(ctx, env, func(d *database) error {
			payees, err := payeesOf(ctx, d, *batch, *format, strings.ToUpper(*currency))
			if err != nil {
				return err
			}
			if most := payout.FileLimits[*format]; len(payees) > most {
				fmt.Fprintf(env.Err, "%d payouts: %s takes %d rows a file; split it before you send it\n", len(payees), *format, most)
			}
			left, err := payout.WriteFile(env.Out, *format, d.keeper, payees)
			for _, id := range left {
				fmt.Fprintf(env.Err, "%s is left out: its recipient is no address\n", id)
			}
			if err == nil && len(left) > 0 {
				return errFindings
			}
			return err
		})
	}
}

func exportHelp() string {
	return "The file goes to standard output: who is paid by the method, with what is pending or failed. It holds personal data.\nMark the payouts as paid (POST /v1/payouts/{id}/mark_paid) once the money has been sent.\n"
}

// payoutsFail ends a payout that a rail has in flight.
func payoutsFail(fs *flag.FlagSet) action {
	reason := fs.String("reason", "", "`WORDS` for the payout's error message")
	return func(ctx context.Context, env *Env, args []string) error {
		if *reason == "" {
			return usagef("--reason is needed")
		}
		return withDatabase(ctx, env, func(d *database) error {
			p, err := queries.PayoutInFlight(ctx, d.pool, args[0])
			if errors.Is(err, pgx.ErrNoRows) {
				return fmt.Errorf("no payout %q is processing", args[0])
			}
			if err != nil {
				return err
			}
			return payout.Sender{Pool: d.pool, Keeper: d.keeper}.GiveUp(ctx, p, *reason, env.Clock.Now(), ident.New(ident.Run))
		})
	}
}

// payeesOf reads what the file will hold; a file has one currency.
func payeesOf(ctx context.Context, d *database, batch, method, currency string) ([]payout.Payee, error) {
	if _, err := queries.BatchExists(ctx, d.pool, batch); errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("there is no payout batch %q", batch)
	} else if err != nil {
		return nil, err
	}
	rows, err := queries.PayoutsOfBatch(ctx, d.pool, db.PayoutsOfBatchParams{BatchID: batch, Method: &method})
	if err != nil {
		return nil, err
	}
	var out []payout.Payee
	for _, r := range rows {
		if currency == "" || r.Payout.Currency == currency {
			out = append(out, payout.Payee{Payout: r.Payout, Partner: r.Partner, ProgramCurrency: r.ProgramCurrency})
		}
	}
	if found := payout.Currencies(out); len(found) > 1 {
		return nil, fmt.Errorf("the batch has payouts in %s: choose one with --currency, since a file has one currency", strings.Join(found, ", "))
	}
	return out, nil
}
