package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/app"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/payout"
	"rail/server/work"
)

// payoutsExport writes the payouts of a batch as a file for PayPal or Wise, or as a table. It refuses a method
// that a payment rail pays, since partners would be paid twice.
func payoutsExport(fs *pflag.FlagSet) action {
	batch := fs.String("batch", "", "`ID` of the payout batch")
	format := fs.String("format", "", "paypal, wise or csv")
	fresh := toggle(fs, "new", "leave out payouts in earlier files")
	currency := fs.String("currency", "", "only payouts in this `CODE`; required if the batch has several")
	return func(ctx context.Context, env *Env, _ []string) error {
		if *batch == "" {
			return usagef("--batch is needed")
		}
		if !slices.Contains(payout.Formats, *format) {
			return usagef("--format must be %s", strings.Join(payout.Formats, ", "))
		}
		return withDatabase(ctx, env, func(d *database) error {
			b, err := batchOf(ctx, d, *batch)
			if err != nil {
				return err
			}
			f := payout.File{
				Pool: d.pool, Keeper: d.keeper, Rails: env.Rails, Batch: b, Format: *format, Currency: strings.ToUpper(*currency),
				New: *fresh, HoldOnHighRisk: d.config.HoldOnHighRisk,
			}
			return writeFile(ctx, env, byHand(env, d, "payouts export"), f)
		})
	}
}

// payoutFile is the JSON of a file; without --json, the output is the file.
type payoutFile struct {
	Format  string       `json:"format"`
	File    string       `json:"file"`
	Payouts int          `json:"payouts"`
	Again   int          `json:"again"`
	LeftOut []leftPayout `json:"left_out"`
}

// leftPayout is a payout that is not in the file, with the reason.
type leftPayout struct {
	ID        string `json:"id"`
	Why       string `json:"why"`
	Elsewhere bool   `json:"elsewhere"`
}

// writeFile writes the file to standard output, and a summary to standard error.
func writeFile(ctx context.Context, env *Env, u *work.Unit, f payout.File) error {
	var text strings.Builder
	out := env.Out
	if env.json {
		out = &text
	}
	// The written part is in the file even if the rest failed, so it is always reported.
	done, err := f.Write(ctx, u, out)
	left := summarize(env.Err, f.Format, done)
	if env.json {
		shown := payoutFile{Format: f.Format, File: text.String(), Payouts: done.Rows, Again: done.Repeated, LeftOut: []leftPayout{}}
		for _, l := range done.Left {
			shown.LeftOut = append(shown.LeftOut, leftPayout{l.PayoutID, l.Why, l.Elsewhere})
		}
		err = errors.Join(err, env.print(shown, nil))
	}
	if left > 0 && err == nil {
		return errFindings
	}
	return err
}

// summarize prints what the file contains and leaves out. It returns how many payouts are left out of every
// file: these remain unpaid unless the operator acts.
func summarize(w io.Writer, format string, done payout.ExportResult) (left int) {
	for _, l := range done.Left {
		fmt.Fprintf(w, "%s is left out: %s\n", l.PayoutID, l.Why)
		if !l.Elsewhere {
			left++
		}
	}
	for _, o := range done.Other {
		method := "without a method"
		if o.Method != nil {
			method = "to be paid by " + *o.Method
		}
		fmt.Fprintf(w, "not in this file: %d payouts in %s %s\n", o.Payouts, o.Currency, method)
	}
	fmt.Fprintf(w, "%s written, %d left out\n", counted(done.Rows, "payout"), len(done.Left))
	// A second file risks paying twice, hence the number.
	if done.Repeated > 0 {
		fmt.Fprintf(w, "%d of them were in an earlier file (--new leaves them out): send them only once\n",
			done.Repeated)
	}
	if most := payout.FileLimits[format]; done.Rows > most {
		fmt.Fprintf(w, "%s takes %d rows a file: split it before you send it\n", format, most)
	}
	return left
}

// exportHelp describes where to upload the file, and the next step.
func exportHelp() string {
	return `The file goes to standard output: the unpaid payouts of the method. It contains personal data. Payouts that are left out are
listed on standard error, with status 1 if some are in no other file. Exported payouts are processing from then on: refunds
claw them back. After the money is sent, finish each with rail payouts paid (or POST /v1/payouts/{id}/mark_paid) or rail
payouts fail. Another export writes the same payouts again, or with --new only later ones.
`
}

// payoutsPaid settles the payouts of an exported batch, or one of them. It does manually what a payment rail
// does by itself, with the same events and mails.
func payoutsPaid(fs *pflag.FlagSet) action {
	external := fs.String("external-id", "", "`ID` of the transfer at the payment provider")
	at := fs.String("paid-at", "", "`TIME` of the payment, such as 2026-09-30T09:00:00Z; now when left out")
	return func(ctx context.Context, env *Env, args []string) error {
		// The time may be given, since a file is often paid days before this command runs.
		payment := payout.Payment{}
		if *external != "" {
			payment.ExternalID = external
		}
		if *at != "" {
			var err error
			if payment.At, err = clock.Parse(*at); err != nil {
				return usagef("--paid-at %s", err)
			}
		}
		return withDatabase(ctx, env, func(d *database) error {
			switch now := env.Clock.Now(); {
			case *at == "":
				payment.At = now
			case payment.At.After(now.Time):
				return usagef("--paid-at is in the future")
			}
			mails, err := app.Mail(d.config, d.pool, d.keeper, env.Clock, logger(env.Err, d.config))
			if err != nil {
				return err
			}
			sender := payout.Sender{Pool: d.pool, Keeper: d.keeper, Mail: mails.Outbox}
			n, err := settlePayouts(ctx, d, byHand(env, d, "payouts paid"), sender, args[0], payment)
			// Also after an error, since these are paid.
			return errors.Join(env.print(map[string]int{"paid": n}, line("%s paid", counted(n, "payout"))), err)
		})
	}
}

// paidHelp describes in which order to report the results of a batch.
func paidHelp() string {
	return "PAYOUT_ID_OR_BATCH_ID is one payout, or a batch whose exported payouts are all paid: first mark the others\n" +
		"as failed (rail payouts fail).\n"
}

// settlePayouts settles one payout, or those of a batch, and returns how many. A payout that cannot be settled does not
// stop the others, whose money has been sent.
func settlePayouts(
	ctx context.Context, d *database, u *work.Unit, sender payout.Sender, id string, payment payout.Payment,
) (n int, err error) {
	// The prefix tells a batch's id from a payout's; the command accepts both.
	if !strings.HasPrefix(id, string(ident.Batch)) {
		p, err := processing(ctx, d, id)
		if err != nil {
			return 0, err
		}
		return 1, sender.SettleExported(ctx, u, p, payment)
	}
	b, err := batchOf(ctx, d, id)
	if err != nil {
		return 0, err
	}
	err = payout.EachInFile(ctx, d.pool, b, func(p db.Payout) error {
		if err := sender.SettleExported(ctx, u, p, payment); err != nil {
			return fmt.Errorf("%s: %w", p.ID, err)
		}
		n++
		return nil
	})
	return n, err
}

// byHand returns the unit of work of an operator's command, which the audit log names as the actor.
func byHand(env *Env, d *database, command string) *work.Unit {
	return work.NewRun(d.pool, work.Actor{Kind: work.Operator, ID: command}, env.Clock.Now())
}

// payoutsFail fails a payout that left in a file or that a rail does not finish. Only the operator can know that
// no money has left.
func payoutsFail(fs *pflag.FlagSet) action {
	reason := fs.String("reason", "", "`WORDS` for the payout's error message")
	return func(ctx context.Context, env *Env, args []string) error {
		if *reason == "" {
			return usagef("--reason is needed")
		}
		return withDatabase(ctx, env, func(d *database) error {
			p, err := processing(ctx, d, args[0])
			if err != nil {
				return err
			}
			err = payout.Sender{Pool: d.pool, Keeper: d.keeper}.FailInFlight(ctx, byHand(env, d, "payouts fail"), p, *reason)
			if err != nil {
				return err
			}
			return env.print(map[string]string{"id": p.ID, "status": "failed"}, line("%s has failed", p.ID))
		})
	}
}

// processing returns a processing payout of any organization: an operator has no tenant.
func processing(ctx context.Context, d *database, id string) (db.Payout, error) {
	p, err := queries.PayoutInFlight(ctx, d.pool, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, fmt.Errorf("no payout %q is processing", id)
	}
	return p, err
}

// batchOf returns a batch of any organization: an operator has no tenant.
func batchOf(ctx context.Context, d *database, id string) (db.PayoutBatch, error) {
	b, err := queries.BatchAcrossOrgs(ctx, d.pool, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return b, fmt.Errorf("there is no payout batch %q", id)
	}
	return b, err
}
