package partner

import (
	"context"
	"net/mail"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/locale/plain"
	"rail/server/money/payout"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/event"
)

// maxEmail is the maximum length of a partner's address.
const maxEmail = 254

// EnrolCustomer makes a customer a partner (decisions, 89), active at once and in the default group. It refuses
// a customer without an email or with a partner's email, and a suspended one. Integrations of payment processors
// call it; no operation of the API does.
func EnrolCustomer(ctx context.Context, u *work.Unit, customerID string) (db.Partner, error) {
	// The lock keeps the email from changing before the commit.
	k, err := queries.CustomerLock(ctx, u.DB(), db.CustomerLockParams{ID: customerID, OrgID: u.OrgID})
	if err := work.Found(err, ""); err != nil {
		return db.Partner{}, err
	}
	if err := u.CheckProgram(k.ProgramID); err != nil {
		return db.Partner{}, err
	}
	// Processors report emails as typed, and a partner gets mails.
	email := opt.Value(k.Email)
	a, err := mail.ParseAddress(email)
	if err != nil || a.Address != email || len(email) > maxEmail || !plain.Addressed(email) {
		return db.Partner{}, problem.Invalid("customer_id", "The customer has no email.")
	}
	if k.Status == db.CustomerStatusSuspended {
		return db.Partner{}, problem.Invalid("customer_id", "The customer is suspended.")
	}
	// Customers have one name, which becomes the first name.
	c := Candidate{ProgramID: k.ProgramID, Email: email, FirstName: k.Name}
	if payout.NamesPayout(opt.Value(k.Name)) {
		c.FirstName = nil
	}
	p, err := enterTaxed(ctx, u, c, db.PartnerStatusActive)
	if err != nil {
		return p, err
	}
	about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: k.ID}
	u.Record(about, events.CustomerEnrolledAsPartner(api.CustomerEnrolledAsPartnerData{
		CustomerID: k.ID, PartnerID: p.ID, Handle: p.Handle, Email: p.Email, GroupID: p.GroupID, Source: "auto_enrol",
	}))
	return p, nil
}
