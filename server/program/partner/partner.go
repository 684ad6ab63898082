// Package partner has the rules of who takes part in a program: how somebody
// becomes a partner, added by hand, by an application or as a customer; what may
// change of a partner, and by whom; and what is deleted with a partner.
package partner

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/outbound/mail"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/event"
)

var queries = db.New()

// Service has the rules that need more than a unit of work.
type Service struct {
	Keeper *secret.Keeper // seals payout details
	Mail   *mail.Outbox   // takes the mails to applicants; nil for none
}

// Lock locks a partner for a change.
// It is for changes that leave the handle as it is; rows that refer to the partner can
// be inserted meanwhile.
func Lock(ctx context.Context, u *work.Unit, id string) (db.Partner, error) {
	return lock(ctx, u, id, false)
}

// lock locks a partner for a change. A change of its handle or its deletion
// needs the stronger lock, asked for with key, from the start: a transaction
// that asks for it later could deadlock with another.
func lock(ctx context.Context, u *work.Unit, id string, key bool) (db.Partner, error) {
	var p db.Partner
	var err error
	if key {
		p, err = queries.PartnerLockKey(ctx, u.DB(), db.PartnerLockKeyParams{ID: id, OrgID: u.OrgID})
	} else {
		p, err = queries.PartnerLock(ctx, u.DB(), db.PartnerLockParams{ID: id, OrgID: u.OrgID})
	}
	if err != nil {
		return p, err
	}
	return p, u.CheckProgram(p.ProgramID)
}

// recordUpdated records affiliate.updated with the partner's state as it is now.
func recordUpdated(u *work.Unit, p db.Partner) {
	about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}
	u.Record(about, events.AffiliateUpdated(api.AffiliateUpdatedData{
		PartnerID: p.ID, Status: api.PartnerStatus(p.Status), Reason: p.SuspensionReason,
	}))
}
