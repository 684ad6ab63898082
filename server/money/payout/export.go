package payout

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/currency"
	"rail/server/opt"
	"rail/server/secret"
	"rail/server/work"
)

// Formats are the files that there are; each has the payouts of
// the method of its name.
var Formats = []string{"paypal", "wise"}

// headings are the first rows of a file.
var headings = map[string][][]string{
	"wise": {{
		"name", "recipientEmail", "paymentReference", "receiverType", "amountCurrency", "amount", "sourceCurrency",
		"targetCurrency", "type",
	}},
}

// FileLimits are the most rows that the service takes in one file.
var FileLimits = map[string]int{"paypal": 5000, "wise": 1000}

// File is the export of a batch: its unpaid payouts of one method and one currency,
// as the file that PayPal Payouts (recipient, amount, currency, reference, note,
// wallet; no heading) or Wise batch payments (the "send by email" template) take.
// The recipient is the address in the partner's payout details, or else the
// partner's own.
//
// What is written is out of reach from then on, so that a refund claws it back: it
// is processing until it is marked as paid or failed (decisions, 234).
type File struct {
	Pool     *pgxpool.Pool
	Keeper   *secret.Keeper
	Batch    db.PayoutBatch
	Format   string // one of Formats
	Currency string // empty where the batch has one only
	New      bool   // without what an earlier file has
	// HoldOnHighRisk leaves out partners with an open high risk flag.
	HoldOnHighRisk bool
}

// Written says what a file has and has not.
type Written struct {
	Rows  int
	Again int // of these, how many an earlier file had already
	Left  []Left
	Other []db.PayoutsUnpaidRow // unpaid payouts of other methods
}

// Left is a payout of the method that is not in the file, and why. One that is only
// Elsewhere is meant for another file.
type Left struct {
	PayoutID, Why string
	Elsewhere     bool
}

// Write writes the file, a page of payouts at a time. A page is written once its
// payouts are known to be on their way: whatever ends the process, another export
// writes the same rows again, and no row is of a payout that can still be lowered.
func (f File) Write(ctx context.Context, u *work.Unit, w io.Writer) (done Written, err error) {
	if done.Other, err = f.unpaid(ctx); err != nil {
		return done, err
	}
	out := csv.NewWriter(w)
	_ = out.WriteAll(headings[f.Format]) // Error returns it
	for after := ""; ; {
		var rows [][]string
		err := u.For(f.Batch.OrgID).Within(ctx, func(u *work.Unit) error {
			// A run that lost a race is done again, so its counts go into a copy that is kept
			// only if it was committed.
			so := done
			some, next, err := f.page(ctx, u, after, &so)
			if err == nil {
				rows, done, after = some, so, next
			}
			return err
		})
		if err != nil {
			return done, err
		}
		_ = out.WriteAll(rows) // Error returns it
		if err := out.Error(); err != nil || after == "" {
			return done, err
		}
	}
}

// unpaid refuses a batch that is still being generated, and one with several
// currencies, unless one is chosen. It returns what is unpaid of other methods.
func (f File) unpaid(ctx context.Context) (other []db.PayoutsUnpaidRow, err error) {
	generating, err := queries.BatchesGenerating(ctx, f.Pool, db.BatchesGeneratingParams{
		ProgramID: f.Batch.ProgramID, Ids: []string{f.Batch.ID}, OrgID: f.Batch.OrgID,
	})
	if err == nil && len(generating) > 0 {
		err = errors.New("the batch is still being generated: export it once that is done")
	}
	if err != nil {
		return nil, err
	}
	rail := inFile
	rows, err := queries.PayoutsUnpaid(ctx, f.Pool, db.PayoutsUnpaidParams{
		BatchID: f.Batch.ID, OrgID: f.Batch.OrgID, Rail: &rail,
	})
	var found []string
	for _, r := range rows {
		if opt.Value(r.Method) == f.Format {
			found = append(found, r.Currency)
		} else {
			other = append(other, r)
		}
	}
	if err == nil && f.Currency == "" && len(found) > 1 {
		err = fmt.Errorf("the batch has payouts in %s: choose one with --currency, since a file has one",
			strings.Join(found, ", "))
	}
	return other, err
}

// page takes the next payouts out of reach, and returns their rows and where to go
// on, if anywhere.
func (f File) page(ctx context.Context, u *work.Unit, after string,
	done *Written) (rows [][]string, next string, err error) {
	rail := inFile
	payees, err := queries.PayoutsToFile(ctx, u.Tx, db.PayoutsToFileParams{
		BatchID: f.Batch.ID, OrgID: f.Batch.OrgID, After: after, Rail: &rail, Method: &f.Format, Lim: pageSize,
	})
	if err != nil {
		return nil, "", err
	}
	var taken []string
	for _, p := range payees {
		cells, left, err := f.row(p)
		if err != nil {
			return nil, "", err
		}
		if left.Why != "" {
			done.Left = append(done.Left, left)
			continue
		}
		rows = append(rows, cells)
		// It is processing since the earlier file; there is nothing to change or record.
		if filed(p.Payout) {
			done.Again++
			continue
		}
		taken = append(taken, p.Payout.ID)
		u.Record(about(p.Payout), events.PayoutUpdated(api.PayoutUpdatedData{
			PayoutID: p.Payout.ID, PartnerID: p.Payout.PartnerID,
			Status: api.PayoutStatusProcessing, PreviousStatus: api.PayoutStatus(p.Payout.Status),
		}))
	}
	done.Rows += len(rows)
	if len(payees) == pageSize {
		next = payees[pageSize-1].Payout.ID
	}
	if len(taken) == 0 {
		return rows, next, nil
	}
	filed := db.PayoutsFiledParams{Rail: &rail, Now: u.Now, Ids: taken, OrgID: f.Batch.OrgID}
	return rows, next, queries.PayoutsFiled(ctx, u.Later(), filed)
}

// row is the row of a payout, or why it has none.
func (f File) row(p db.PayoutsToFileRow) ([]string, Left, error) {
	to, err := recipient(f.Format, f.Keeper, p.Partner)
	if err != nil {
		return nil, Left{}, fmt.Errorf("payout %s: %w", p.Payout.ID, err)
	}
	left := f.leaves(p, to)
	switch {
	case filed(p.Payout) && left.Why != "":
		left.Why += "; it has left in an earlier file"
	case filed(p.Payout) && f.New:
		left.Why, left.Elsewhere = "it has left in an earlier file", true
	}
	return cells(f.Format, p, to), left, nil
}

// leaves says why a payout is not in the file, if it is not.
func (f File) leaves(p db.PayoutsToFileRow, to string) Left {
	left := Left{PayoutID: p.Payout.ID}
	made, wanted := cmp.Or(opt.Value(p.Payout.Method), "no method"), cmp.Or(opt.Value(p.Partner.PayoutMethod), "no method")
	switch {
	case f.Currency != "" && p.Payout.Currency != f.Currency:
		left.Why, left.Elsewhere = "it is in "+p.Payout.Currency, true
	case p.Partner.Status != db.PartnerStatusActive:
		left.Why = "its partner is " + string(p.Partner.Status)
	case made != wanted:
		left.Why = fmt.Sprintf("it was made for %s, and its partner now wants %s", made, wanted)
	case f.HoldOnHighRisk && p.Held:
		left.Why = "a high risk flag of its partner is open"
	case !Payable(f.Format, to):
		left.Why = "its recipient is no address"
	}
	return left
}

// EachInFile does work on each payout of a batch that left in a file and has had no
// end yet. One that fails delays no other.
func EachInFile(ctx context.Context, pool *pgxpool.Pool, b db.PayoutBatch, work func(db.Payout) error) error {
	rail := inFile
	var failed []error
	for after := ""; ; {
		rows, err := queries.PayoutsInFile(ctx, pool, db.PayoutsInFileParams{
			BatchID: b.ID, OrgID: b.OrgID, After: after, Rail: &rail, Lim: pageSize,
		})
		if err != nil || len(rows) == 0 {
			return errors.Join(append(failed, err)...)
		}
		for _, p := range rows {
			after, failed = p.ID, append(failed, work(p))
		}
	}
}

// addresses are what each service pays to: emails, and PayPal's payer ids.
// Nothing that a spreadsheet would read as a formula is among them.
var addresses = map[string]*regexp.Regexp{
	"paypal": regexp.MustCompile(`^(` + mailbox + `|[A-Z0-9]{13})$`),
	"wise":   regexp.MustCompile(`^` + mailbox + `$`),
}

// Payable reports whether a service, a key of FileLimits, pays to such an address.
func Payable(service, address string) bool { return addresses[service].MatchString(address) }

// mailbox is the form of an email that is paid to. It begins with a letter or a digit,
// so that no spreadsheet takes the cell for a formula.
const mailbox = "[A-Za-z0-9][A-Za-z0-9.!#$%&'*/=?^_`{|}~+-]*@[A-Za-z0-9.-]+"

// details are the members of the payout details that may be the address.
var details = map[string][]string{"paypal": {"email", "paypal_email", "payer_id"}, "wise": {"email", "wise_email"}}

// cells are the columns of the service's own template. The payout's id is the reference,
// by which a row of the service's report is found again.
func cells(format string, p db.PayoutsToFileRow, email string) []string {
	amount := currency.Decimal(p.Payout.AmountMinor, p.Payout.Currency)
	if format == "paypal" {
		return []string{email, amount, p.Payout.Currency, p.Payout.ID, "", "PAYPAL"}
	}
	kind := "PERSON"
	if p.Partner.CompanyName != nil {
		kind = "INSTITUTION"
	}
	return []string{
		harmless(NameOf(p.Partner)), email, p.Payout.ID, kind, "target", amount, p.ProgramCurrency, p.Payout.Currency,
		"EMAIL",
	}
}

// recipient is the address in the payout details, or the partner's own.
func recipient(format string, keeper *secret.Keeper, p db.Partner) (string, error) {
	raw, err := DetailsOf(keeper, p)
	if err != nil || raw == nil {
		return p.Email, err
	}
	var given map[string]any
	if err := json.Unmarshal(raw, &given); err != nil {
		return "", err
	}
	for _, name := range details[format] {
		if to, ok := given[name].(string); ok && to != "" {
			return to, nil
		}
	}
	return p.Email, nil
}

// harmless keeps a spreadsheet from reading a name as a formula.
func harmless(s string) string {
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s), "=+-@ ")
}
