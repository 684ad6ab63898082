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

// Ban is the effect of a ban, done or expected.
type Ban struct {
	Partner                      db.Partner
	Money                        commission.Sweep
	LinksStopped, CouponsStopped int64
}

// PreviewBan returns the effect of a ban of the partner, and changes nothing. It counts every rejectable
// commission, even if several calls are needed.
func PreviewBan(ctx context.Context, u *work.Unit, id string) (Ban, error) {
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return Ban{}, err
	}
	if err := u.CheckProgram(p.ProgramID); err != nil {
		return Ban{}, err
	}
	if _, err := suspendedCopy(p, ""); err != nil {
		return Ban{}, err
	}
	return expectedBan(ctx, u, p)
}

// expectedBan returns the effects that a ban of the partner would have now.
func expectedBan(ctx context.Context, u *work.Unit, p db.Partner) (Ban, error) {
	out := Ban{Partner: p}
	var open commission.Unpaid
	err := u.Together(ctx,
		func(tx pgtx.DBTX) (err error) { open, err = commission.SumOpen(ctx, tx, p); return err },
		out.countLinks(ctx),
		func(tx pgtx.DBTX) (err error) {
			out.CouponsStopped, err = queries.CouponsOfPartner(ctx, tx, db.CouponsOfPartnerParams{
				ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: &p.ID,
			})
			return err
		})
	out.Money = commission.Sweep{Rejected: open.Rejectable, Kept: open.NotRejectable}
	return out, err
}

// Ban suspends a partner with a reason, rejects its unpaid commissions, turns its coupons off and, if mailReason
// is set, mails it the reason (decisions, 249). A repeated ban continues the first, and mails only a different
// reason. A ban replaces a scheduled one.
func (s *Service) Ban(ctx context.Context, u *work.Unit, id, reason string, mailReason bool) (Ban, error) {
	before, err := lockToBan(ctx, u, id)
	if err != nil {
		return Ban{}, err
	}
	out, err := rejectOpen(ctx, u, before, reason)
	if err != nil {
		return out, err
	}
	return out, s.suspend(ctx, u, before, &out, mailReason)
}

// lockToBan locks a partner so that no other transaction adds a commission.
func lockToBan(ctx context.Context, u *work.Unit, id string) (db.Partner, error) {
	// A sale locks its customer and then writes for a partner that it has not locked: with the customers locked, no
	// commission appears after the rejections.
	owner := db.PartnerLockCustomersParams{PartnerID: id, OrgID: u.OrgID}
	if err := queries.PartnerLockCustomers(ctx, u.Later(), owner); err != nil {
		return db.Partner{}, err
	}
	// The stronger lock blocks new customers, whose sign-up may pay.
	return lock(ctx, u, id, true)
}

// rejectOpen rejects the commissions of a locked partner and turns its coupons off.
func rejectOpen(ctx context.Context, u *work.Unit, before db.Partner, reason string) (Ban, error) {
	p, err := suspendedCopy(before, reason)
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
	return out, u.Read(ctx, out.countLinks(ctx))
}

// suspendedCopy returns the partner as a ban leaves it. It refuses a pending or declined partner, whose
// application decides.
func suspendedCopy(p db.Partner, reason string) (db.Partner, error) {
	to := Patch{Status: new(db.PartnerStatusSuspended)}
	to.SuspensionReason.Set(reason)
	err := patchStatus(&p, to)
	forgetBan(&p)
	return p, err
}

// suspend writes the suspension with its event, its audit entry and its mail.
func (s *Service) suspend(ctx context.Context, u *work.Unit, before db.Partner, out *Ban, tell bool) error {
	p := &out.Partner
	again := before.Status == p.Status && opt.Value(before.SuspensionReason) == *p.SuspensionReason
	if !again || before.BanAt != nil {
		p.UpdatedAt = u.Now
		if err := saveChange(ctx, u, before, *p, false); err != nil {
			return err
		}
		if tell {
			if err := s.mailBan(ctx, u, *out); err != nil {
				return err
			}
		}
	}
	return recordBan(ctx, u, before, *out)
}

// recordBan writes the event and the audit entry of a ban.
func recordBan(ctx context.Context, u *work.Unit, before db.Partner, out Ban) error {
	p := out.Partner
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

// mailBan mails the partner the reason and the effects.
func (s *Service) mailBan(ctx context.Context, u *work.Unit, b Ban) error {
	p := b.Partner
	prog, err := u.Program(ctx, p.ProgramID)
	if err != nil {
		return err
	}
	lost := mail.Lost{
		Commissions: b.Money.Rejected.Count > 0, Links: b.LinksStopped > 0, Coupons: b.CouponsStopped > 0,
	}
	m := mail.Banned(mail.ToPartner(p, prog, ""), p.ID, *p.SuspensionReason, lost, u.Now)
	return s.Mail.Queue(ctx, u.Later(), p.OrgID, m, u.Now)
}

// countLinks counts the links that stop crediting the partner.
func (b *Ban) countLinks(ctx context.Context) pgtx.Read {
	return func(tx pgtx.DBTX) (err error) {
		b.LinksStopped, err = queries.LinksOfPartner(ctx, tx, db.LinksOfPartnerParams{
			ProgramID: b.Partner.ProgramID, OrgID: b.Partner.OrgID, PartnerID: b.Partner.ID,
		})
		return err
	}
}
