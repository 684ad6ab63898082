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
