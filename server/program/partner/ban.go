package partner

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/money/commission"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/program/tracking"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/event"
)

// Ban is what a ban did, or what it would do.
type Ban struct {
	Partner                      db.Partner
	Money                        commission.Sweep
	LinksStopped, CouponsStopped int64
}

// LookBan says what a ban of the partner would do, and changes nothing. All that can be
// rejected is counted, however many bans it takes.
func LookBan(ctx context.Context, u *work.Unit, id string) (Ban, error) {
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return Ban{}, err
	}
	if err := u.CheckProgram(p.ProgramID); err != nil {
		return Ban{}, err
	}
	if _, err := suspended(p, ""); err != nil {
		return Ban{}, err
	}
	out := Ban{Partner: p}
	var open commission.Open
	err = u.Together(ctx,
		func(tx pgtx.DBTX) (err error) { open, err = commission.LookOpen(ctx, tx, p); return err },
		out.countLinks(ctx),
		func(tx pgtx.DBTX) (err error) {
			out.CouponsStopped, err = queries.CouponsOfPartner(ctx, tx, db.CouponsOfPartnerParams{
				ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: &p.ID,
			})
			return err
		})
	out.Money = commission.Sweep{Rejected: open.Rejectable, Kept: open.Kept}
	return out, err
}

// Ban suspends a partner with a reason, rejects what it has earned and was not paid,
// turns its coupons off and, if tell is set, mails it the reason (decisions, 249).
// A ban again goes on with what the first one left, and mails only another reason.
func (s *Service) Ban(ctx context.Context, u *work.Unit, id, reason string, tell bool) (Ban, error) {
	// A sale locks its customer and then writes for a partner that it has not locked: with the
	// customers locked, no commission comes after those that are rejected.
	owner := db.PartnerLockCustomersParams{PartnerID: id, OrgID: u.OrgID}
	if err := queries.PartnerLockCustomers(ctx, u.Later(), owner); err != nil {
		return Ban{}, err
	}
	// The stronger lock waits for new customers, whose sign-up may pay.
	before, err := lock(ctx, u, id, true)
	if err != nil {
		return Ban{}, err
	}
	p, err := suspended(before, reason)
	if err != nil {
		return Ban{}, err
	}
	out := Ban{Partner: p}
	if out.Money, err = commission.RejectOpen(ctx, u, p, reason); err != nil {
		return out, err
	}
	stopped, err := tracking.StopCoupons(ctx, u, p)
	if err != nil {
		return out, err
	}
	out.CouponsStopped = int64(stopped)
	if err := u.Read(ctx, out.countLinks(ctx)); err != nil {
		return out, err
	}
	return out, s.suspend(ctx, u, before, &out, tell)
}

// suspended returns the partner as a ban leaves it. One that is pending or declined is
// refused, since its application decides about it.
func suspended(p db.Partner, reason string) (db.Partner, error) {
	to := Patch{Status: new(db.PartnerStatusSuspended)}
	to.SuspensionReason.Set(reason)
	err := patchStatus(&p, to)
	return p, err
}

// suspend writes that the partner is suspended, with its event, its line in the audit
// log and its mail.
func (s *Service) suspend(ctx context.Context, u *work.Unit, before db.Partner, out *Ban, tell bool) error {
	p := &out.Partner
	again := before.Status == p.Status && opt.Value(before.SuspensionReason) == *p.SuspensionReason
	if !again {
		p.UpdatedAt = u.Now
		if err := saveChange(ctx, u, before, *p, false); err != nil {
			return err
		}
		if tell {
			if err := s.tellBanned(ctx, u, *p); err != nil {
				return err
			}
		}
	}
	subject := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}
	u.Record(subject, events.AffiliateBanned(api.AffiliateBannedData{
		PartnerID: p.ID, Reason: *p.SuspensionReason, RejectedCount: out.Money.Rejected.Count,
		LinksStopped: out.LinksStopped, CouponsStopped: out.CouponsStopped,
	}))
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: "partner.banned", TargetID: p.ID, Reason: p.SuspensionReason,
		Before: map[string]any{"status": before.Status},
		After: map[string]any{
			"status": p.Status, "rejected_count": out.Money.Rejected.Count, "rejected_minor": out.Money.Rejected.Minor,
			"coupons_stopped": out.CouponsStopped,
		},
	})
}

// tellBanned mails the partner the reason.
func (s *Service) tellBanned(ctx context.Context, u *work.Unit, p db.Partner) error {
	prog, err := u.Program(ctx, p.ProgramID)
	if err != nil {
		return err
	}
	m := mail.Banned(mail.ToPartner(p, prog, ""), p.ID, *p.SuspensionReason, u.Now)
	return s.Mail.Queue(ctx, u.Later(), p.OrgID, m, u.Now)
}

// countLinks counts the links that credit the partner no longer.
func (b *Ban) countLinks(ctx context.Context) pgtx.Read {
	return func(tx pgtx.DBTX) (err error) {
		b.LinksStopped, err = queries.LinksOfPartner(ctx, tx, db.LinksOfPartnerParams{
			ProgramID: b.Partner.ProgramID, OrgID: b.Partner.OrgID, PartnerID: b.Partner.ID,
		})
		return err
	}
}
