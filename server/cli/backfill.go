package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/backfill"
	"rail/server/opt"
)

// backfilled is the JSON of a backfill.
type backfilled struct {
	Object      string            `json:"object"`
	Since       clock.Time        `json:"since"`
	Connections []backfill.Report `json:"connections"`
}

// stripeBackfill reads past events from Stripe since a day.
func stripeBackfill(fs *pflag.FlagSet) action {
	since := fs.String("since", "", "first `DATE`, such as 2026-01-31")
	one := fs.String("connection", "", "`CONNECTION_ID`; all connections to Stripe unless given")
	return func(ctx context.Context, env *Env, _ []string) error {
		from, _, err := clock.ParseDate(*since)
		switch {
		case err != nil:
			return usagef("--since %s", err)
		case env.Clock.Now().Before(from.Time):
			return usagef("--since is in the future")
		}
		return withDatabase(ctx, env, func(d *database) error {
			all, err := toBackfill(ctx, d, *one)
			if err != nil {
				return err
			}
			found := backfilled{Object: "backfill", Since: from, Connections: []backfill.Report{}}
			err = backfillAll(ctx, env, d, all, &found)
			return errors.Join(env.print(found, found.table), err)
		})
	}
}

// toBackfill returns the given connection, or all active ones.
func toBackfill(ctx context.Context, d *database, one string) ([]db.ProcessorConnection, error) {
	if one != "" {
		c, err := connectionOf(ctx, d, one)
		return []db.ProcessorConnection{c}, err
	}
	all, err := queries.ConnectionsOfStripe(ctx, d.pool)
	if err == nil && len(all) == 0 {
		err = errors.New("no program is connected to Stripe")
	}
	return all, err
}

// backfillAll reads connection by connection. If one fails, it continues with the others and explains how to
// resume.
func backfillAll(ctx context.Context, env *Env, d *database, all []db.ProcessorConnection, found *backfilled) error {
	means, err := deps(env, d)
	if err != nil {
		return err
	}
	b := means.Backfill()
	b.Say = env.progress.say
	var failed error
	for _, c := range all {
		report, err := b.Run(ctx, c, found.Since, env.Clock.Now())
		found.Connections = append(found.Connections, report)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%w\nresume with --connection %s --since %s", err, c.ID, report.Until))
		}
	}
	return failed
}

func (f *backfilled) table() []string {
	rows := []string{"CONNECTION\tSEEN\tKNOWN\tMISSING\tRECORDED\tIGNORED\tWAITING\tFAILED\tDIFFERENT"}
	var differences []string
	for _, r := range f.Connections {
		if r.Skipped != "" {
			rows = append(rows, r.ConnectionID+"\tskipped: "+r.Skipped)
			continue
		}
		rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d", r.ConnectionID, r.Seen, r.Known, r.Missing,
			r.Recorded, r.Ignored, r.Waiting, r.Failed, r.Different))
		for _, d := range r.Differences {
			differences = append(differences, strings.Join([]string{
				d.Kind, d.Type, d.ExternalEventID, d.Charge, d.Status, opt.Value(d.ReasonCode), opt.Value(d.SaleID),
			}, "\t"))
		}
	}
	if len(differences) > 0 {
		rows = append(rows, "", "DIFFERENCE\tTYPE\tEVENT\tPAYMENT\tSTATUS\tREASON\tSALE")
	}
	return append(rows, differences...)
}

// backfillHelp describes what is read.
func backfillHelp() string {
	return `It reads checkouts, paid invoices, refunds and disputes with the API key of the connection (--api-key of rail processor
connect), and records missing ones like events from Stripe. It may run beside servers, be interrupted, and run again: nothing is
recorded twice. Sales that you recorded under the same external_charge_id (in_…, or pi_… without an invoice) are recognized.
Events reach back 30 days; older ones are reconstructed from objects.
`
}
