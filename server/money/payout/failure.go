package payout

import (
	"context"

	"rail/gen/db"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// EmailFailure emails the partner why its payout has failed, once for each failure.
func EmailFailure(ctx context.Context, u *work.Unit, outbox *mail.Outbox, id string) (db.Payout, error) {
	p, err := lockByHand(ctx, u, id)
	if err != nil {
		return p, err
	}
	switch {
	case p.Status != db.PayoutStatusFailed:
		return p, problem.New(problem.PayoutNotFailed,
			"The payout is %s; only a failed payout has a failure to report.", p.Status)
	case p.FailureMailedAt != nil:
		return p, problem.New(problem.PayoutFailureEmailed,
			"The partner was emailed about this failure at %s.", *p.FailureMailedAt)
	case !outbox.Ready():
		return p, mail.Unconfigured()
	}
	partner, err := queries.PartnerGet(ctx, u.Tx, db.PartnerGetParams{ID: p.PartnerID, OrgID: p.OrgID})
	if err != nil {
		return p, err
	}
	prog, err := u.Program(ctx, p.ProgramID)
	if err != nil {
		return p, err
	}
	p.FailureMailedAt, p.UpdatedAt = &u.Now, u.Now
	of := db.PayoutSetFailureMailedParams{Now: &u.Now, ID: p.ID, OrgID: p.OrgID}
	if err := queries.PayoutSetFailureMailed(ctx, u.Later(), of); err != nil {
		return p, err
	}
	to := mail.ToPartner(partner, prog, "")
	m := mail.PayoutFailed(to, p.ID+" "+u.Now.String(), p.AmountMinor, p.Currency, PartnerReason(to.Locale, p))
	if err := outbox.Queue(ctx, u.Later(), p.OrgID, m, u.Now); err != nil {
		return p, err
	}
	return p, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: "payout.failure_emailed", TargetID: p.ID,
	})
}
