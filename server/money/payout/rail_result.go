package payout

import (
	"context"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// RailResult is the report of a Reporter's service about a payout. ExternalID, Code, Message, Fee and PaidAt are
// optional.
type RailResult struct {
	State      State     // Settled, Rejected, or InFlight with Attention
	Attention  Attention // CameBack or Reversed are reported about a paid payout
	ExternalID *string
	Code       string
	Message    string
	Fee        *int64 // in minor units of the payout's currency
	PaidAt     *clock.Time
}

// ReportResult writes the result of a payout that a webhook rail has. A repeat of the same end changes nothing; a
// result that contradicts the end is refused (decisions, 324).
func ReportResult(ctx context.Context, u *work.Unit, keeper *secret.Keeper, outbox *mail.Outbox, id string,
	r RailResult) (db.Payout, error) {
	p, err := lockByHand(ctx, u, id)
	if err != nil {
		return p, err
	}
	if opt.Value(p.Rail) != string(db.PayoutRailKindWebhook) || p.SubmittedAt == nil {
		return p, problem.New(problem.PayoutNotOnRail, "The payout was not sent by a webhook rail.")
	}
	cameBack := r.Attention == CameBack || r.Attention == Reversed
	switch {
	case r.State == InFlight && r.Attention == "":
		return p, problem.Invalid("attention", "attention is required with this status.")
	case r.State != InFlight && r.Attention != "":
		return p, problem.Invalid("attention", "attention is allowed only with the status attention.")
	case r.PaidAt != nil && r.State != Settled:
		return p, problem.Invalid("paid_at", "paid_at is allowed only for a paid payout.")
	case p.Status == db.PayoutStatusProcessing && cameBack:
		return p, problem.Invalid("attention", "The payout is not paid, so its money cannot have come back: report it as failed.")
	case p.Status == db.PayoutStatusProcessing:
		return r.write(ctx, u, keeper, outbox, p)
	case p.Status == db.PayoutStatusPaid && cameBack:
		if p.AttentionDismissedAt != nil {
			return p, nil
		}
		return attend(ctx, u, outbox, p, r.Attention)
	}
	return p, r.repeats(p)
}

// repeats refuses a result that is not the end of the payout.
func (r RailResult) repeats(p db.Payout) error {
	same := r.ExternalID == nil || opt.Value(r.ExternalID) == opt.Value(p.ExternalID)
	switch {
	case p.Status == db.PayoutStatusPaid && !(r.State == Settled && same):
		return problem.New(problem.PayoutAlreadyPaid, "The payout is paid; another result contradicts that.")
	case p.Status != db.PayoutStatusPaid && !(p.Status == db.PayoutStatusFailed && r.State == Rejected):
		return problem.New(problem.PayoutNotPayable, "The payout is %s; the result contradicts that.", p.Status)
	}
	return nil
}

// write writes the result of a processing payout.
func (r RailResult) write(ctx context.Context, u *work.Unit, keeper *secret.Keeper, outbox *mail.Outbox,
	p db.Payout) (db.Payout, error) {
	if r.Fee != nil {
		p.FeeMinor, p.FeeCurrency = r.Fee, &p.Currency
		err := queries.PayoutFee(ctx, u.Later(), db.PayoutFeeParams{
			FeeMinor: r.Fee, FeeCurrency: &p.Currency, ID: p.ID, OrgID: p.OrgID,
		})
		if err != nil {
			return p, err
		}
	}
	switch r.State {
	case Rejected:
		return fail(ctx, u, p, Status{State: Rejected, Code: r.Code, Message: r.Message})
	case Settled:
		return r.pay(ctx, u, keeper, outbox, p)
	}
	return attend(ctx, u, outbox, p, r.Attention)
}

// pay writes that the payout is paid, emails the partner, and writes the statement.
func (r RailResult) pay(ctx context.Context, u *work.Unit, keeper *secret.Keeper, outbox *mail.Outbox,
	p db.Payout) (db.Payout, error) {
	payment := Payment{ExternalID: r.ExternalID, At: u.Now, ByRail: true}
	if r.PaidAt != nil {
		var err error
		if payment.At, err = paidBetween(*p.SubmittedAt, *r.PaidAt, u.Now); err != nil {
			return p, err
		}
	}
	p, err := settle(ctx, u, p, payment)
	if err != nil {
		return p, err
	}
	return p, notifyAndIssue(ctx, u, keeper, outbox, p)
}

// clockSkew is how much the clock of a service may differ from that of the server.
const clockSkew = 5 * time.Minute

// paidBetween returns the time of a payment, which is after its submission and not in the future. A time that is
// outside by a difference of clocks alone is moved to the bound.
func paidBetween(submitted, paid, now clock.Time) (clock.Time, error) {
	switch {
	case paid.After(now.Add(clockSkew)):
		return paid, problem.Invalid("paid_at", "paid_at is in the future.")
	case paid.Before(submitted.Add(-clockSkew)):
		return paid, problem.Invalid("paid_at", "paid_at is before the payout was submitted, at %s.", submitted)
	case paid.After(now.Time):
		return now, nil
	case paid.Before(submitted.Time):
		return submitted, nil
	}
	return paid, nil
}
