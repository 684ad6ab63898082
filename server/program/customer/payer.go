package customer

import (
	"context"

	"rail/gen/db"
	"rail/server/money/sale"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
)

var _ sale.Customers = Service{}

// payer is a sale's payer with the route to a partner.
type payer struct {
	sale.Payer
	route tracking.Route
}

// Payer returns the customer who paid a charge, and the record of an AI assistant's claim.
func (s Service) Payer(
	ctx context.Context, u *work.Unit, programID, chargeID string, p sale.Payer,
) (sale.PayingCustomer, error) {
	by := payer{p, tracking.Route{PartnerID: p.PartnerID, ClickID: p.ClickID, CouponCode: p.CouponCode}}
	if err := by.validate(); err != nil {
		return sale.PayingCustomer{}, err
	}
	if p.Claim.IsSet() {
		return s.claimingPayer(ctx, u, programID, chargeID, by)
	}
	id, err := s.payer(ctx, u, programID, chargeID, by)
	return sale.PayingCustomer{ID: id}, err
}

// payer returns the id of the customer who paid a charge. For an unknown external id it is a lead that came by
// the route, or a new customer (decisions, 229 and 302). The id is "" if the charge is recorded and no customer
// has the external id any longer: the recorded sale is the answer then.
func (s Service) payer(ctx context.Context, u *work.Unit, programID, chargeID string, by payer) (string, error) {
	// The sale checks that it exists, since it locks the customer anyway.
	if by.CustomerID != nil {
		return *by.CustomerID, nil
	}
	id, recorded, err := by.find(ctx, u, programID, chargeID)
	if err == nil && id != "" && !recorded && by.route.Coupon() {
		return id, s.takeOver(ctx, u, id, by.route)
	}
	if err != nil || id != "" || recorded {
		return id, err
	}
	if !by.route.IsSet() {
		return "", problem.NotFound("external_customer_id")
	}
	f, err := s.Identify(ctx, u, Clues{
		ProgramID: programID, ExternalID: *by.ExternalCustomerID, Routes: []tracking.Route{by.route},
	})
	if err == nil && f.ID == "" {
		err = f.Refused
	}
	return f.ID, err
}

// takeOver reassigns a customer from a link's partner to a coupon's at the first payment.
func (s Service) takeOver(ctx context.Context, u *work.Unit, id string, r tracking.Route) error {
	k, err := queries.CustomerGet(ctx, u.DB(), db.CustomerGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	_, err = s.TakeOver(ctx, u, k, r)
	return err
}

// validate requires exactly one name of the customer. A route is for a possibly new customer, so it excludes
// customer_id.
func (p payer) validate() error {
	routes := p.route.Members()
	switch {
	case p.CustomerID == nil && p.ExternalCustomerID == nil:
		return problem.On("customer_id", problem.ParameterMissing,
			"One of customer_id and external_customer_id is required.")
	case p.CustomerID != nil && p.ExternalCustomerID != nil:
		return problem.On("external_customer_id", problem.ParametersExclusive,
			"customer_id and external_customer_id exclude each other.")
	case p.CustomerID != nil:
		// First, so that a refusal names the route and not customer_id.
		routes = append([]work.Member{{Name: "customer_id", Value: p.CustomerID}}, routes...)
	}
	return work.AtMostOne(routes...)
}

// find returns the customer with the external id, "" for none, and reports whether the charge is recorded. It
// locks the charge: if requests name different new customers for one charge, only the first signs a customer up.
func (p payer) find(
	ctx context.Context, u *work.Unit, programID, chargeID string,
) (id string, recorded bool, err error) {
	org := u.OrgID
	if err := u.Claim("charge", programID, chargeID); err != nil {
		return "", false, err
	}
	if err := u.Claim("payer", programID, *p.ExternalCustomerID); err != nil {
		return "", false, err
	}
	err = u.InProgram(ctx, programID,
		func(tx pgtx.DBTX) error {
			return queries.ChargeLock(ctx, tx, db.ChargeLockParams{
				OrgID: org, ProgramID: programID, ExternalChargeID: chargeID,
			})
		},
		func(tx pgtx.DBTX) error {
			k, err := queries.CustomerByExternalID(ctx, tx, db.CustomerByExternalIDParams{
				ProgramID: programID, OrgID: org, ExternalCustomerID: *p.ExternalCustomerID,
			})
			id = k.ID
			return err
		},
		func(tx pgtx.DBTX) error {
			_, err := queries.SaleByCharge(ctx, tx, db.SaleByChargeParams{
				ProgramID: programID, OrgID: org, ExternalChargeID: chargeID,
			})
			recorded = err == nil
			return err
		})
	return id, recorded, err
}
