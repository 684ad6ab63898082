package handlers

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// member is one of a request by its name; value is nil where it was not sent.
type member struct {
	name  string
	value *string
}

// atMostOne refuses the second of members that exclude each other.
func atMostOne(members ...member) error {
	first := ""
	for _, m := range members {
		switch {
		case m.value == nil:
		case first == "":
			first = m.name
		default:
			return problem.On(m.name, problem.ParametersExclusive, "%s and %s exclude each other.", first, m.name)
		}
	}
	return nil
}

// finder finds the id of an object of a program by an id that others gave it.
type finder func(ctx context.Context, tx pgtx.DBTX, org, externalID string) (string, error)

// resolve returns the id of the object that a request names by ours or by an
// external id; nil where it names none. An unknown one is a 404.
func resolve(ctx context.Context, u *work.Unit, programID string, ours, external member, find finder) (*string, error) {
	if err := atMostOne(ours, external); err != nil || external.value == nil {
		return ours.value, err
	}
	var id string
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error {
			_, err := queries.ProgramExists(ctx, tx, db.ProgramExistsParams{ID: programID, OrgID: u.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			id, err = find(ctx, tx, u.OrgID, *external.value)
			return err
		})
	switch {
	case errors.Is(errs[0], pgx.ErrNoRows):
		return nil, problem.NotFound("program_id")
	case errors.Is(errs[1], pgx.ErrNoRows):
		return nil, problem.NotFound(external.name)
	}
	return &id, pgtx.First(errs)
}

// namedCustomer is resolve for customer_id and external_customer_id.
func namedCustomer(ctx context.Context, u *work.Unit, programID string, id, externalID *string) (*string, error) {
	return resolve(ctx, u, programID, member{"customer_id", id}, member{"external_customer_id", externalID},
		func(ctx context.Context, tx pgtx.DBTX, org, external string) (string, error) {
			k, err := queries.CustomerByExternalID(ctx, tx, db.CustomerByExternalIDParams{ProgramID: programID,
				OrgID: org, ExternalCustomerID: &external})
			return k.ID, err
		})
}

// namedSale is resolve for sale_id and external_charge_id.
func namedSale(ctx context.Context, u *work.Unit, programID string, id, chargeID *string) (*string, error) {
	return resolve(ctx, u, programID, member{"sale_id", id}, member{"external_charge_id", chargeID},
		func(ctx context.Context, tx pgtx.DBTX, org, charge string) (string, error) {
			return queries.SaleByCharge(ctx, tx, db.SaleByChargeParams{ProgramID: programID, OrgID: org,
				ExternalChargeID: charge})
		})
}
