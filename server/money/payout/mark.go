package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"rail/gen/db"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

const (
	// maxMarked bounds how many payouts one call of MarkAll or UndoAll changes.
	maxMarked = 2 * pageSize
	// maxNamed bounds the payouts that a Marking names.
	maxNamed = 20
	// maxRefused bounds the refusals that it has.
	maxRefused = 100
)

// Selection is the payouts that a request marks as paid: those with IDs, or those of a batch that can be paid outside
// of rails.
type Selection struct {
	ProgramID        string
	IDs              []string
	BatchID          string
	Currency, Method string // of the batch's payouts; empty for all
	NoMethod         bool   // only those without a method
	Count, Minor     *int64 // the expected number and sum; nil for any
}

// Marking is the result of MarkAll or UndoAll.
type Marking struct {
	Done      []db.Payout // the first of them
	Names     map[string]string
	Sums      []Sum // by currency
	Refused   []Refused
	Count     int64
	NotDone   int64 // how many were refused
	Remaining int64 // how many another call can change
	sums      map[string]Sum
}

// Refused is a payout that a call has left as it was.
type Refused struct {
	PayoutID string
	Code     problem.Code
	Why      string
}

// selected is a payout before it is locked.
type selected = db.PayoutAmountsByIDsRow

// MarkAll marks payouts as paid as MarkPaid does, in the order of their partners. Payouts that cannot be marked are
// refused one by one. A payment time before the oldest sale of one of them refuses the whole request. A dry run
// returns the result and changes nothing.
func MarkAll(ctx context.Context, u *work.Unit, outbox *mail.Outbox, keeper *secret.Keeper, of Selection,
	payment Payment, dry bool) (Marking, error) {
	found, err := of.find(ctx, u)
	if err != nil {
		return Marking{}, err
	}
	if payment.At.After(u.Now.Time) {
		return Marking{}, problem.Invalid("paid_at", "paid_at is in the future.")
	}
	payment.ByHand = true
	var paid []db.Payout
	m, err := each(ctx, u, found, func(p db.Payout) error {
		if dry {
			return markable(p)
		}
		p, err := settleByHand(ctx, u, outbox, p, payment)
		if err == nil {
			paid = append(paid, p)
		}
		return err
	})
	if err != nil {
		return m, err
	}
	if err := of.confirm(m); err != nil {
		return m, err
	}
	if err := m.name(ctx, u); err != nil {
		return m, err
	}
	return m, Issue(ctx, u, keeper, paid...)
}

// UndoAll undoes the payments that a request has marked, as UndoPaid does for one.
func UndoAll(ctx context.Context, u *work.Unit, outbox *mail.Outbox, programID, markID, why string) (Marking, error) {
	if _, err := u.Program(ctx, programID); err != nil {
		return Marking{}, err
	}
	rows, err := queries.PayoutAmountsByMark(ctx, u.DB(), db.PayoutAmountsByMarkParams{
		ProgramID: programID, OrgID: u.OrgID, MarkID: &markID,
	})
	if err != nil {
		return Marking{}, err
	}
	found := make([]selected, len(rows))
	for i, row := range rows {
		found[i] = selected(row)
	}
	return each(ctx, u, found, func(p db.Payout) error {
		if p.MarkID == nil || *p.MarkID != markID { // undone since it was read, and perhaps marked again
			return problem.New(problem.PayoutNotUndoable, "The payment was undone already.")
		}
		_, err := undoPaid(ctx, u, outbox, p, why)
		return err
	})
}

// find reads the selected payouts, in the order of their locks.
func (of Selection) find(ctx context.Context, u *work.Unit) (found []selected, err error) {
	if (len(of.IDs) == 0) == (of.BatchID == "") {
		return nil, problem.Invalid("payout_ids", "Either payout_ids or batch_id selects the payouts.")
	}
	if _, err := u.Program(ctx, of.ProgramID); err != nil {
		return nil, err
	}
	if len(of.IDs) > 0 {
		found, err = queries.PayoutAmountsByIDs(ctx, u.DB(), db.PayoutAmountsByIDsParams{
			Ids: of.IDs, OrgID: u.OrgID, ProgramID: of.ProgramID,
		})
		if err != nil {
			return nil, err
		}
		for i, id := range of.IDs {
			if !slices.ContainsFunc(found, func(p selected) bool { return p.ID == id }) {
				return nil, problem.NotFound(fmt.Sprintf("payout_ids[%d]", i))
			}
		}
		return found, nil
	}
	b, err := queries.BatchGet(ctx, u.DB(), db.BatchGetParams{ID: of.BatchID, OrgID: u.OrgID})
	if err := work.Found(err, "batch_id"); err != nil {
		return nil, err
	}
	if b.ProgramID != of.ProgramID {
		return nil, problem.NotFound("batch_id")
	}
	rail := inFile
	rows, err := queries.PayoutsToMark(ctx, u.DB(), db.PayoutsToMarkParams{
		BatchID: of.BatchID, OrgID: u.OrgID, Rail: &rail, Currency: of.Currency, Method: of.Method, NoMethod: of.NoMethod,
	})
	for _, row := range rows {
		found = append(found, selected(row))
	}
	return found, err
}

// confirm refuses a marking that the caller did not expect.
func (of Selection) confirm(m Marking) error {
	count, minor := m.Count, int64(0)
	for _, s := range m.Sums {
		minor += s.AmountMinor
	}
	if of.Count != nil && *of.Count != count {
		return problem.On("confirm_count", problem.ConfirmationDiffers,
			"%d payouts with %d minor units would be marked, not %d payouts.", count, minor, *of.Count)
	}
	if of.Minor != nil && *of.Minor != minor {
		return problem.On("confirm_amount_minor", problem.ConfirmationDiffers,
			"%d payouts with %d minor units would be marked, not %d minor units.", count, minor, *of.Minor)
	}
	return nil
}

// each locks the partners of payouts and then the payouts, and does one thing with each. A refusal of one payout, which
// must come before its writes, changes no other.
func each(ctx context.Context, u *work.Unit, found []selected, do func(db.Payout) error) (Marking, error) {
	m := Marking{Names: map[string]string{}, sums: map[string]Sum{}}
	if len(found) > maxMarked {
		m.Remaining = int64(len(found) - maxMarked)
		found = found[:maxMarked]
	}
	for some := range slices.Chunk(found, pageSize) {
		payouts, err := lockAll(ctx, u, some)
		if err != nil {
			return m, err
		}
		for _, p := range payouts {
			err := do(p)
			refused, ok := errors.AsType[*problem.Error](err)
			switch {
			case ok && refused.Param == "": // a refused parameter is the fault of the request
				m.refuse(p, refused)
			case err != nil:
				return m, err
			default:
				m.add(p)
			}
		}
	}
	m.Sums = slices.SortedFunc(maps.Values(m.sums), func(a, b Sum) int { return cmp.Compare(a.Currency, b.Currency) })
	return m, nil
}

// lockAll locks the partners of payouts, and then the payouts.
func lockAll(ctx context.Context, u *work.Unit, some []selected) (payouts []db.Payout, err error) {
	ids, partners := make([]string, len(some)), make([]string, len(some))
	for i, p := range some {
		ids[i], partners[i] = p.ID, p.PartnerID
	}
	err = u.Together(ctx,
		func(tx pgtx.DBTX) error {
			return queries.PartnersLock(ctx, tx, db.PartnersLockParams{Ids: partners, OrgID: u.OrgID})
		},
		func(tx pgtx.DBTX) (err error) {
			payouts, err = queries.PayoutsLock(ctx, tx, db.PayoutsLockParams{Ids: ids, OrgID: u.OrgID})
			return err
		})
	return payouts, err
}

// add counts a changed payout.
func (m *Marking) add(p db.Payout) {
	m.Count++
	sum := m.sums[p.Currency]
	m.sums[p.Currency] = Sum{p.Currency, sum.Payouts + 1, sum.AmountMinor + p.AmountMinor}
	if len(m.Done) < maxNamed {
		m.Done = append(m.Done, p)
	}
}

// refuse counts a payout that stays.
func (m *Marking) refuse(p db.Payout, why *problem.Error) {
	if m.NotDone++; len(m.Refused) < maxRefused {
		m.Refused = append(m.Refused, Refused{p.ID, why.Code, why.Message})
	}
}

// name reads the names of the partners of m.Done.
func (m *Marking) name(ctx context.Context, u *work.Unit) error {
	ids := make([]string, len(m.Done))
	for i, p := range m.Done {
		ids[i] = p.PartnerID
	}
	partners, err := queries.PartnerByIDs(ctx, u.DB(), db.PartnerByIDsParams{Ids: ids, OrgID: u.OrgID})
	for _, p := range partners {
		m.Names[p.ID] = NameOf(p)
	}
	return err
}
