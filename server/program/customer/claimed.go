package customer

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/money/sale"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/claim"
	"rail/server/program/tracking"
	"rail/server/work"
	"rail/server/work/metadata"
)

// Claims of AI assistants come from outside with a checkout, so they refuse no customer and no sale. An invalid claim
// is ignored and recorded (decisions, 466).

// signUpClaimed signs up a customer with a claim. Another route precedes the claim. If the claim does not count, the
// customer has no partner.
func (s Service) signUpClaimed(ctx context.Context, u *work.Unit, in Input, out *Created) (inserted bool, err error) {
	c, err := s.Claims.Read(ctx, u, in.ProgramID, in.Claim)
	if err != nil {
		return false, err
	}
	if in.Route.IsSet() {
		c.Ignore(api.AttributionClaimReasonOtherRoute)
		out.Customer, inserted, err = s.signUpCompared(ctx, u, in, &out.Others)
	} else {
		inserted, err = s.signUpBy(ctx, u, in, &c, out)
	}
	if err != nil || !inserted {
		return inserted, err
	}
	c.Row.CustomerID, out.Claim = out.Customer.ID, &c.Row
	return true, queries.AttributionClaimInsert(ctx, u.Later(), db.AttributionClaimInsertParams(c.Row))
}

// signUpBy signs up a customer by a claim alone.
func (s Service) signUpBy(
	ctx context.Context, u *work.Unit, in Input, c *claim.Claim, out *Created,
) (inserted bool, err error) {
	if c.Counts() {
		in.Route = tracking.Route{Agent: &c.Agent}
		out.Customer, inserted, err = s.signUpCompared(ctx, u, in, &out.Others)
		if err = ignore(c, err); err != nil || c.Counts() {
			return inserted, err
		}
	}
	in.Route = tracking.Route{}
	if err := metadata.Check(in.Metadata, "metadata"); err != nil {
		return false, err
	}
	if out.Customer, err = newDirect(u, in); err != nil {
		return false, err
	}
	if inserted, err = insert(ctx, u, out.Customer, &out.Others); err != nil || !inserted {
		return false, err
	}
	return true, retryPayments(ctx, u, out.Customer)
}

// ignore ignores a claim whose partner is refused, before anything is written. It returns every other error.
func ignore(c *claim.Claim, err error) error {
	switch {
	case problem.Is(err, problem.PartnerNotActive):
		c.Ignore(api.AttributionClaimReasonPartnerNotActive)
	case problem.Is(err, problem.SelfReferralBlocked): // its flag stays
		c.Ignore(api.AttributionClaimReasonSelfReferral)
	case Unfit(err):
		c.Ignore(api.AttributionClaimReasonPartnerNotFound)
	default:
		return err
	}
	return nil
}

// claimingPayer is Payer for a payment with a claim.
func (s Service) claimingPayer(
	ctx context.Context, u *work.Unit, programID, chargeID string, by payer,
) (sale.PayingCustomer, error) {
	c, err := s.Claims.Read(ctx, u, programID, by.Claim)
	if err != nil {
		return sale.PayingCustomer{}, err
	}
	out := sale.PayingCustomer{Claim: &c.Row}
	if by.route.IsSet() {
		c.Ignore(api.AttributionClaimReasonOtherRoute)
		out.ID, err = s.payer(ctx, u, programID, chargeID, by)
		return out, err
	}
	var recorded bool
	if by.CustomerID != nil {
		out.ID = *by.CustomerID
		recorded, err = lockCharge(ctx, u, programID, chargeID)
	} else {
		out.ID, recorded, err = by.find(ctx, u, programID, chargeID)
	}
	switch {
	case err != nil:
		return out, err
	case recorded:
		c.Ignore(api.AttributionClaimReasonSaleRecorded)
	case out.ID != "":
		err = s.claimKnown(ctx, u, programID, out.ID, &c)
	default:
		out.ID, err = s.claimNew(ctx, u, programID, by, &c)
	}
	return out, err
}

// claimNew signs up the customer of an unknown external id.
func (s Service) claimNew(
	ctx context.Context, u *work.Unit, programID string, by payer, c *claim.Claim,
) (string, error) {
	in := Input{ProgramID: programID, ExternalCustomerID: by.ExternalCustomerID}
	if c.Counts() {
		in.Route = tracking.Route{Agent: &c.Agent}
		k, inserted, err := s.signUp(ctx, u, in)
		if err == nil && !inserted { // another request has just created it
			if k, err = ByExternalID(ctx, u, programID, *by.ExternalCustomerID); err == nil {
				err = s.claimKnown(ctx, u, programID, k.ID, c)
			}
			return k.ID, err
		}
		if err = ignore(c, err); err != nil || c.Counts() {
			return k.ID, err
		}
	}
	in.Route = tracking.Route{}
	k, err := s.Direct(ctx, u, in)
	return k.ID, err
}

// claimKnown gives a known customer to the partner of a claim, if the customer has neither a partner nor a payment. A
// customer that does not exist, or is of another program, is left to the sale, which refuses it.
func (s Service) claimKnown(ctx context.Context, u *work.Unit, programID, id string, c *claim.Claim) error {
	if !c.Counts() {
		return nil
	}
	if err := u.Claim("customer", id); err != nil {
		return err
	}
	k, err := Lock(ctx, u, id)
	switch {
	case problem.Is(err, problem.ResourceNotFound) || err == nil && k.ProgramID != programID:
		return nil
	case err != nil:
		return err
	case k.PartnerID != nil:
		return claimedBefore(ctx, u, k, c)
	case k.ConvertedAt != nil:
		c.Ignore(api.AttributionClaimReasonCustomerHasPaid)
		return nil
	}
	_, err = s.Assign(ctx, u, k.ID, tracking.Route{Agent: &c.Agent})
	return ignore(c, err)
}

// claimedBefore ignores the claim about a customer with a partner, and notes whether the same token gave it.
func claimedBefore(ctx context.Context, u *work.Unit, k db.Customer, c *claim.Claim) error {
	if c.Row.Nonce != nil {
		used, err := queries.AttributionTokenUsed(ctx, u.DB(), db.AttributionTokenUsedParams{
			CustomerID: k.ID, OrgID: u.OrgID, Nonce: c.Row.Nonce,
		})
		if err != nil {
			return err
		}
		if used {
			c.Ignore(api.AttributionClaimReasonTokenReplayed)
		}
	}
	c.Ignore(api.AttributionClaimReasonCustomerHasPartner)
	return nil
}

// lockCharge locks a charge, and reports whether it is recorded.
func lockCharge(ctx context.Context, u *work.Unit, programID, chargeID string) (recorded bool, err error) {
	if err := u.Claim("charge", programID, chargeID); err != nil {
		return false, err
	}
	err = u.InProgram(ctx, programID,
		func(tx pgtx.DBTX) error {
			return queries.ChargeLock(ctx, tx, db.ChargeLockParams{
				OrgID: u.OrgID, ProgramID: programID, ExternalChargeID: chargeID,
			})
		},
		func(tx pgtx.DBTX) error {
			_, err := queries.SaleByCharge(ctx, tx, db.SaleByChargeParams{
				ProgramID: programID, OrgID: u.OrgID, ExternalChargeID: chargeID,
			})
			recorded = err == nil
			return err
		})
	return recorded, err
}
