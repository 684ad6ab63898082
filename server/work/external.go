package work

import (
	"context"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
)

// Member is a named member of a request; Value is nil if it is missing.
type Member struct {
	Name  string
	Value *string
}

// AtMostOne refuses the second of mutually exclusive members.
func AtMostOne(members ...Member) error {
	first := ""
	for _, m := range members {
		switch {
		case m.Value == nil:
		case first == "":
			first = m.Name
		default:
			return problem.On(m.Name, problem.ParametersExclusive, "%s and %s exclude each other.", first, m.Name)
		}
	}
	return nil
}

// InProgram runs reads in one round trip with the check of the program in the field program_id, and returns the
// first error that is not "no rows". The reads must be bound to the organization, since they run before the
// check is known.
func (u *Unit) InProgram(ctx context.Context, programID string, reads ...pgtx.Read) error {
	exists := func(tx pgtx.DBTX) error { return u.ProgramExists(ctx, tx, programID) }
	errs := u.Each(ctx, append([]pgtx.Read{exists}, reads...)...)
	if errs[0] != nil {
		return errs[0]
	}
	return pgtx.First(errs[1:])
}

// Customer returns the id of the customer in customer_id or external_customer_id; nil if neither is given. An
// unknown one is a 404. A merged customer's id becomes the survivor's.
func (u *Unit) Customer(ctx context.Context, programID string, id, externalID *string) (*string, error) {
	if id != nil && externalID == nil {
		survivor, err := queries.CustomerMergedInto(ctx, u.DB(), db.CustomerMergedIntoParams{ID: *id, OrgID: u.OrgID})
		if err == nil {
			id = &survivor
		}
		return id, IgnoreNoRows(err)
	}
	ours, external := Member{"customer_id", id}, Member{"external_customer_id", externalID}
	return u.resolve(ctx, programID, ours, external, func(tx pgtx.DBTX) (string, error) {
		k, err := queries.CustomerByExternalID(ctx, tx, db.CustomerByExternalIDParams{
			ProgramID: programID, OrgID: u.OrgID, ExternalCustomerID: *externalID,
		})
		return k.ID, err
	})
}

// Sale returns the id of the sale in sale_id or external_charge_id; nil if neither is given. An unknown one is a
// 404.
func (u *Unit) Sale(ctx context.Context, programID string, id, chargeID *string) (*string, error) {
	ours, external := Member{"sale_id", id}, Member{"external_charge_id", chargeID}
	return u.resolve(ctx, programID, ours, external, func(tx pgtx.DBTX) (string, error) {
		s, err := queries.SaleByCharge(ctx, tx, db.SaleByChargeParams{
			ProgramID: programID, OrgID: u.OrgID, ExternalChargeID: *chargeID,
		})
		return s.ID, err
	})
}

// resolve returns the id of an object that a request names by Rail's id or by an external one, which find looks
// up. Rail's id is returned without a check.
func (u *Unit) resolve(
	ctx context.Context, programID string, ours, external Member, find func(pgtx.DBTX) (string, error),
) (*string, error) {
	if err := AtMostOne(ours, external); err != nil || external.Value == nil {
		return ours.Value, err
	}
	var id string
	err := u.InProgram(ctx, programID, func(tx pgtx.DBTX) (err error) {
		id, err = find(tx)
		return err
	})
	if err == nil && id == "" {
		err = problem.NotFound(external.Name)
	}
	return &id, err
}
