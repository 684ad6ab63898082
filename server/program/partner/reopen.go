package partner

import (
	"context"
	"encoding/json"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/outbound/mail"
	"rail/server/outbound/sequence"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/event"
)

// standing has the fields of a partner that a decision on its application changes.
type standing struct {
	Status        db.PartnerStatus `json:"status"`
	DeclineReason *string          `json:"decline_reason"`
}

// decidable reports whether a decision changes a partner with that status.
func decidable(status db.PartnerStatus) bool {
	return status == db.PartnerStatusPending || status == db.PartnerStatusDeclined
}

// Reopen undoes the decision on an application within mail.DecisionHold, and restores its partner. It drops the mails
// about the decision that were not sent yet. A partner that was changed since, or that has a customer or a commission,
// keeps the decision.
func (s *Service) Reopen(ctx context.Context, u *work.Unit, id string) (db.Application, error) {
	a, err := queries.ApplicationGet(ctx, u.Tx, db.ApplicationGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return a, err
	}
	if err := u.CheckProgram(a.ProgramID); err != nil {
		return a, err
	}
	if a.PartnerID == nil {
		return a, notReopenable("The application is %s; only a decision can be undone.", a.Status)
	}
	// The stronger lock blocks new customers of the partner.
	p, err := lock(ctx, u, *a.PartnerID, true)
	if err != nil {
		return a, err
	}
	if a, err = queries.ApplicationLock(ctx, u.Tx, db.ApplicationLockParams{ID: id, OrgID: u.OrgID}); err != nil {
		return a, err
	}
	before, err := reopenable(ctx, u, a, p)
	if err != nil {
		return a, err
	}
	return s.reopen(ctx, u, a, p, before)
}

// reopenable returns the partner's standing before the decision, or why the decision cannot be undone.
func reopenable(ctx context.Context, u *work.Unit, a db.Application, p db.Partner) (before standing, err error) {
	if a.ReviewedAt == nil || a.BeforeDecision == nil {
		return before, notReopenable("The application is %s; only a decision can be undone.", a.Status)
	}
	if u.Now.Sub(a.ReviewedAt.Time) > mail.DecisionHold {
		return before, notReopenable("The application was decided more than 10 minutes ago.")
	}
	if err := json.Unmarshal(a.BeforeDecision, &before); err != nil {
		return before, err
	}
	if !decidable(before.Status) {
		return before, nil // the decision has not changed the partner
	}
	// A later change of the partner has a later time.
	if !p.UpdatedAt.Equal(a.ReviewedAt.Time) || p.BanAt != nil {
		return before, notReopenable("The partner was changed after the decision.")
	}
	gained, err := queries.PartnerHasCustomerOrCommission(ctx, u.Tx, db.PartnerHasCustomerOrCommissionParams{
		ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID,
	})
	if err == nil && gained {
		err = notReopenable("The partner has a customer or a commission already.")
	}
	return before, err
}

func notReopenable(why string, parts ...any) error {
	return problem.New(problem.ApplicationNotReopenable, why, parts...)
}

// reopen writes the application and its partner as they were before the decision.
func (s *Service) reopen(ctx context.Context, u *work.Unit, a db.Application, p db.Partner,
	before standing) (db.Application, error) {
	was, decidedAt := a.Status, *a.ReviewedAt
	a.Status, a.ReviewedByUserID, a.ReviewedAt, a.RejectionReason = db.ApplicationStatusPending, nil, nil, nil
	a.BeforeDecision, a.UpdatedAt = nil, u.Now
	err := queries.ApplicationReopen(ctx, u.Later(), db.ApplicationReopenParams{
		UpdatedAt: u.Now, ID: a.ID, OrgID: a.OrgID,
	})
	if err != nil {
		return a, err
	}
	if decidable(before.Status) {
		if err := restore(ctx, u, p, before); err != nil {
			return a, err
		}
		if err := sequence.UnenrolApproved(ctx, u.Later(), p, decidedAt); err != nil {
			return a, err
		}
	}
	for _, purpose := range []string{mail.ApprovedPurpose, mail.RejectedPurpose} {
		if err := s.Mail.Recall(ctx, u.Later(), a.OrgID, purpose, decisionKey(a.ID, decidedAt)); err != nil {
			return a, err
		}
	}
	return a, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: a.ProgramID, Action: "application.reopened", TargetID: a.ID,
		Before: map[string]db.ApplicationStatus{"status": was},
		After:  map[string]db.ApplicationStatus{"status": a.Status},
	})
}

// restore gives a partner its earlier standing, and signs it out.
func restore(ctx context.Context, u *work.Unit, p db.Partner, to standing) error {
	if err := queries.PartnerDecide(ctx, u.Later(), db.PartnerDecideParams{
		Status: to.Status, DeclineReason: to.DeclineReason, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID,
	}); err != nil {
		return err
	}
	if err := endSessions(ctx, u, p); err != nil {
		return err
	}
	about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}
	u.Record(about, events.AffiliateUpdated(api.AffiliateUpdatedData{
		PartnerID: p.ID, Status: api.PartnerStatus(to.Status), Reason: to.DeclineReason,
	}))
	return nil
}
