package payout

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/locale/currency"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// Formats are the supported files. A service's file has the payouts of the method of that name; CSV is a table
// for people and banks.
var Formats = []string{"paypal", "wise", CSV}

// CSV is the general format, of no particular service.
const CSV = "csv"

// headings are the first rows of a file.
var headings = map[string][][]string{
	"wise": {{
		"name", "recipientEmail", "paymentReference", "receiverType", "amountCurrency", "amount", "sourceCurrency",
		"targetCurrency",
	}},
	// The payer fills in the last three; ReadResults reads them.
	CSV: {{
		"payout_id", "name", "email", "method", "amount", "currency", "details", "status", "transaction_id", "reason",
	}},
}

// FileLimits are the row limits of each service.
var FileLimits = map[string]int{"paypal": 5000, "wise": 1000, CSV: 5000}

// fileCurrencies are the currencies that a service pays; a service without a list pays all. PayPal documents its
// list. Wise's changes often, and Wise refuses other currencies at upload.
var fileCurrencies = map[string][]string{"paypal": {
	"AUD", "BRL", "CAD", "CHF", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "ILS", "JPY", "MXN", "MYR", "NOK", "NZD", "PHP", "PLN",
	"SEK", "SGD", "THB", "TWD", "USD",
}}

// fileWhole are the currencies that a service pays in whole units only, although ISO 4217 gives them decimals.
var fileWhole = map[string][]string{"paypal": {"HUF", "TWD"}}

// unpayable returns why a service cannot pay an amount, or "".
func unpayable(format string, amountMinor int64, code string) string {
	pays := fileCurrencies[format]
	switch {
	case len(pays) > 0 && !slices.Contains(pays, code):
		return "PayPal does not pay " + code + ": pay it another way and mark it as paid"
	case slices.Contains(fileWhole[format], code) && amountMinor%step(code) != 0:
		return fmt.Sprintf("PayPal pays %s in whole units, and %s is not one: pay it another way and mark it as paid",
			code, currency.Decimal(amountMinor, code))
	}
	return ""
}

// step returns a whole unit of a currency, in minor units.
func step(code string) (unit int64) {
	unit = 1
	for range currency.Digits(code) {
		unit *= 10
	}
	return unit
}

// File is an export of a batch: its unpaid payouts of one method and one currency, for PayPal Payouts
// (recipient, amount, currency, reference, note, wallet; no heading), for Wise batch payments (the template for
// recipients with an email), or as a table. The recipient is the address in the partner's payout details, else
// the partner's email.
//
// An exported payout is in flight, so that a refund claws it back: it is processing until it is marked as paid
// or failed (decisions, 234).
type File struct {
	Pool     *pgxpool.Pool // for Write only
	Keeper   *secret.Keeper
	Rails    []Rail // their methods are in no file
	Batch    db.PayoutBatch
	Format   string // one of Formats
	Method   string // of a CSV; empty means every method without a file format, and none
	Currency string // may be empty if the batch has only one
	New      bool   // without the rows of earlier files
	// HoldOnHighRisk excludes partners with an open high risk flag.
	HoldOnHighRisk bool
}

// ExportResult describes the content of a file.
type ExportResult struct {
	Rows        int
	AmountMinor int64
	Currency    string // empty if there is nothing to write
	Repeated    int    // how many of them were in an earlier file
	Left        []Omission
	Other       []db.PayoutUnpaidCountsRow // unpaid payouts of other methods
}

// Omission is a payout of the method that is not in the file, with the reason. If Elsewhere is set, it belongs
// in another file.
type Omission struct {
	PayoutID, PartnerID, Why string
	Elsewhere                bool
}

// methods returns the methods of the file's payouts; "" is no method.
func (f File) methods() []string {
	switch {
	case f.Format != CSV:
		return []string{f.Format}
	case f.Method != "":
		return []string{f.Method}
	}
	out := []string{""}
	for _, m := range []api.PayoutMethod{api.PayoutMethodBankTransfer, api.PayoutMethodCrypto, api.PayoutMethodWire} {
		if f.paidBy(string(m)) == nil {
			out = append(out, string(m))
		}
	}
	return out
}

// paidBy refuses a method that a rail pays: partners would be paid twice.
func (f File) paidBy(method string) error {
	for _, r := range f.Rails {
		if slices.Contains(r.Methods(), method) {
			return problem.New(problem.PayoutRailPays, "The rail %s pays %s payouts: a file of them would pay them twice.",
				r.Name(), method)
		}
	}
	return nil
}

// Write writes the file, a page of payouts at a time. A page is written after its payouts are committed as
// processing. After a crash, another export writes the same rows, and no written payout can still be lowered.
func (f File) Write(ctx context.Context, u *work.Unit, w io.Writer) (done ExportResult, err error) {
	if err := f.begin(ctx, f.Pool, &done); err != nil {
		return done, err
	}
	out := csv.NewWriter(w)
	_ = out.WriteAll(headings[f.Format]) // Error returns it
	for after := ""; ; {
		var rows [][]string
		err := u.For(f.Batch.OrgID).Within(ctx, func(u *work.Unit) error {
			// A retried transaction must not count twice: the counts go into a copy, which is used only after the
			// commit.
			so := done
			some, next, err := f.page(ctx, u, after, pageSize, &so)
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

// Export is File.Text with an entry in the audit log.
func Export(ctx context.Context, u *work.Unit, f File) (text string, done ExportResult, more bool, err error) {
	if text, done, more, err = f.Text(ctx, u); err != nil {
		return "", done, false, err
	}
	return text, done, more, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: f.Batch.ProgramID, Action: "payout_batch.exported", TargetID: f.Batch.ID, After: map[string]any{
			"format": f.Format, "payout_count": done.Rows, "amount_minor": done.AmountMinor, "currency": opt.OrNil(done.Currency),
		},
	})
}

// Text returns the file's text, with as many rows as the service accepts, and reports whether more payouts need
// another file. It works in the call's transaction.
func (f File) Text(ctx context.Context, u *work.Unit) (text string, done ExportResult, more bool, err error) {
	if err := f.begin(ctx, u.Tx, &done); err != nil {
		return "", done, false, err
	}
	rows := slices.Clone(headings[f.Format])
	for after := ""; ; {
		some, next, err := f.page(ctx, u, after, min(pageSize, FileLimits[f.Format]-done.Rows), &done)
		if err != nil {
			return "", done, false, err
		}
		rows, after = append(rows, some...), next
		if after == "" || done.Rows == FileLimits[f.Format] {
			var out strings.Builder
			err := csv.NewWriter(&out).WriteAll(rows)
			return out.String(), done, after != "", err
		}
	}
}

// Name returns a file name.
func (f File) Name(currency string) string {
	parts := []string{"payouts", f.Batch.PeriodMonth.Format("2006-01"), f.Format, f.Method, strings.ToLower(currency)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "-") + ".csv"
}

// begin refuses methods that a rail pays, a batch that is being generated, and a batch with several currencies
// unless one is chosen. It notes the unpaid payouts of other methods.
func (f File) begin(ctx context.Context, tx db.DBTX, done *ExportResult) error {
	for _, m := range f.methods() {
		if err := f.paidBy(m); err != nil {
			return err
		}
	}
	if err := checkGenerated(ctx, tx, f.Batch); err != nil {
		return err
	}
	rail := inFile
	rows, err := queries.PayoutUnpaidCounts(ctx, tx, db.PayoutUnpaidCountsParams{
		BatchID: f.Batch.ID, OrgID: f.Batch.OrgID, Rail: &rail,
	})
	var found []string
	for _, r := range rows {
		if slices.Contains(f.methods(), opt.Value(r.Method)) {
			found = append(found, r.Currency)
		} else {
			done.Other = append(done.Other, r)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if err == nil && f.Currency == "" && len(found) > 1 {
		err = problem.Invalid("currency", "The batch has payouts in %s: choose one currency, since a file has one.",
			strings.Join(found, ", "))
	}
	if done.Currency = f.Currency; f.Currency == "" && len(found) == 1 {
		done.Currency = found[0]
	}
	return err
}

// checkGenerated refuses a batch that is still being generated.
func checkGenerated(ctx context.Context, tx db.DBTX, b db.PayoutBatch) error {
	generating, err := queries.BatchesGenerating(ctx, tx, db.BatchesGeneratingParams{
		ProgramID: b.ProgramID, Ids: []string{b.ID}, OrgID: b.OrgID,
	})
	if err == nil && len(generating) > 0 {
		err = problem.New(problem.PayoutBatchGenerating, "The batch is still being generated: try again when it is complete.")
	}
	return err
}

// page marks the next payouts as processing, and returns their rows and the next cursor, if any.
func (f File) page(ctx context.Context, u *work.Unit, after string, size int,
	done *ExportResult) (rows [][]string, next string, err error) {
	rail := inFile
	payees, err := queries.PayoutsToFile(ctx, u.Tx, db.PayoutsToFileParams{
		BatchID: f.Batch.ID, OrgID: f.Batch.OrgID, After: after, Rail: &rail, Methods: f.methods(),
		Fresh: f.New, Lim: int32(size),
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
		rows, done.AmountMinor = append(rows, cells), done.AmountMinor+p.Payout.AmountMinor
		// It is processing already; there is nothing to change or record.
		if filed(p.Payout) {
			done.Repeated++
			continue
		}
		taken = append(taken, p.Payout.ID)
		u.Record(about(p.Payout), events.PayoutUpdated(api.PayoutUpdatedData{
			PayoutID: p.Payout.ID, PartnerID: p.Payout.PartnerID,
			Status: api.PayoutStatusProcessing, PreviousStatus: api.PayoutStatus(p.Payout.Status),
		}))
	}
	done.Rows += len(rows)
	if len(payees) == size {
		next = payees[size-1].Payout.ID
	}
	if len(taken) == 0 {
		return rows, next, nil
	}
	filed := db.PayoutsSetFiledParams{Rail: &rail, Now: &u.Now, Ids: taken, OrgID: f.Batch.OrgID}
	return rows, next, queries.PayoutsSetFiled(ctx, u.Later(), filed)
}

// row returns the row of a payout, or the reason for having none.
func (f File) row(p db.PayoutsToFileRow) ([]string, Omission, error) {
	details, err := f.detailsOf(p.Partner)
	if err != nil {
		return nil, Omission{}, fmt.Errorf("payout %s: %w", p.Payout.ID, err)
	}
	to := Recipient(f.Format, details, p.Partner.Email)
	left := f.omission(p, to)
	if filed(p.Payout) && left.Why != "" {
		left.Why += "; it was in an earlier file"
	}
	if f.Format == CSV {
		return table(p, details), left, nil
	}
	return cells(f.Format, p, to), left, nil
}

// omission returns why a payout is not in the file, if it is not.
func (f File) omission(p db.PayoutsToFileRow, to string) Omission {
	left := Omission{PayoutID: p.Payout.ID, PartnerID: p.Partner.ID}
	method, wanted := cmp.Or(opt.Value(p.Payout.Method), "no method"), cmp.Or(opt.Value(p.Partner.PayoutMethod), "no method")
	switch {
	case f.Currency != "" && p.Payout.Currency != f.Currency:
		left.Why, left.Elsewhere = "it is in "+p.Payout.Currency, true
	case p.Partner.Status != db.PartnerStatusActive:
		left.Why = "its partner is " + string(p.Partner.Status)
	case method != wanted:
		left.Why = fmt.Sprintf("it was created for %s, and its partner has chosen %s since", method, wanted)
	case f.HoldOnHighRisk && p.Held:
		left.Why = "a high risk flag of its partner is open"
	case f.Format != CSV && !Payable(f.Format, to):
		left.Why = "its recipient is not a valid address"
	default:
		left.Why = unpayable(f.Format, p.Payout.AmountMinor, p.Payout.Currency)
	}
	return left
}

// EachInFile calls work for each payout of a batch that left in a file and is still in flight. A failure does
// not stop the others.
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

// addresses are the recipients that each service accepts: emails, and PayPal's payer ids. None can be read as a
// formula by a spreadsheet.
var addresses = map[string]*regexp.Regexp{
	"paypal": regexp.MustCompile(`^(` + mailbox + `|[A-Z0-9]{13})$`),
	"wise":   regexp.MustCompile(`^` + mailbox + `$`),
}

// Payable reports whether a service, a key of FileLimits, accepts the address.
func Payable(service, address string) bool { return addresses[service].MatchString(address) }

// mailbox matches an email address as a recipient. It begins with a letter or a digit, so that spreadsheets do
// not read it as a formula.
const mailbox = "[A-Za-z0-9][A-Za-z0-9.!#$%&'*/=?^_`{|}~+-]*@[A-Za-z0-9.-]+"

// shortLength is the length of a short reference: the random end of a payout's id, of 62 bits and more.
const shortLength = 16

// shortID returns a payout's reference in the file for Wise, which passes it to banks: some accept 18
// characters, and no underscores. ReadResults finds the payout by it.
func shortID(payoutID string) string {
	return "P" + strings.ToUpper(payoutID[max(0, len(payoutID)-shortLength):])
}

// cells returns the columns of the service's template. One of them is the payout's reference, which matches rows
// of the service's report.
func cells(format string, p db.PayoutsToFileRow, email string) []string {
	amount := currency.Decimal(p.Payout.AmountMinor, p.Payout.Currency)
	if slices.Contains(fileWhole[format], p.Payout.Currency) {
		amount, _, _ = strings.Cut(amount, ".") // omission checked that only zeros follow
	}
	if format == "paypal" {
		return []string{email, amount, p.Payout.Currency, p.Payout.ID, "", "PAYPAL"}
	}
	kind := "PERSON"
	if p.Partner.CompanyName != nil {
		kind = "INSTITUTION"
	}
	return []string{
		escapeFormula(NameOf(p.Partner)), email, shortID(p.Payout.ID), kind, "target", amount, p.ProgramCurrency, p.Payout.Currency,
	}
}

// table returns the columns of a CSV.
func table(p db.PayoutsToFileRow, details map[string]any) []string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(details)) {
		members = append(members, name+": "+detailText(details[name]))
	}
	return []string{
		p.Payout.ID, escapeFormula(NameOf(p.Partner)), escapeFormula(p.Partner.Email), opt.Value(p.Payout.Method),
		currency.Decimal(p.Payout.AmountMinor, p.Payout.Currency), p.Payout.Currency,
		escapeFormula(strings.Join(members, "; ")),
		"", "", "",
	}
}

// detailText returns a payout detail as its partner wrote it: a number keeps all its digits, and an object is JSON.
func detailText(detail any) string {
	if text, ok := detail.(string); ok {
		return text
	}
	text, err := json.Marshal(detail)
	if err != nil {
		return fmt.Sprint(detail) // not reached: it was parsed from JSON
	}
	return string(text)
}

// detailsOf returns the payout details of a partner, if any.
func (f File) detailsOf(p db.Partner) (map[string]any, error) {
	raw, err := DetailsOf(f.Keeper, p)
	if err != nil || raw == nil {
		return nil, err
	}
	return decodeDetails(raw)
}

// escapeFormula keeps a spreadsheet from reading a name as a formula. Banks read the file too, so it removes the sign
// and adds no apostrophe.
func escapeFormula(s string) string {
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s), "=+-@ ")
}
