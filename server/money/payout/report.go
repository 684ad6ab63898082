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
	"rail/server/locale/plain"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// reportChanges bounds how many payouts one report settles or fails: each costs some round trips.
const reportChanges = 1000

// missingShown bounds the missing payouts that a report lists.
const missingShown = 500

// Report is the effect of a provider's result.
type Report struct {
	Results   []Result // in the order of the rows, one per payout
	Remaining int      // payouts left for another call
	Repeated  int      // rows superseded by another row of the same payout
	// Missing lists exported payouts without a row, at most missingShown of MissingCount.
	Missing      []db.PayoutsMissingRow
	MissingCount int64
}

// Result is the effect of one row.
type Result struct {
	Row
	Outcome RowOutcome
	Why     string
	paid    *db.Payout // the payout that the row has settled
}

// RowOutcome is the effect of a row on its payout.
type RowOutcome string

// A row settles or fails the payout, finds it so already, waits for the provider, contradicts the database, or
// names no payout of the batch.
const (
	EndedPaid      RowOutcome = "paid"
	EndedFailed    RowOutcome = "failed"
	EndedUnchanged RowOutcome = "unchanged"
	EndedWaiting   RowOutcome = "waiting"
	EndedRefused   RowOutcome = "refused"
	EndedUnknown   RowOutcome = "unknown"
)

// ReportResults settles and fails payouts of a batch according to a provider's result, as MarkPaid and
// MarkFailed do. It skips payouts that are in that state already. payment has the time of paid payouts.
func ReportResults(ctx context.Context, u *work.Unit, outbox *mail.Outbox, keeper *secret.Keeper, batchID string,
	rows []Row, payment Payment) (r Report, err error) {
	b, err := queries.BatchGet(ctx, u.DB(), db.BatchGetParams{ID: batchID, OrgID: u.OrgID})
	if err != nil {
		return r, err
	}
	if err := u.CheckProgram(b.ProgramID); err != nil {
		return r, err
	}
	if payment.At.After(u.Now.Time) {
		return r, problem.Invalid("paid_at", "paid_at is in the future.")
	}
	if err := resolve(ctx, u, b, rows); err != nil {
		return r, err
	}
	byID := byPayout(rows)
	ids := slices.Collect(maps.Keys(byID))
	all, err := queries.BatchPayoutsByIDs(ctx, u.Tx, db.BatchPayoutsByIDsParams{BatchID: b.ID, OrgID: u.OrgID, Ids: ids})
	if err != nil {
		return r, err
	}
	if err := r.count(ctx, u, b, rows, ids); err != nil {
		return r, err
	}
	changes := 0
	var paid []db.Payout
	for _, p := range all { // partner order is the order of locks
		ofPayout := byID[p.ID]
		delete(byID, p.ID)
		result := choose(p, ofPayout).judge(p)
		if result.Outcome == "" && changes == reportChanges {
			r.Remaining++
			continue
		}
		if result.Outcome == "" {
			changes++
			if result, err = apply(ctx, u, outbox, p, ofPayout, payment); err != nil {
				return r, err
			}
			if result.paid != nil {
				paid = append(paid, *result.paid)
			}
		}
		r.Results = append(r.Results, result)
	}
	r.Results = append(r.Results, unknownRows(rows, byID)...)
	slices.SortFunc(r.Results, func(a, b Result) int { return cmp.Compare(a.Line, b.Line) })
	return r, Issue(ctx, u, keeper, paid...)
}

// resolve replaces short references by the ids of the batch's payouts.
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

// count notes repeated rows, and exported payouts of the same format without a row.
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

// byPayout groups the rows that name a payout.
func byPayout(rows []Row) map[string][]Row {
	out := map[string][]Row{}
	for _, row := range rows {
		if row.PayoutID != "" {
			out[row.PayoutID] = append(out[row.PayoutID], row)
		}
	}
	return out
}

// chosen is the row that decides about a payout.
type chosen struct {
	Row
	transfers []string // the ids in all rows of the present transfer; none if all rows are of earlier ones
}

// choose returns the row that decides about a payout. Returned money was also sent, and sent money was once pending.
// Rows of transfers that failed before the payout was exported again do not count.
func choose(p db.Payout, rows []Row) (out chosen) {
	rank := []State{"", InFlight, Settled, Rejected, Returned}
	out.Row = rows[0]
	for _, row := range rows {
		if row.ExternalID != "" && slices.Contains(p.FailedTransfers, row.ExternalID) {
			continue
		}
		if len(out.transfers) == 0 || slices.Index(rank, row.State) > slices.Index(rank, out.State) {
			out.Row = row
		}
		if !slices.Contains(out.transfers, row.ExternalID) {
			out.transfers = append(out.transfers, row.ExternalID)
		}
	}
	return out
}

// ambiguous reports whether a failure in the rows may be that of a transfer that failed before: paying the payout once
// more would pay it twice.
func (row chosen) ambiguous(p db.Payout) bool {
	return len(p.FailedTransfers) > 0 && (slices.Contains(row.transfers, "") || slices.Contains(p.FailedTransfers, ""))
}

// unknownRows returns the rows without a payout of the batch.
func unknownRows(rows []Row, others map[string][]Row) (out []Result) {
	for _, row := range rows {
		switch other, ok := others[row.PayoutID]; {
		case !row.namesPayout():
			out = append(out, Result{Row: row, Outcome: EndedUnknown, Why: "Its reference names no payout."})
		case row.PayoutID == "", ok && other[0].Line == row.Line:
			out = append(out, Result{Row: row, Outcome: EndedUnknown, Why: "It names no payout of this batch."})
		}
	}
	return out
}

// judge decides on a row that leaves the payout unchanged; the outcome is empty for other rows.
func (row chosen) judge(p db.Payout) Result {
	failed := row.State == Rejected || row.State == Returned
	r := Result{Row: row.Row}
	switch {
	case len(row.transfers) == 0:
		r.Outcome, r.Why = EndedUnchanged, "It is the result of a transfer that failed before."
	case row.Word == "":
		r.Outcome, r.Why = EndedRefused, "The row has no state."
	case row.State == "":
		r.Outcome, r.Why = EndedRefused, fmt.Sprintf("The state %q is unknown.", plain.Cut(row.Word, 100))
	case row.State == InFlight:
		r.Outcome, r.Why = EndedWaiting, "The provider says "+plain.Cut(row.Word, 100)+"."
	case row.State == Settled && p.Status == db.PayoutStatusPaid, failed && p.Status == db.PayoutStatusFailed:
		r.Outcome = EndedUnchanged
	case failed && p.Status == db.PayoutStatusProcessing && row.ambiguous(p):
		r.Outcome, r.Why = EndedRefused, "The payout failed before, and this may be the result of its earlier transfer. "+
			"Mark it as paid or failed yourself."
	default:
		if r.Why = row.disagrees(p); r.Why != "" {
			r.Outcome = EndedRefused
		}
	}
	return r
}

// apply settles or fails a payout by its rows. If that is not allowed, the refusal becomes the row's result.
func apply(ctx context.Context, u *work.Unit, outbox *mail.Outbox, p db.Payout, rows []Row,
	payment Payment) (Result, error) {
	p, err := lock(ctx, u, p)
	row := choose(p, rows) // the payout may have changed since it was read
	if errors.Is(err, pgx.ErrNoRows) {
		return Result{Row: row.Row, Outcome: EndedUnknown, Why: "The payout has just been deleted."}, nil
	}
	if err != nil {
		return Result{}, err
	}
	if r := row.judge(p); r.Outcome != "" {
		return r, nil
	}
	r := Result{Row: row.Row, Outcome: EndedPaid}
	if row.State == Settled {
		if row.ExternalID != "" {
			payment.ExternalID = &row.ExternalID
		}
		p, err = settleByHand(ctx, u, outbox, p, payment)
		r.paid = &p
	} else {
		r.Outcome, r.Why = EndedFailed, cmp.Or(plain.Cut(row.Reason, 1000), "The provider says "+plain.Cut(row.Word, 100)+".")
		_, err = failByHand(ctx, u, p, Status{State: row.State, Message: r.Why}, row.transfers...)
	}
	// Both refuse before they write.
	if refused, ok := errors.AsType[*problem.Error](err); ok {
		return Result{Row: row.Row, Outcome: EndedRefused, Why: refused.Message}, nil
	}
	return r, err
}

// disagrees explains how the row's amount or currency contradicts the payout, if it has them.
func (row Row) disagrees(p db.Payout) string {
	if row.Currency != "" && row.Currency != p.Currency {
		return fmt.Sprintf("It is in %s, and the payout in %s.", plain.Cut(row.Currency, 20), p.Currency)
	}
	if row.Amount == "" {
		return ""
	}
	if minor, ok := minorOf(row.Amount, currency.Digits(p.Currency)); !ok || minor != p.AmountMinor {
		return fmt.Sprintf("Its amount is %s, and the payout's %s %s.", plain.Cut(row.Amount, 40),
			currency.Decimal(p.AmountMinor, p.Currency), p.Currency)
	}
	return ""
}

// minorOf parses an amount as people and banks write it, without its sign: with a point or a comma before the
// decimals, and either between the thousands.
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
