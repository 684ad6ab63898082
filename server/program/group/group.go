// Package group has the rules of groups and tags of partners. One group of a program is its default. Deleting a
// group or tag leaves its partners in place.
package group

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/ident"
	"rail/server/ident/slug"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/event"
)

// slugMax bounds a slug before its suffix.
const slugMax = 64

var queries = db.New()

// Input is a group to add.
type Input struct {
	ProgramID, Name         string
	Description, LandingURL *string
	IsPrivate               bool
}

// Changes are changes to a group; nil and unspecified members stay.
type Changes struct {
	Name                    *string
	Description, LandingURL nullable.Nullable[string]
	IsPrivate, IsDefault    *bool
}

// Create adds a group. A name in use, in any case, is refused; a slug in use gets a suffix.
func Create(ctx context.Context, u *work.Unit, in Input) (db.Group, error) {
	// A name without letters and digits gives an empty slug.
	stem := cmp.Or(slug.Of(in.Name, slugMax), "group")
	// All reads share one round trip. If another request takes the name or the slug before the insert, the index
	// makes the work run again.
	var existing db.Group
	var slugs []string
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error { return u.ProgramExists(ctx, tx, in.ProgramID) },
		func(tx pgtx.DBTX) (err error) { existing, err = byName(ctx, u, tx, in.ProgramID, in.Name); return err },
		func(tx pgtx.DBTX) (err error) {
			slugs, err = queries.GroupSlugs(ctx, tx, db.GroupSlugsParams{
				ProgramID: in.ProgramID, OrgID: u.OrgID, Slug: stem,
			})
			return err
		})
	if err := pgtx.First(errs); err != nil {
		return db.Group{}, err
	}
	if errs[1] == nil {
		return db.Group{}, nameConflict(existing)
	}
	g := db.Group{
		ID: u.NewID(ident.Group), OrgID: u.OrgID, ProgramID: in.ProgramID, Name: in.Name,
		Slug: slug.Unused(stem, 2*slugMax, slugs), Description: in.Description, LandingURL: in.LandingURL,
		IsPrivate: in.IsPrivate, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	return g, queries.GroupAdd(ctx, u.Later(), db.GroupAddParams(g))
}

// byName finds a group by its name, in any case.
func byName(ctx context.Context, u *work.Unit, tx pgtx.DBTX, programID, name string) (db.Group, error) {
	return queries.GroupByName(ctx, tx, db.GroupByNameParams{ProgramID: programID, OrgID: u.OrgID, Name: name})
}

// nameConflict returns the conflict, with the group that has the name.
func nameConflict(existing db.Group) error {
	return problem.Taken(problem.GroupNameTaken, "name", existing, "A group with this name exists in the program.")
}

// Update changes a group. The slug stays, since addresses contain it.
func Update(ctx context.Context, u *work.Unit, id string, to Changes) (db.Group, error) {
	before, err := lock(ctx, u, id)
	if err != nil {
		return before, err
	}
	g := before
	if to.Name != nil && *to.Name != g.Name {
		existing, err := byName(ctx, u, u.DB(), g.ProgramID, *to.Name)
		// If only the case of the name changes, the group finds itself.
		if err == nil && existing.ID != g.ID {
			return g, nameConflict(existing)
		}
		if err := work.IgnoreNoRows(err); err != nil {
			return g, err
		}
	}
	opt.Change(&g.Name, to.Name)
	opt.ChangeOrClear(&g.Description, to.Description)
	opt.ChangeOrClear(&g.LandingURL, to.LandingURL)
	opt.Change(&g.IsPrivate, to.IsPrivate)
	opt.Change(&g.IsDefault, to.IsDefault)
	if !reflect.DeepEqual(before, g) {
		g.UpdatedAt = u.Now
		err = save(ctx, u, before, g)
	}
	return g, err
}

// save writes a changed group; a new default replaces the old one (decisions, 49).
func save(ctx context.Context, u *work.Unit, before, g db.Group) error {
	// A unique index allows one default; clear the old one first.
	if g.IsDefault && !before.IsDefault {
		err := queries.GroupClearDefault(ctx, u.Later(), db.GroupClearDefaultParams{
			UpdatedAt: u.Now, ProgramID: g.ProgramID, OrgID: g.OrgID, ID: g.ID,
		})
		if err != nil {
			return err
		}
	}
	return queries.GroupUpdate(ctx, u.Later(), db.GroupUpdateParams{
		Name: g.Name, Description: g.Description, LandingURL: g.LandingURL, IsPrivate: g.IsPrivate,
		IsDefault: g.IsDefault, UpdatedAt: g.UpdatedAt, ID: g.ID, OrgID: g.OrgID,
	})
}

// Delete deletes a group with its flows; partners, applications and coupons stay without a group (decisions,
// 51).
func Delete(ctx context.Context, u *work.Unit, id string) error {
	g, err := lock(ctx, u, id)
	if err != nil {
		return err
	}
	// Partners without a group enter the default one, so it must exist.
	if g.IsDefault {
		return problem.New(problem.DefaultGroupUndeletable,
			"The group is the program's default; make another one the default first.")
	}
	// Flows for the group and flows that move partners into it: without the group, the first would apply to every
	// partner.
	flows, err := queries.GroupDeleteFlows(ctx, u.DB(), db.GroupDeleteFlowsParams{
		ProgramID: g.ProgramID, OrgID: g.OrgID, GroupID: &g.ID,
	})
	if err != nil {
		return err
	}
	// DELETE returns rows in no order; events must not depend on it.
	slices.SortFunc(flows, func(a, b db.GroupDeleteFlowsRow) int { return cmp.Compare(a.ID, b.ID) })
	for _, f := range flows {
		u.Record(event.Subject{ProgramID: g.ProgramID, ID: f.ID},
			events.RuleDeleted(api.RuleDeletedData{RuleID: f.ID, Name: f.Name}))
	}
	return leave(ctx, u, g)
}

// leave removes the group from all references, and deletes it.
func leave(ctx context.Context, u *work.Unit, g db.Group) error {
	p := db.GroupLeavePartnersParams{UpdatedAt: u.Now, ProgramID: g.ProgramID, OrgID: g.OrgID, GroupID: &g.ID}
	if err := queries.GroupLeavePartners(ctx, u.Later(), p); err != nil {
		return err
	}
	if err := queries.GroupLeaveApplications(ctx, u.Later(), db.GroupLeaveApplicationsParams(p)); err != nil {
		return err
	}
	if err := queries.GroupLeaveCoupons(ctx, u.Later(), db.GroupLeaveCouponsParams(p)); err != nil {
		return err
	}
	// Groups are an array in resources, which no foreign key clears.
	lose := db.ResourcesRemoveGroupParams{GroupID: g.ID, UpdatedAt: u.Now, ProgramID: g.ProgramID, OrgID: g.OrgID}
	if err := queries.ResourcesRemoveGroup(ctx, u.Later(), lose); err != nil {
		return err
	}
	return queries.GroupDelete(ctx, u.Later(), db.GroupDeleteParams{ID: g.ID, OrgID: g.OrgID})
}

// lock locks a group of the unit's programs until the commit.
func lock(ctx context.Context, u *work.Unit, id string) (db.Group, error) {
	g, err := queries.GroupLock(ctx, u.DB(), db.GroupLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return g, err
	}
	return g, u.CheckProgram(g.ProgramID)
}
