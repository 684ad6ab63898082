package payout

import (
	"context"
	"encoding/json"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/money/ledger"
	"rail/server/money/report"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/event"
)

// undoWithin is how long a manual payment can be undone.
const undoWithin = 24 * time.Hour

// state has the fields of a payout before it was marked as paid, and how much refunds had clawed back from its
// commissions.
type state struct {
	Status          db.PayoutStatus `json:"status"`
	Method          *string         `json:"method"`
	ExternalID      *string         `json:"external_id"`
	ErrorCode       *string         `json:"error_code"`
	ErrorMessage    *string         `json:"error_message"`
	FailureMailedAt *clock.Time     `json:"failure_mailed_at"`
	Attention       *Attention      `json:"attention"`
	AttentionText   *string         `json:"attention_text"`
	AttentionAt     *clock.Time     `json:"attention_at"`
	ClawedMinor     int64           `json:"clawed_minor"`
}

func stateOf(p db.Payout, commissions []db.Commission) state {
	return state{
		Status: p.Status, Method: p.Method, ExternalID: p.ExternalID, ErrorCode: p.ErrorCode, ErrorMessage: p.ErrorMessage,
		FailureMailedAt: p.FailureMailedAt, Attention: p.Attention, AttentionText: p.AttentionText,
		AttentionAt: p.AttentionAt, ClawedMinor: sumClawed(commissions),
	}
}

// sumClawed sums the amounts clawed back from commissions. Deductions count with the same sign, so that they do
// not cancel rewards out.
func sumClawed(commissions []db.Commission) (sum int64) {
	for _, k := range commissions {
		sum += max(k.ClawedMinor, -k.ClawedMinor)
	}
	return sum
}

// UndoPaid reverts a manual payment (decisions, 325). It restores the payout, makes its commissions due again
// within it, and drops the partner's mail if it was not sent yet.
func UndoPaid(ctx context.Context, u *work.Unit, outbox *mail.Outbox, id, why string) (db.Payout, error) {
	p, err := lockByHand(ctx, u, id)
	if err != nil {
		return p, err
	}
	return undoPaid(ctx, u, outbox, p, why)
}

// UndoableUntil returns until when UndoPaid undoes a payment; nil for never.
func UndoableUntil(p db.Payout) *clock.Time {
	if p.Status != db.PayoutStatusPaid || p.MarkedAt == nil {
		return nil
	}
	return new(p.MarkedAt.Plus(undoWithin))
}

// undoPaid is UndoPaid for a locked payout. It refuses before it writes.
func undoPaid(ctx context.Context, u *work.Unit, outbox *mail.Outbox, p db.Payout, why string) (db.Payout, error) {
	if err := undoable(u, p); err != nil {
		return p, err
	}
	var before state
	if err := json.Unmarshal(p.BeforePaid, &before); err != nil {
		return p, err
	}
	commissions, err := queries.PayoutCommissions(ctx, u.Tx, db.PayoutCommissionsParams{PayoutID: &p.ID, OrgID: p.OrgID})
	if err != nil {
		return p, err
	}
	if sumClawed(commissions) != before.ClawedMinor {
		return p, problem.New(problem.PayoutNotUndoable,
			"A refund has clawed back money of the payment; it can no longer be undone.")
	}
	was := p
	if p, err = unpay(ctx, u, p, before, commissions); err != nil {
		return p, err
	}
	if err := outbox.Recall(ctx, u.Later(), p.OrgID, mail.PayoutPaidPurpose, p.ID); err != nil {
		return p, err
	}
	return p, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: "payout.paid_undone", TargetID: p.ID, Reason: &why,
		Before: map[string]any{"status": was.Status, "paid_at": was.PaidAt, "external_id": was.ExternalID},
		After:  map[string]any{"status": p.Status, "amount_minor": p.AmountMinor, "currency": p.Currency},
	})
}

// undoable refuses a payout that was not marked as paid manually within the last day.
func undoable(u *work.Unit, p db.Payout) error {
	switch {
	case p.Status != db.PayoutStatusPaid:
		return problem.New(problem.PayoutNotUndoable, "The payout is %s; only a payment can be undone.", p.Status)
	case p.MarkedAt == nil:
		return problem.New(problem.PayoutNotUndoable,
			"The payment was reported by a rail or a result file; only a manual one can be undone.")
	case u.Now.Sub(p.MarkedAt.Time) > undoWithin:
		return problem.New(problem.PayoutNotUndoable,
			"The payout was marked as paid at %s; a payment can be undone for 24 hours.", *p.MarkedAt)
	}
	return nil
}

// unpay reverses pay: it restores the payout's row with its attention, which prevents another submission, makes its
// commissions due, moves their money back and records the events.
func unpay(
	ctx context.Context, u *work.Unit, p db.Payout, before state, commissions []db.Commission,
) (db.Payout, error) {
	p.Status, p.Method, p.ExternalID = before.Status, before.Method, before.ExternalID
	p.ErrorCode, p.ErrorMessage = before.ErrorCode, before.ErrorMessage
	p.FailureMailedAt = before.FailureMailedAt
	p.Attention, p.AttentionText, p.AttentionAt = before.Attention, before.AttentionText, before.AttentionAt
	if err := report.Touch(ctx, u, p.ProgramID, *p.PaidAt); err != nil {
		return p, err
	}
	p.PaidAt, p.MarkedAt, p.BeforePaid, p.MarkID, p.UpdatedAt = nil, nil, nil, nil, u.Now
	err := queries.PayoutUndo(ctx, u.Later(), db.PayoutUndoParams{
		Status: p.Status, Method: p.Method, ExternalID: p.ExternalID, ErrorCode: p.ErrorCode,
		ErrorMessage: p.ErrorMessage, FailureMailedAt: p.FailureMailedAt, Attention: p.Attention,
		AttentionText: p.AttentionText, AttentionAt: p.AttentionAt, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID,
	})
	if err != nil {
		return p, err
	}
	// A trigger allows a commission to become unpaid only after its payout has.
	unsettle := db.PayoutUnsettleParams{UpdatedAt: u.Now, PayoutID: &p.ID, OrgID: p.OrgID}
	err = queries.PayoutUnsettle(ctx, u.Later(), unsettle)
	if err != nil {
		return p, err
	}
	moved := make([]ledger.Commission, len(commissions))
	for i, k := range commissions {
		k.Status = db.CommissionStatusDue
		u.Record(event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID},
			events.CommissionUpdated(api.CommissionUpdatedData{
				CommissionID: k.ID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency,
				Status: api.CommissionStatusDue, PreviousStatus: api.CommissionStatusPaid,
			}))
		moved[i] = ledger.CommissionOf(k, u.Now)
	}
	u.Record(about(p), events.PayoutUpdated(api.PayoutUpdatedData{
		PayoutID: p.ID, PartnerID: p.PartnerID, Status: api.PayoutStatus(p.Status), PreviousStatus: api.PayoutStatusPaid,
	}))
	return p, ledger.Move(ctx, u.Later(), db.CommissionStatusPaid, moved...)
}
