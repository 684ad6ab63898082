package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/locale/currency"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/work"
)

// reportChanges is how many payouts one report ends at most: each costs some round trips.
const reportChanges = 1000

// missingShown is how many payouts a report lists that no row names.
const missingShown = 500

// Report is what became of the rows of a provider's result.
type Report struct {
	Results   []Result // in the order of the rows, one a payout
	Remaining int      // payouts that another call must end
	Repeated  int      // rows that did not count, since another row of the same payout did
	// Missing are payouts that left in a file and that no row names, at most missingShown of
	// MissingCount.
	Missing      []db.PayoutsMissingRow
	MissingCount int64
}

// Result is what became of a row.
type Result struct {
	Row
	Outcome Ended
	Why     string
}

// Ended is what a row of a provider's result did.
type Ended string

// A row ends the payout, finds it ended so, waits for the provider, contradicts what is known,
// or is of no payout of the batch.
const (
	EndedPaid      Ended = "paid"
	EndedFailed    Ended = "failed"
	EndedUnchanged Ended = "unchanged"
	EndedWaiting   Ended = "waiting"
	EndedRefused   Ended = "refused"
	EndedUnknown   Ended = "unknown"
)

// ReportResults ends payouts of a batch as a provider's result says, as MarkPaid and MarkFailed
// do, and does nothing where they have ended so. payment says when what is paid was paid.
func ReportResults(ctx context.Context, u *work.Unit, outbox *mail.Outbox, batchID string, rows []Row,
	payment Payment) (r Report, err error) {
	b, err := queries.BatchGet(ctx, u.DB(), db.BatchGetParams{ID: batchID, OrgID: u.OrgID})
	if err != nil {
		return r, err
	}
	if err := u.CheckProgram(b.ProgramID); err != nil {
		return r, err
	}
	if payment.At.After(u.Now.Time) {
		return r, problem.Invalid("paid_at", "paid_at lies in the future.")
	}
	if err := resolve(ctx, u, b, rows); err != nil {
		return r, err
	}
	byID := decisive(rows)
	ids := slices.Collect(maps.Keys(byID))
	known, err := queries.PayoutsReported(ctx, u.Tx, db.PayoutsReportedParams{BatchID: b.ID, OrgID: u.OrgID, Ids: ids})
	if err != nil {
		return r, err
	}
	if err := r.count(ctx, u, b, rows, ids); err != nil {
		return r, err
	}
	changes := 0
	for _, p := range known { // in the order of their partners, which are locked one by one
		row := byID[p.ID]
		delete(byID, p.ID)
		result := row.judge(p)
		if result.Outcome == "" && changes == reportChanges {
			r.Remaining++
			continue
		}
		if result.Outcome == "" {
			changes++
			if result, err = row.apply(ctx, u, outbox, p, payment); err != nil {
				return r, err
			}
		}
		r.Results = append(r.Results, result)
	}
	r.Results = append(r.Results, strangers(rows, byID)...)
	slices.SortFunc(r.Results, func(a, b Result) int { return cmp.Compare(a.Line, b.Line) })
	return r, nil
}

// resolve gives rows with a short reference the id of the batch's payout that it is of.
func resolve(ctx context.Context, u *work.Unit, b db.PayoutBatch, rows []Row) error {
	var shorts []string
	for _, row := range rows {
		if row.Short != "" {
			shorts = append(shorts, row.Short)
		}
	}
	if len(shorts) == 0 {
		return nil
	}
	ids, err := queries.PayoutsOfReferences(ctx, u.Tx, db.PayoutsOfReferencesParams{
		BatchID: b.ID, OrgID: u.OrgID, Shorts: shorts,
	})
	of := map[string]string{}
	for _, id := range ids {
		of[id[len(id)-shortLength:]] = id
	}
	for i, row := range rows {
		if row.Short != "" {
			rows[i].PayoutID = of[row.Short]
		}
	}
	return err
}

// count notes what is in no result: repeated rows, and the payouts that left in a file of the
// same kind and that no row names.
func (r *Report) count(ctx context.Context, u *work.Unit, b db.PayoutBatch, rows []Row, ids []string) (err error) {
	for _, row := range rows {
		if row.PayoutID != "" {
			r.Repeated++
		}
	}
	r.Repeated -= len(ids)
	rail := inFile
	r.Missing, err = queries.PayoutsMissing(ctx, u.Tx, db.PayoutsMissingParams{
		BatchID: b.ID, OrgID: u.OrgID, Ids: ids, Rail: &rail, Lim: missingShown,
	})
	if len(r.Missing) > 0 {
		r.MissingCount = r.Missing[0].Total
	}
	return err
}

// decisive takes of several rows of a payout the one that counts: money that came back was also
// sent, and what was sent was once under way.
func decisive(rows []Row) map[string]Row {
	rank := []State{"", InFlight, Settled, Rejected, Returned}
	out := map[string]Row{}
	for _, row := range rows {
		before, known := out[row.PayoutID]
		if row.PayoutID != "" && (!known || slices.Index(rank, row.State) > slices.Index(rank, before.State)) {
			out[row.PayoutID] = row
		}
	}
	return out
}

// strangers are the rows that are of no payout of the batch.
func strangers(rows []Row, others map[string]Row) (out []Result) {
	for _, row := range rows {
		switch other, ok := others[row.PayoutID]; {
		case !row.named():
			out = append(out, Result{Row: row, Outcome: EndedUnknown, Why: "Its reference names no payout."})
		case row.PayoutID == "", ok && other.Line == row.Line:
			out = append(out, Result{Row: row, Outcome: EndedUnknown, Why: "It names no payout of this batch."})
		}
	}
	return out
}

// judge says what becomes of a row that changes nothing of the payout; its outcome is empty for
// one that does.
func (row Row) judge(p db.Payout) Result {
	failed := row.State == Rejected || row.State == Returned
	r := Result{Row: row}
	switch {
	case row.Word == "":
		r.Outcome, r.Why = EndedRefused, "The row has no state."
	case row.State == "":
		r.Outcome, r.Why = EndedRefused, fmt.Sprintf("The state %q is not known here.", clip(row.Word, 100))
	case row.State == InFlight:
		r.Outcome, r.Why = EndedWaiting, "The provider says "+clip(row.Word, 100)+"."
	case row.State == Settled && p.Status == db.PayoutStatusPaid, failed && p.Status == db.PayoutStatusFailed:
		r.Outcome = EndedUnchanged
	default:
		if r.Why = row.disagrees(p); r.Why != "" {
			r.Outcome = EndedRefused
		}
	}
	return r
}

// apply ends the payout as the row says. What may not be is the row's refusal.
func (row Row) apply(ctx context.Context, u *work.Unit, outbox *mail.Outbox, p db.Payout,
	payment Payment) (Result, error) {
	p, err := lock(ctx, u, p)
	if errors.Is(err, pgx.ErrNoRows) {
		return Result{Row: row, Outcome: EndedUnknown, Why: "The payout has just been deleted."}, nil
	}
	if err != nil {
		return Result{}, err
	}
	// It may have had its end since it was read.
	if r := row.judge(p); r.Outcome != "" {
		return r, nil
	}
	r := Result{Row: row, Outcome: EndedPaid}
	if row.State == Settled {
		if row.ExternalID != "" {
			payment.ExternalID = &row.ExternalID
		}
		_, err = settleByHand(ctx, u, outbox, p, payment)
	} else {
		r.Outcome, r.Why = EndedFailed, cmp.Or(clip(row.Reason, 1000), "The provider says "+clip(row.Word, 100)+".")
		_, err = failByHand(ctx, u, p, Status{State: row.State, Message: r.Why})
	}
	// Both refuse before they write anything.
	if refused, ok := errors.AsType[*problem.Error](err); ok {
		return Result{Row: row, Outcome: EndedRefused, Why: refused.Message}, nil
	}
	return r, err
}

// disagrees says how the row contradicts the payout's amount or currency, if it tells them.
func (row Row) disagrees(p db.Payout) string {
	if row.Currency != "" && row.Currency != p.Currency {
		return fmt.Sprintf("It is in %s, and the payout in %s.", clip(row.Currency, 20), p.Currency)
	}
	if row.Amount == "" {
		return ""
	}
	if minor, ok := minorOf(row.Amount, currency.Digits(p.Currency)); !ok || minor != p.AmountMinor {
		return fmt.Sprintf("It is of %s, and the payout of %s %s.", clip(row.Amount, 40),
			currency.Decimal(p.AmountMinor, p.Currency), p.Currency)
	}
	return ""
}

// minorOf reads an amount as people and banks write it, without its sign: with a point or a
// comma before the decimals, and either between the thousands.
func minorOf(s string, digits int) (int64, bool) {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r == '.':
			return r
		case r == ',':
			return '.'
		}
		return -1
	}, s)
	whole, decimals := s, ""
	// Three digits after the last point are thousands, unless the currency has as many.
	if i := strings.LastIndexByte(s, '.'); i >= 0 && (len(s)-i-1 != 3 || digits == 3) {
		whole, decimals = s[:i], strings.TrimRight(s[i+1:], "0")
	}
	if len(decimals) > digits || s == "" {
		return 0, false
	}
	minor, err := strconv.ParseInt(
		strings.ReplaceAll(whole, ".", "")+decimals+strings.Repeat("0", digits-len(decimals)), 10, 64)
	return minor, err == nil
}
