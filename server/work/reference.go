package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
)

var queries = db.New()

// Found converts "no row" to the same 404 for missing and foreign objects. param names the field that refers to
// the object; "" is the path.
func Found(err error, param string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return problem.NotFound(param)
	}
	return err
}

// IgnoreNoRows returns nil for "no row".
func IgnoreNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// SameProgram refuses an object of another program of the tenant (decisions, 196).
func SameProgram(objectProgram, programID, param string) error {
	if objectProgram != programID {
		return problem.On(param, problem.InvalidReference, "%s belongs to another program.", param)
	}
	return nil
}

// Program returns a program of the tenant, named by the field program_id.
func (u *Unit) Program(ctx context.Context, id string) (db.Program, error) {
	p, err := queries.ProgramGet(ctx, u.DB(), db.ProgramGetParams{ID: id, OrgID: u.OrgID})
	return p, Found(err, "program_id")
}

// ProgramExists returns a 404 unless the field program_id names a program of the tenant.
func (u *Unit) ProgramExists(ctx context.Context, tx pgtx.DBTX, id string) error {
	_, err := queries.ProgramExists(ctx, tx, db.ProgramExistsParams{ID: id, OrgID: u.OrgID})
	return Found(err, "program_id")
}

// Reference is an id in a filter or a body that must belong to the tenant and the program. A nil ID is not
// checked.
type Reference struct {
	Param string
	ID    *string
	// find returns the program of the object, or pgx.ErrNoRows.
	find func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error)
}

// References checks references in a round trip of the caller.
type References struct {
	list     []Reference
	programs []string
	errs     []error
}

// NewReferences returns a check of the references with an id.
func NewReferences(refs ...Reference) *References {
	k := &References{}
	for _, r := range refs {
		if r.ID != nil {
			k.list = append(k.list, r)
		}
	}
	k.programs, k.errs = make([]string, len(k.list)), make([]error, len(k.list))
	return k
}

// Reads returns one read for each reference. Verdict uses their results.
func (k *References) Reads(ctx context.Context, u *Unit) []pgtx.Read {
	out := make([]pgtx.Read, len(k.list))
	for i, r := range k.list {
		out[i] = func(tx pgtx.DBTX) error {
			k.programs[i], k.errs[i] = r.find(ctx, tx, u.OrgID, *r.ID)
			return IgnoreNoRows(k.errs[i])
		}
	}
	return out
}

// Verdict returns the first refusal, after the reads have run. Unknown and foreign ids get the same 404; an id
// of another program of the tenant gets a separate refusal (decisions, 22 and 196).
func (k *References) Verdict(programID string) error {
	for i, r := range k.list {
		if err := Found(k.errs[i], r.Param); err != nil {
			return err
		}
		if err := SameProgram(k.programs[i], programID, r.Param); err != nil {
			return err
		}
	}
	return nil
}

// Check checks references in a separate round trip.
func (u *Unit) Check(ctx context.Context, programID string, refs ...Reference) error {
	k := NewReferences(refs...)
	if len(k.list) == 0 {
		return nil
	}
	if err := u.Together(ctx, k.Reads(ctx, u)...); err != nil {
		return err
	}
	return k.Verdict(programID)
}

// ListRef is a reference in a list's filter.
func ListRef(r db.Ref) Reference {
	return Reference{r.Param, r.ID, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return r.Program(ctx, tx, org, id)
	}}
}

// ProgramRef is the program of a body, checked in the round trip of the body's other references; it must be the
// first of them.
func ProgramRef(param string, id *string) Reference {
	return Reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.ProgramExists(ctx, tx, db.ProgramExistsParams{ID: id, OrgID: org})
	}}
}

// PartnerRef is a reference to a partner.
func PartnerRef(param string, id *string) Reference {
	return Reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.PartnerProgram(ctx, tx, db.PartnerProgramParams{ID: id, OrgID: org})
	}}
}

// GroupRef is a reference to a group.
func GroupRef(param string, id *string) Reference {
	return Reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.GroupProgram(ctx, tx, db.GroupProgramParams{ID: id, OrgID: org})
	}}
}

// CustomerRef is a reference to a customer.
func CustomerRef(param string, id *string) Reference {
	return Reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.CustomerProgram(ctx, tx, db.CustomerProgramParams{ID: id, OrgID: org})
	}}
}

// SaleRef is a reference to a sale.
func SaleRef(param string, id *string) Reference {
	return Reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.SaleProgram(ctx, tx, db.SaleProgramParams{ID: id, OrgID: org})
	}}
}

// TagRef is a reference to a tag.
func TagRef(param string, id *string) Reference {
	return Reference{param, id, func(ctx context.Context, tx pgtx.DBTX, org, id string) (string, error) {
		return queries.TagProgram(ctx, tx, db.TagProgramParams{ID: id, OrgID: org})
	}}
}

// AudienceRefs are the references to the groups and tags of an audience. Each names its place in the body, below
// the member at, for refusals.
func AudienceRefs(at string, groups, tags []string) []Reference {
	var refs []Reference
	for i, id := range groups {
		refs = append(refs, GroupRef(fmt.Sprintf("%sgroup_ids[%d]", at, i), &id))
	}
	for i, id := range tags {
		refs = append(refs, TagRef(fmt.Sprintf("%stag_ids[%d]", at, i), &id))
	}
	return refs
}
