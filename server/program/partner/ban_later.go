package partner

import (
	"context"
	"encoding/json"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// banTerms has what executes and undoes a scheduled ban, beside its reason and its time.
type banTerms struct {
	Mail             bool             `json:"mail"` // whether the partner is mailed the reason
	By               work.Kind        `json:"by"`   // the actor that scheduled it
	ByID             string           `json:"by_id"`
	Status           db.PartnerStatus `json:"status"`            // of the partner before it
	SuspensionReason *string          `json:"suspension_reason"` // the same
}

// termsOf returns the terms of a scheduled ban.
func termsOf(p db.Partner) (out banTerms, err error) {
	err = json.Unmarshal(p.BanTerms, &out)
	return out, err
}

// ScheduleBan suspends a partner and schedules its ban, which UndoBan undoes until then (decisions, 381). It returns
// the effects that the ban would have now. It replaces another scheduled ban, but not what UndoBan restores.
func (s *Service) ScheduleBan(
	ctx context.Context, u *work.Unit, id, reason string, mailReason bool, after time.Duration,
) (Ban, error) {
	before, err := lock(ctx, u, id, false)
	if err != nil {
		return Ban{}, err
	}
	p, err := suspendedCopy(before, reason)
	if err != nil {
		return Ban{}, err
	}
	terms := banTerms{Status: before.Status, SuspensionReason: before.SuspensionReason}
	if before.BanAt != nil {
		if terms, err = termsOf(before); err != nil {
			return Ban{}, err
		}
	}
	terms.Mail, terms.By, terms.ByID = mailReason, u.Actor.Kind, u.Actor.ID
	p.BanAt, p.BanReason = new(u.Now.Plus(after)), &reason
	if p.BanTerms, err = json.Marshal(terms); err != nil {
		return Ban{}, err
	}
	p.UpdatedAt = u.Now
	if err := saveChange(ctx, u, before, p, false); err != nil {
		return Ban{}, err
	}
	if err := auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: "partner.ban_scheduled", TargetID: p.ID, Reason: &reason,
		Before: map[string]any{"status": before.Status},
		After:  map[string]any{"status": p.Status, "ban_scheduled_at": p.BanAt},
	}); err != nil {
		return Ban{}, err
	}
	return expectedBan(ctx, u, p)
}

// UndoBan cancels a scheduled ban before its time, and gives the partner the status from before it.
func (s *Service) UndoBan(ctx context.Context, u *work.Unit, id string) (db.Partner, error) {
	before, err := lock(ctx, u, id, false)
	switch {
	case err != nil:
		return before, err
	case before.BanAt == nil:
		return before, problem.New(problem.PartnerBanNotUndoable, "No ban of the partner is scheduled.")
	case banDue(before, u.Now): // part of its commissions may be rejected already
		return before, problem.New(problem.PartnerBanNotUndoable, "The ban took effect at %s.", *before.BanAt)
	}
	was, err := termsOf(before)
	if err != nil {
		return before, err
	}
	p := before
	p.Status, p.SuspensionReason, p.UpdatedAt = was.Status, was.SuspensionReason, u.Now
	forgetBan(&p)
	if err := saveChange(ctx, u, before, p, false); err != nil {
		return p, err
	}
	return p, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: "partner.ban_undone", TargetID: p.ID, Reason: before.BanReason,
		Before: map[string]any{"status": before.Status, "ban_scheduled_at": before.BanAt},
		After:  map[string]any{"status": p.Status},
	})
}

// BanDue executes a partner's scheduled ban if it is due. Of many commissions it rejects some and reports true; the
// ban stays scheduled until none is left. The audit log names the actor that scheduled it.
func (s *Service) BanDue(ctx context.Context, u *work.Unit, id string) (more bool, err error) {
	before, err := lockToBan(ctx, u, id)
	if err != nil || !banDue(before, u.Now) { // undone, or executed by another server
		return false, work.IgnoreNoRows(err)
	}
	terms, err := termsOf(before)
	if err != nil {
		return false, err
	}
	u = u.By(work.Actor{Kind: terms.By, ID: terms.ByID})
	out, err := rejectOpen(ctx, u, before, *before.BanReason)
	if err != nil {
		return false, err
	}
	if out.Money.Remaining > 0 {
		return true, recordBan(ctx, u, before, out)
	}
	return false, s.suspend(ctx, u, before, &out, terms.Mail)
}

// banDue reports whether the time of a scheduled ban has come.
func banDue(p db.Partner, now clock.Time) bool { return p.BanAt != nil && !p.BanAt.After(now.Time) }

// forgetBan removes a scheduled ban from the partner.
func forgetBan(p *db.Partner) { p.BanAt, p.BanReason, p.BanTerms = nil, nil, nil }
