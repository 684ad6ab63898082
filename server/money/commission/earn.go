// Package commission turns what happened (a payment, a sign-up) into money: it reads
// what the rules ask for, lets package rules decide, and writes the sale, the
// commission, the ledger and the events in the transaction of the call. The
// API and processor integrations share it.
package commission

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/money/rules"
	"rail/server/outbound/sequence"
	"rail/server/work"
)

var queries = db.New()

// earned is a commission that rules made.
type earned struct {
	programID, partnerID, customerID string
	saleID                           *string
	choice                           rules.Choice
	rate                             rules.Rate // the rate that counted, a link's override included
	amount                           int64
	base                             *int64 // what a percentage was taken of
	currency                         string
	matureAt                         clock.Time
	enrols                           bool // a first commission starts a sequence
}

// write puts the commission, its ledger entry and its events behind the writes
// of the call.
func (e earned) write(ctx context.Context, u *work.Unit) error {
	status := rules.InitialStatus(e.choice.ApprovalMode, e.matureAt, u.Now)
	k := db.Commission{
		ID: ident.New(ident.Commission), OrgID: u.OrgID, ProgramID: e.programID, PartnerID: e.partnerID, SaleID: e.saleID,
		CustomerID: &e.customerID, FlowID: &e.choice.FlowID, FlowBranchID: e.choice.BranchID, Kind: db.CommissionKindReferral, AmountMinor: e.amount,
		RevenueMinor: e.base, RateType: &e.rate.RateType, RateValue: &e.rate.RateValue, Currency: e.currency,
		Status: status, MatureAt: &e.matureAt, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if e.choice.ApprovalMode == rules.ApproveAfterDays && e.choice.ApprovalDelayDays != nil {
		at := rules.ApprovesAt(u.Now, *e.choice.ApprovalDelayDays)
		k.ApproveAt = &at
	}
	if status != db.CommissionStatusPending {
		k.ApprovedAt = &u.Now
	}
	if err := add(ctx, u, k); err != nil || !e.enrols {
		return err
	}
	return sequence.Earned(ctx, u.Later(), k)
}

// tell records commission.created, and commission.updated where the catalogue's
// two states cannot tell the true one (decisions, 103).
func tell(u *work.Unit, k db.Commission) {
	subject := event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID}
	told := rules.CreatedEventStatus(k.Status)
	u.Record(subject, events.CommissionCreated(api.CommissionCreatedData{
		CommissionID: k.ID, SaleID: k.SaleID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency,
		Status: api.CommissionCreatedStatus(told), RuleID: k.FlowID, MatureAt: k.MatureAt,
	}))
	if told != k.Status {
		u.Record(subject, events.CommissionUpdated(api.CommissionUpdatedData{
			CommissionID: k.ID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency,
			Status: api.CommissionStatus(k.Status), PreviousStatus: api.CommissionStatus(told),
		}))
	}
}

// switchGroup moves the partner where a switch_group flow says so; it takes
// effect from the next event on (decisions, 131).
func switchGroup(
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
