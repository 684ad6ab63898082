// Package payout collects due commissions into monthly payouts, and settles, lowers and deletes them. Every
// function works in the call's transaction, with the partner locked before the payout.
package payout

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/money/ledger"
	"rail/server/money/report"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/event"
)

var queries = db.New()

// Payment is the method, the external id and the time of a payment.
type Payment struct {
	Method, ExternalID *string
	At                 clock.Time
	ByHand             bool // a person marked it, who can undo that for a day
	ByRail             bool // the payout's rail reported it
}

// Settle marks a payout as paid that is pending, failed, or was exported to a file: its commissions become paid,
// their money moves from due to paid, and the events record it, payout.paid last. The payment cannot precede the
// payout's oldest sale.
func Settle(ctx context.Context, u *work.Unit, p db.Payout, payment Payment) (db.Payout, error) {
	if err := markable(p); err != nil {
		return p, err
	}
	return settle(ctx, u, p, payment)
}

// settle is Settle for a payout whose state allows it.
func settle(ctx context.Context, u *work.Unit, p db.Payout, payment Payment) (db.Payout, error) {
	commissions, err := queries.PayoutCommissions(ctx, u.Tx, db.PayoutCommissionsParams{PayoutID: &p.ID, OrgID: p.OrgID})
	if err != nil {
		return p, err
	}
	sold, err := queries.PayoutOldestSale(ctx, u.Tx, db.PayoutOldestSaleParams{PayoutID: &p.ID, OrgID: p.OrgID})
	if err != nil {
		return p, err
	}
	if payment.At.Before(sold.Truncate(time.Millisecond)) { // at the precision of answers
		return p, problem.Invalid("paid_at", "paid_at is before the oldest sale of the payout, at %s.", sold)
	}
	return pay(ctx, u, p, commissions, payment)
}

// pay writes that a payout and its commissions are paid.
func pay(ctx context.Context, u *work.Unit, p db.Payout, commissions []db.Commission,
	payment Payment) (db.Payout, error) {
	if payment.ByHand {
		var err error
		if p.BeforePaid, err = json.Marshal(stateOf(p, commissions)); err != nil {
			return p, err
		}
		p.MarkedAt, p.MarkID = &u.Now, &u.RequestID
	}
	failed := p.Status == db.PayoutStatusFailed
	p.FailureMailedAt, p.Attention, p.AttentionText, p.AttentionAt = nil, nil, nil, nil
	p.Status, p.PaidAt, p.ErrorCode, p.ErrorMessage, p.UpdatedAt = db.PayoutStatusPaid, &payment.At, nil, nil, u.Now
	// Fields that the payment leaves out keep the payout's values.
	if payment.Method != nil {
		p.Method = payment.Method
	}
	switch {
	case payment.ExternalID != nil:
		p.ExternalID = payment.ExternalID
	case failed: // its reference is of the transfer that failed
		p.ExternalID = nil
	}
	err := queries.PayoutSetPaid(ctx, u.Later(), db.PayoutSetPaidParams{
		Method: p.Method, ExternalID: p.ExternalID, PaidAt: p.PaidAt, MarkedAt: p.MarkedAt, BeforePaid: p.BeforePaid,
		MarkID: p.MarkID, KeepsRail: payment.ByRail || payment.ByHand, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID,
	})
	if err != nil {
		return p, err
	}
	if err := report.Touch(ctx, u, p.ProgramID, payment.At); err != nil {
		return p, err
	}
	if err := queries.PayoutSettle(ctx, u.Later(),
		db.PayoutSettleParams{UpdatedAt: u.Now, PayoutID: &p.ID, OrgID: p.OrgID}); err != nil {
		return p, err
	}
	moved := make([]ledger.Commission, len(commissions))
	for i, k := range commissions {
		subject := event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID}
		u.Record(subject, events.CommissionPaid(api.CommissionPaidData{
			CommissionID: k.ID, PartnerID: k.PartnerID, PayoutID: p.ID, AmountMinor: k.AmountMinor, Currency: k.Currency,
			PaidAt: *p.PaidAt,
		}))
		k.Status = db.CommissionStatusPaid
		moved[i] = ledger.CommissionOf(k, u.Now)
	}
	u.Record(about(p), events.PayoutPaid(api.PayoutPaidData{
		PayoutID: p.ID, PartnerID: p.PartnerID, AmountMinor: p.AmountMinor, Currency: p.Currency,
		Method: (*api.PayoutMethod)(p.Method), ExternalID: p.ExternalID, PaidAt: *p.PaidAt,
	}))
	return p, ledger.Move(ctx, u.Later(), db.CommissionStatusDue, moved...)
}

// Notify mails the partner about a paid payout, unless the partner opted out (decisions, 54). The mail about a
// manual payment is delayed, so that UndoPaid can drop it.
func Notify(ctx context.Context, u *work.Unit, outbox *mail.Outbox, p db.Payout) error {
	if outbox == nil || !outbox.Configured {
		return nil
	}
	partner, err := queries.PartnerGet(ctx, u.Tx, db.PartnerGetParams{ID: p.PartnerID, OrgID: p.OrgID})
	if err != nil || !partner.EmailPayoutPaid {
		return err
	}
	prog, err := u.Program(ctx, p.ProgramID)
	if err != nil {
		return err
	}
	m := mail.PayoutPaid(mail.ToPartner(partner, prog, ""), p.ID, p.AmountMinor, p.Currency)
	if p.MarkedAt != nil {
		m.Hold = mail.DecisionHold
	}
	return outbox.Queue(ctx, u.Later(), p.OrgID, m, u.Now)
}

// notifyAndIssue emails the partner about a paid payout, and writes its statement, which comes last in a unit.
func notifyAndIssue(ctx context.Context, u *work.Unit, keeper *secret.Keeper, outbox *mail.Outbox, p db.Payout) error {
	if err := Notify(ctx, u, outbox, p); err != nil {
		return err
	}
	return Issue(ctx, u, keeper, p)
}

// Remove deletes a payout that is neither paid nor in flight; its commissions are due again.
func Remove(ctx context.Context, u *work.Unit, p db.Payout) error {
	switch p.Status {
	case db.PayoutStatusProcessing:
		return inFlight(p)
	case db.PayoutStatusPaid:
		return problem.New(problem.PayoutAlreadyPaid, "The payout is paid; it cannot be deleted.")
	}
	if err := queries.PayoutRelease(ctx, u.Later(),
		db.PayoutReleaseParams{UpdatedAt: u.Now, PayoutID: &p.ID, OrgID: p.OrgID}); err != nil {
		return err
	}
	u.Record(about(p), events.PayoutDeleted(api.PayoutDeletedData{PayoutID: p.ID, PartnerID: p.PartnerID}))
	return queries.PayoutDelete(ctx, u.Later(), db.PayoutDeleteParams{ID: p.ID, OrgID: p.OrgID})
}

// Lower subtracts an amount from the open payout of a commission, before the commission leaves it or shrinks. A
// payout with nothing left is deleted, and its other commissions are due again (decisions, 100). It reports
// whether the money is out of reach: paid, or in flight.
func Lower(ctx context.Context, u *work.Unit, payoutID string, amount int64) (outOfReach bool, err error) {
	p, err := queries.PayoutLock(ctx, u.Tx, db.PayoutLockParams{ID: payoutID, OrgID: u.OrgID})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil // deleted when another commission left it
	}
	if err != nil {
		return false, err
	}
	if p.Status == db.PayoutStatusProcessing || p.Status == db.PayoutStatusPaid {
		return true, nil
	}
	if p.AmountMinor -= amount; p.AmountMinor <= 0 {
		return false, Remove(ctx, u, p)
	}
	return false, queries.PayoutLower(ctx, u.Later(), db.PayoutLowerParams{
		AmountMinor: p.AmountMinor, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID,
	})
}

// Enter adds the amount of a commission to an open payout, before Attach puts the commission into it. It reports
// whether the payout is still open: one with nothing left is deleted.
func Enter(ctx context.Context, u *work.Unit, payoutID string, amount int64) (open bool, err error) {
	p, err := queries.PayoutLock(ctx, u.Tx, db.PayoutLockParams{ID: payoutID, OrgID: u.OrgID})
	if err != nil || p.Status == db.PayoutStatusProcessing || p.Status == db.PayoutStatusPaid {
		return false, pgtx.First([]error{err}) // not found if it was deleted in the meantime
	}
	if p.AmountMinor += amount; p.AmountMinor <= 0 {
		return false, Remove(ctx, u, p)
	}
	return true, queries.PayoutLower(ctx, u.Later(), db.PayoutLowerParams{
		AmountMinor: p.AmountMinor, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID,
	})
}

// Attach puts a due commission into a payout.
func Attach(ctx context.Context, u *work.Unit, payoutID, commissionID string) error {
	return queries.PayoutsAttach(ctx, u.Later(), db.PayoutsAttachParams{
		PayoutIds: []string{payoutID}, Ids: []string{commissionID}, Now: u.Now, OrgID: u.OrgID,
	})
}

// about returns the subject of a payout's events.
func about(p db.Payout) event.Subject {
	return event.Subject{ProgramID: p.ProgramID, PartnerID: p.PartnerID, ID: p.ID}
}
