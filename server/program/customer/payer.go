package customer

import (
	"context"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
)

// Payer names who paid: a customer by our id, or by the processor's with the way
// to a partner for one that may be new.
type Payer struct {
	CustomerID, ExternalCustomerID *string
	Route                          tracking.Route
}

// Payer returns the id of the customer who paid a charge. One that is named by
// the processor's id and is not known yet is made, where the route says who
// referred it (decisions, 229). It returns "" where the charge is known and the
// customer is gone: the recorded sale is the answer then.
func (s Service) Payer(ctx context.Context, u *work.Unit, programID, chargeID string, by Payer) (string, error) {
	if err := by.validate(); err != nil {
		return "", err
	}
	if by.CustomerID != nil {
		return *by.CustomerID, nil
	}
	id, known, err := by.find(ctx, u, programID, chargeID)
	if err != nil || id != "" || known {
		return id, err
	}
	if !by.Route.Given() {
		return "", problem.NotFound("external_customer_id")
	}
	k, inserted, err := s.signUp(ctx, u, Input{
		ProgramID: programID, ExternalCustomerID: by.ExternalCustomerID, Route: by.Route,
	})
	if err == nil && !inserted { // another request has just made it
		id, _, err = by.find(ctx, u, programID, chargeID)
		return id, err
	}
	return k.ID, err
}

// validate asks for exactly one name of the customer, and takes a route to a
// partner only beside the one that can be new.
func (p Payer) validate() error {
	routes := p.Route.Members()
	switch {
	case p.CustomerID == nil && p.ExternalCustomerID == nil:
		return problem.On("customer_id", problem.ParameterMissing,
			"One of customer_id and external_customer_id is required.")
	case p.CustomerID != nil && p.ExternalCustomerID != nil:
		return problem.On("external_customer_id", problem.ParametersExclusive,
			"customer_id and external_customer_id exclude each other.")
	case p.CustomerID != nil:
		routes = append([]work.Member{{Name: "customer_id", Value: p.CustomerID}}, routes...)
	}
	return work.AtMostOne(routes...)
}

// find finds the customer by the processor's id, "" for none, and whether the
// charge is known. It locks the charge, so that of callers who name different new
// customers for it one makes a customer.
func (p Payer) find(
	ctx context.Context, u *work.Unit, programID, chargeID string,
) (id string, known bool, err error) {
	org := u.OrgID
	err = u.InProgram(ctx, programID,
		func(tx pgtx.DBTX) error {
			return queries.ChargeLock(ctx, tx, db.ChargeLockParams{
				OrgID: org, ProgramID: programID, ExternalChargeID: chargeID,
			})
		},
		func(tx pgtx.DBTX) error {
			k, err := queries.CustomerByExternalID(ctx, tx, db.CustomerByExternalIDParams{
				ProgramID: programID, OrgID: org, ExternalCustomerID: p.ExternalCustomerID,
			})
			id = k.ID
			return err
		},
		func(tx pgtx.DBTX) error {
			_, err := queries.SaleByCharge(ctx, tx, db.SaleByChargeParams{
				ProgramID: programID, OrgID: org, ExternalChargeID: chargeID,
			})
			known = err == nil
			return err
		})
	return id, known, err
}
