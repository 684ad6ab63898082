package api

import (
	"context"

	"rail/gen/db"
	"rail/server/call"
	"rail/server/pgtx"
)

// reference is an id in a filter or a body that must be of the caller's
// organization and of the program at hand.
type reference struct {
	param string
	id    *string
	// find returns the program of the object, or pgx.ErrNoRows.
	find func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error)
}

// check judges references in one round trip. Unknown and foreign ids are one
// and the same 404; an id of the caller's own other program does not fit here
// (decisions, 22 and 196).
func check(ctx context.Context, c *call.Call, programID string, refs ...reference) error {
	programs := make([]string, len(refs))
	var reads []pgtx.Read
	var asked []int
	for i, r := range refs {
		if r.id == nil {
			continue
		}
		asked = append(asked, i)
		reads = append(reads, func(tx pgtx.DBTX) (err error) {
			programs[i], err = r.find(ctx, tx, c.Key.OrgID, *r.id)
			return err
		})
	}
	if len(reads) == 0 {
		return nil
	}
	errs := c.Each(ctx, reads...)
	for n, i := range asked {
		if err := found(errs[n], refs[i].param); err != nil {
			return err
		}
		if err := sameProgram(programs[i], programID, refs[i].param); err != nil {
			return err
		}
	}
	return nil
}

func refPartner(param string, id *string) reference {
	return reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.PartnerProgram(ctx, tx, db.PartnerProgramParams{ID: id, OrgID: org})
	}}
}

func refGroup(param string, id *string) reference {
	return reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.GroupProgram(ctx, tx, db.GroupProgramParams{ID: id, OrgID: org})
	}}
}

func refLink(param string, id *string) reference {
	return reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.LinkProgram(ctx, tx, db.LinkProgramParams{ID: id, OrgID: org})
	}}
}

func refReferral(param string, id *string) reference {
	return reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.ReferralProgram(ctx, tx, db.ReferralProgramParams{ID: id, OrgID: org})
	}}
}

func refCustomer(param string, id *string) reference {
	return reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.CustomerProgram(ctx, tx, db.CustomerProgramParams{ID: id, OrgID: org})
	}}
}

func refSale(param string, id *string) reference {
	return reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.SaleProgram(ctx, tx, db.SaleProgramParams{ID: id, OrgID: org})
	}}
}

func refPayout(param string, id *string) reference {
	return reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.PayoutProgram(ctx, tx, db.PayoutProgramParams{ID: id, OrgID: org})
	}}
}
