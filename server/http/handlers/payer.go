package handlers

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// payer returns the id of the customer who paid. One that is named by the
// processor's id and is not known yet is made, where the body says who referred
// it (decisions, 229). It returns "" where the charge is known and the customer
// is gone: the recorded sale is the answer then.
func (s *Server) payer(ctx context.Context, u *work.Unit, b *api.SaleCreate) (string, error) {
	if err := onePayer(b); err != nil {
		return "", err
	}
	if b.CustomerID != nil {
		return *b.CustomerID, nil
	}
	id, known, err := externalPayer(ctx, u, b)
	if err != nil || id != "" || known {
		return id, err
	}
	routes := api.CustomerCreate{ProgramID: b.ProgramID, ExternalCustomerID: b.ExternalCustomerID,
		PartnerID: b.PartnerID, ClickID: b.ClickID, CouponCode: b.CouponCode}
	if b.PartnerID == nil && b.ClickID == nil && b.CouponCode == nil {
		return "", problem.NotFound("external_customer_id")
	}
	k, inserted, err := s.enroll(ctx, u, &routes)
	if err == nil && !inserted { // another request has just made it
		id, _, err = externalPayer(ctx, u, b)
		return id, err
	}
	return k.ID, err
}

// onePayer asks for exactly one name of the customer, and takes a route to a
// partner only beside the one that can be new.
func onePayer(b *api.SaleCreate) error {
	routes := []member{{"partner_id", b.PartnerID}, {"click_id", b.ClickID}, {"coupon_code", b.CouponCode}}
	switch {
	case b.CustomerID == nil && b.ExternalCustomerID == nil:
		return problem.On("customer_id", problem.ParameterMissing,
			"One of customer_id and external_customer_id is required.")
	case b.CustomerID != nil && b.ExternalCustomerID != nil:
		return problem.On("external_customer_id", problem.ParametersExclusive,
			"customer_id and external_customer_id exclude each other.")
	case b.CustomerID != nil:
		routes = append([]member{{"customer_id", b.CustomerID}}, routes...)
	}
	return atMostOne(routes...)
}

// externalPayer finds the customer by the processor's id, "" for none, and
// whether the charge is known. It holds the charge, so that of callers who name
// different new customers for it one makes a customer.
func externalPayer(ctx context.Context, u *work.Unit, b *api.SaleCreate) (id string, known bool, err error) {
	org := u.OrgID
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error {
			_, err := queries.ProgramExists(ctx, tx, db.ProgramExistsParams{ID: b.ProgramID, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) error {
			return queries.ChargeLock(ctx, tx, db.ChargeLockParams{
				OrgID: org, ProgramID: b.ProgramID, ExternalChargeID: b.ExternalChargeID,
			})
		},
		func(tx pgtx.DBTX) error {
			k, err := queries.CustomerByExternalID(ctx, tx, db.CustomerByExternalIDParams{ProgramID: b.ProgramID,
				OrgID: org, ExternalCustomerID: b.ExternalCustomerID})
			id = k.ID
			return err
		},
		func(tx pgtx.DBTX) error {
			_, err := queries.SaleByCharge(ctx, tx, db.SaleByChargeParams{ProgramID: b.ProgramID, OrgID: org,
				ExternalChargeID: b.ExternalChargeID})
			known = err == nil
			return err
		})
	if errors.Is(errs[0], pgx.ErrNoRows) {
		return "", false, problem.NotFound("program_id")
	}
	return id, known, pgtx.First(errs)
}
