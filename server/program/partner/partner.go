// Package partner has the rules of partners: how one joins a program, added by the merchant, by an application
// or as a customer; which changes are allowed, and to whom; and the effects of a deletion.
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
	Mail   *mail.Outbox   // sends mails to applicants; may be nil
}

// Lock locks a partner for a change that keeps its handle; other transactions can still insert rows that refer
// to it.
func Lock(ctx context.Context, u *work.Unit, id string) (db.Partner, error) {
	return lock(ctx, u, id, false)
}

// lock locks a partner for a change. A new handle or a deletion needs the stronger lock, requested by key, from
// the start: upgrading the lock later could deadlock with another transaction.
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

// recordUpdated records affiliate.updated with the partner's present state.
func recordUpdated(u *work.Unit, p db.Partner) {
	about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}
	u.Record(about, events.AffiliateUpdated(api.AffiliateUpdatedData{
		PartnerID: p.ID, Status: api.PartnerStatus(p.Status), Reason: p.SuspensionReason,
	}))
}
