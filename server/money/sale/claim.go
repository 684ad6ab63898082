package sale

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/work"
)

// Claim is the statement of an AI assistant about the partner who referred a customer, by one of two protocols.
type Claim struct {
	Affiliate  *api.AffiliateAttribution // of the Agentic Commerce Protocol, or nil
	Parameters api.AttributionParameters // of the Universal Commerce Protocol, or nil
}

// IsSet reports whether the request has a claim.
func (c Claim) IsSet() bool { return c.Affiliate != nil || c.Parameters != nil }

// PayingCustomer is the customer who paid a charge, and the record of the claim; Claim is nil without one.
type PayingCustomer struct {
	ID    string
	Claim *db.AttributionClaim
}

// note stores the claim with the sale. The claim of a repeated charge is ignored and not stored.
func (p PayingCustomer) note(ctx context.Context, u *work.Unit, out *Outcome) error {
	if p.Claim == nil {
		return nil
	}
	row := *p.Claim
	out.Claim = &row
	if out.Repeated {
		row.Status, row.Reason = db.AttributionClaimStatusIgnored, new(string(api.AttributionClaimReasonSaleRecorded))
		return nil
	}
	row.CustomerID, row.SaleID = out.Sale.CustomerID, &out.Sale.ID
	return queries.AttributionClaimInsert(ctx, u.Later(), db.AttributionClaimInsertParams(row))
}
