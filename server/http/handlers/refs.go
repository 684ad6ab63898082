package handlers

import (
	"context"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// reference is an id in a filter or a body that must be of the caller's
// organization and of the program at hand.
type reference struct {
	param string
	id    *string
	// find returns the program of the object, or pgx.ErrNoRows.
	find func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error)
}

// checking is the judgement of references, in a round trip of the caller's.
type checking struct {
	asked    []reference
	programs []string
	errs     []error
}

func newCheck(refs []reference) *checking {
	k := &checking{}
	for _, r := range refs {
		if r.id != nil {
			k.asked = append(k.asked, r)
		}
	}
	k.programs, k.errs = make([]string, len(k.asked)), make([]error, len(k.asked))
	return k
}

// reads returns one read a reference; they keep their errors for the verdict.
func (k *checking) reads(ctx context.Context, u *work.Unit) []pgtx.Read {
	out := make([]pgtx.Read, len(k.asked))
	for i, r := range k.asked {
		out[i] = func(tx pgtx.DBTX) error {
			k.programs[i], k.errs[i] = r.find(ctx, tx, u.OrgID, *r.id)
			return ignoreNoRows(k.errs[i])
		}
	}
	return out
}

// verdict returns the first refusal. Unknown and foreign ids are one and the
// same 404; an id of the caller's own other program does not fit here
// (decisions, 22 and 196).
func (k *checking) verdict(programID string) error {
	for i, r := range k.asked {
		if err := found(k.errs[i], r.param); err != nil {
			return err
		}
		if err := sameProgram(k.programs[i], programID, r.param); err != nil {
			return err
		}
	}
	return nil
}

// check judges references in a round trip of their own.
func check(ctx context.Context, u *work.Unit, programID string, refs ...reference) error {
	k := newCheck(refs)
	if len(k.asked) == 0 {
		return nil
	}
	if err := u.Together(ctx, k.reads(ctx, u)...); err != nil {
		return err
	}
	return k.verdict(programID)
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
