// Package commission creates and takes back what partners earn: commissions that flows decide for a sale or a
// sign-up, manual commissions, approval and rejection, and voiding, shrinking and clawing back. Each function
// writes the row, the ledger and the events in the transaction of its unit of work.
package commission

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/rules"
	"rail/server/outbound/sequence"
	"rail/server/work"
	"rail/server/work/event"
)

var queries = db.New()

// Earning is a commission that the rules decided. Amount, Base and the refunded parts are minor units of
// Currency.
type Earning struct {
	ProgramID, PartnerID, CustomerID string
	SaleID                           *string
	Choice                           rules.Choice
	Rate                             rules.Rate // the rate applied, including a link's override
	Amount                           int64
	Base                             *int64 // what a percentage was taken of
	Shrunk, BaseShrunk               int64  // parts of Amount and Base that earlier refunds of the sale took
	Currency                         string
	MatureAt                         clock.Time
	Enrols                           bool // a first commission starts a sequence
}

// Write queues the commission, its ledger entry and its events for the commit, and returns
// its id.
func (e Earning) Write(ctx context.Context, u *work.Unit) (*string, error) {
	status := rules.InitialStatus(e.Choice.ApprovalMode, e.MatureAt, u.Now)
	k := db.Commission{
		ID: u.NewID(ident.Commission), OrgID: u.OrgID, ProgramID: e.ProgramID, PartnerID: e.PartnerID, SaleID: e.SaleID,
		CustomerID: &e.CustomerID, FlowID: &e.Choice.FlowID, FlowBranchID: e.Choice.BranchID,
		Kind: db.CommissionKindReferral, AmountMinor: e.Amount, RevenueMinor: e.Base,
		RateType: &e.Rate.RateType, RateValue: &e.Rate.RateValue, Currency: e.Currency, Status: status,
		MatureAt: &e.MatureAt, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	// A job approves the commission at that time. The time is stored since the flow may change.
	if e.Choice.ApprovalMode == rules.ApproveAfterDays && e.Choice.ApprovalDelayDays != nil {
		at := rules.ApprovesAt(u.Now, *e.Choice.ApprovalDelayDays)
		k.ApproveAt = &at
	}
	// The commission is approved automatically when it is created.
	if status != db.CommissionStatusPending {
		k.ApprovedAt = &u.Now
	}
	if err := e.add(ctx, u, k); err != nil || !e.Enrols {
		return &k.ID, err
	}
	// Two commissions in one transaction would both count as the first.
	if err := u.Claim("partner", k.PartnerID); err != nil {
		return &k.ID, err
	}
	return &k.ID, sequence.EnrolFirst(ctx, u.Later(), k)
}

// add queues the commission, then the earlier refunds of its sale.
func (e Earning) add(ctx context.Context, u *work.Unit, k db.Commission) error {
	if err := add(ctx, u, k); err != nil || e.Shrunk == 0 {
		return err
	}
	shrink := db.CommissionShrinkParams{
		PartMinor: e.Shrunk, RevenueMinor: e.revenue(), UpdatedAt: u.Now, ID: k.ID, OrgID: k.OrgID,
	}
	if err := queries.CommissionShrink(ctx, u.Later(), shrink); err != nil {
		return err
	}
	k.AmountMinor -= e.Shrunk
	return RecordShrink(ctx, u, k, e.Shrunk)
}

// Left returns the rest of Amount after earlier refunds.
func (e Earning) Left() int64 { return e.Amount - e.Shrunk }

// revenue returns the rest of Base after earlier refunds.
func (e Earning) revenue() *int64 {
	if e.Base == nil {
		return nil
	}
	return new(*e.Base - e.BaseShrunk)
}

// recordCreated records commission.created. That event knows only two states; if the status is another,
// commission.updated follows (decisions, 103).
func recordCreated(u *work.Unit, k db.Commission) {
	subject := event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID}
	first := rules.CreatedEventStatus(k.Status)
	u.Record(subject, events.CommissionCreated(api.CommissionCreatedData{
		CommissionID: k.ID, SaleID: k.SaleID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency,
		Status: api.CommissionCreatedStatus(first), RuleID: k.FlowID, MatureAt: k.MatureAt,
	}))
	if first != k.Status {
		u.Record(subject, events.CommissionUpdated(api.CommissionUpdatedData{
			CommissionID: k.ID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency,
			Status: api.CommissionStatus(k.Status), PreviousStatus: api.CommissionStatus(first),
		}))
	}
}

// SwitchGroup moves the partner to another group if a switch_group flow requires it. The move takes effect from
// the next event on (decisions, 131).
func SwitchGroup(
	ctx context.Context, u *work.Unit, programID string, status db.PartnerStatus, flows []rules.Flow, f *rules.Facts,
) error {
	to, fires := rules.SwitchTarget(flows, f)
	if !fires || f.Partner.GroupID != nil && *f.Partner.GroupID == to.TargetGroupID {
		return nil
	}
	err := queries.PartnerSetGroup(ctx, u.Later(), db.PartnerSetGroupParams{
		GroupID: &to.TargetGroupID, UpdatedAt: u.Now, ID: f.Partner.ID, OrgID: u.OrgID,
	})
	u.Record(event.Subject{ProgramID: programID, PartnerID: f.Partner.ID, ID: f.Partner.ID},
		events.AffiliateUpdated(api.AffiliateUpdatedData{PartnerID: f.Partner.ID, Status: api.PartnerStatus(status)}))
	return err
}
