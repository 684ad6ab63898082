package risk

import (
	"context"

	"rail/server/clock"
	"rail/server/work"
)

// Late is a click shortly before a first payment, and an earlier click of another partner.
type Late struct {
	ClickID, PartnerID               string
	At                               clock.Time
	EarlierClickID, EarlierPartnerID string
}

// FlagLateClick opens the flag of a partner whose click came shortly before the first payment of a customer with
// an earlier click of another partner (decisions, 318).
func FlagLateClick(
	ctx context.Context, u *work.Unit, programID, customerID string, found Late, paidAt clock.Time,
) error {
	if !u.Plan.FraudMonitoring {
		return nil
	}
	return flag(ctx, u, Finding{
		ProgramID: programID, PartnerID: found.PartnerID, CustomerID: &customerID, Kind: "late_click", Severity: "medium",
		Summary: "A click came less than two minutes before the customer's first payment, after a click of another partner.",
		Signals: map[string]any{
			"click_id": found.ClickID, "earlier_click_id": found.EarlierClickID,
			"earlier_partner_id": found.EarlierPartnerID, "seconds": int64(paidAt.Sub(found.At.Time).Seconds()),
		},
	})
}
