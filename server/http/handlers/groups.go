package handlers

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/count"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/page"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/slug"
	"rail/server/work"
)

// groupSlugMax bounds a slug before its suffix.
const groupSlugMax = 64

// ListGroups lists the groups of a program, newest first.
func (s *Server) ListGroups(ctx context.Context,
	r api.ListGroupsRequestObject) (api.ListGroupsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := page.Of(ctx, u, page.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.GroupList{})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toGroup)
	err = addGroupStats(ctx, u, data, p.Include)
	return api.ListGroups200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, err
}

// RetrieveGroup returns one group.
func (s *Server) RetrieveGroup(ctx context.Context, r api.RetrieveGroupRequestObject) (api.RetrieveGroupResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.GroupGet(ctx, u.DB(), db.GroupGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(row.ProgramID); err != nil {
		return nil, err
	}
	out := []api.Group{toGroup(row)}
	err = addGroupStats(ctx, u, out, r.Params.Include)
	return api.RetrieveGroup200JSONResponse(out[0]), err
}

// addGroupStats sets the counters of groups where they are asked for.
func addGroupStats(ctx context.Context, u *work.Unit, groups []api.Group, include []api.GroupInclude) error {
	if !wants(include, api.GroupIncludeStats) || len(groups) == 0 {
		return nil
	}
	partners, err := count.By(ctx, u.DB(), "partners", db.Scope{ProgramID: groups[0].ProgramID, OrgID: u.OrgID},
		ids(groups, func(g *api.Group) string { return g.ID }))
	for i := range groups {
		groups[i].Stats = &api.GroupStats{Partners: partners[groups[i].ID]}
	}
	return err
}

// CreateGroup adds a group; a name that is taken, whatever its case, is
// refused, while a slug that is taken gets a suffix.
func (s *Server) CreateGroup(ctx context.Context, r api.CreateGroupRequestObject) (api.CreateGroupResponseObject, error) {
	u, b := work.From(ctx), r.Body
	stem := cmp.Or(slug.Of(b.Name, groupSlugMax), "group")
	var held db.Group
	var slugs []string
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error { return u.ProgramExists(ctx, tx, b.ProgramID) },
		func(tx pgtx.DBTX) (err error) { held, err = groupByName(ctx, u, tx, b.ProgramID, b.Name); return err },
		func(tx pgtx.DBTX) (err error) {
			slugs, err = queries.GroupSlugs(ctx, tx, db.GroupSlugsParams{ProgramID: b.ProgramID, OrgID: u.OrgID, Slug: stem})
			return err
		})
	if err := pgtx.First(errs); err != nil {
		return nil, err
	}
	if errs[1] == nil {
		return nil, groupTaken(held)
	}
	g := db.Group{
		ID: ident.New(ident.Group), OrgID: u.OrgID, ProgramID: b.ProgramID, Name: b.Name,
		Slug: slug.Unused(stem, 2*groupSlugMax, slugs), Description: b.Description, LandingURL: b.LandingURL, IsPrivate: opt.Value(b.IsPrivate),
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	err := queries.GroupAdd(ctx, u.Later(), db.GroupAddParams(g))
	return api.CreateGroup201JSONResponse(toGroup(g)), err
}

func groupByName(ctx context.Context, u *work.Unit, tx pgtx.DBTX, programID, name string) (db.Group, error) {
	return queries.GroupByName(ctx, tx, db.GroupByNameParams{ProgramID: programID, OrgID: u.OrgID, Name: name})
}

func groupTaken(held db.Group) error {
	return problem.Taken(problem.GroupNameTaken, "name", held, "A group with this name exists in the program.")
}

// UpdateGroup changes a group. The slug stays, since it is in addresses.
func (s *Server) UpdateGroup(ctx context.Context, r api.UpdateGroupRequestObject) (api.UpdateGroupResponseObject, error) {
	u, b := work.From(ctx), r.Body
	before, err := lockGroup(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	g := before
	if b.Name != nil && *b.Name != g.Name {
		held, err := groupByName(ctx, u, u.DB(), g.ProgramID, *b.Name)
		if err == nil && held.ID != g.ID {
			return nil, groupTaken(held)
		}
		if err := work.IgnoreNoRows(err); err != nil {
			return nil, err
		}
	}
	change(&g.Name, b.Name)
	changeOrClear(&g.Description, b.Description)
	changeOrClear(&g.LandingURL, b.LandingURL)
	change(&g.IsPrivate, b.IsPrivate)
	change(&g.IsDefault, (*bool)(b.IsDefault))
	if !reflect.DeepEqual(before, g) {
		g.UpdatedAt = u.Now
		err = saveGroup(ctx, u, before, g)
	}
	return api.UpdateGroup200JSONResponse(toGroup(g)), err
}

// saveGroup writes a changed group; a new default takes the place of the old
// one (decisions, 49).
func saveGroup(ctx context.Context, u *work.Unit, before, g db.Group) error {
	if g.IsDefault && !before.IsDefault {
		err := queries.GroupUndefault(ctx, u.Later(), db.GroupUndefaultParams{UpdatedAt: u.Now, ProgramID: g.ProgramID, OrgID: g.OrgID, ID: g.ID})
		if err != nil {
			return err
		}
	}
	return queries.GroupUpdate(ctx, u.Later(), db.GroupUpdateParams{
		Name: g.Name, Description: g.Description, LandingURL: g.LandingURL, IsPrivate: g.IsPrivate, IsDefault: g.IsDefault,
		UpdatedAt: g.UpdatedAt, ID: g.ID, OrgID: g.OrgID,
	})
}

// DeleteGroup removes a group with its flows; partners, applications and
// coupons stay without a group (decisions, 51).
func (s *Server) DeleteGroup(ctx context.Context, r api.DeleteGroupRequestObject) (api.DeleteGroupResponseObject, error) {
	u := work.From(ctx)
	g, err := lockGroup(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	if g.IsDefault {
		return nil, problem.New(problem.DefaultGroupUndeletable, "The group is the program's default; make another one the default first.")
	}
	flows, err := queries.GroupDeleteFlows(ctx, u.DB(), db.GroupDeleteFlowsParams{ProgramID: g.ProgramID, OrgID: g.OrgID, GroupID: &g.ID})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(flows, func(a, b db.GroupDeleteFlowsRow) int { return cmp.Compare(a.ID, b.ID) })
	for _, f := range flows {
		recordRuleDeleted(u, g.ProgramID, f.ID, f.Name)
	}
	return api.DeleteGroup200JSONResponse{ID: g.ID, Object: "group", Deleted: true}, leaveGroup(ctx, u, g)
}

// leaveGroup makes everything let go of a group, and removes it.
func leaveGroup(ctx context.Context, u *work.Unit, g db.Group) error {
	leave := db.GroupLeavePartnersParams{UpdatedAt: u.Now, ProgramID: g.ProgramID, OrgID: g.OrgID, GroupID: &g.ID}
	if err := queries.GroupLeavePartners(ctx, u.Later(), leave); err != nil {
		return err
	}
	if err := queries.GroupLeaveApplications(ctx, u.Later(), db.GroupLeaveApplicationsParams(leave)); err != nil {
		return err
	}
	if err := queries.GroupLeaveCoupons(ctx, u.Later(), db.GroupLeaveCouponsParams(leave)); err != nil {
		return err
	}
	lose := db.ResourcesLoseGroupParams{GroupID: g.ID, UpdatedAt: u.Now, ProgramID: g.ProgramID, OrgID: g.OrgID}
	if err := queries.ResourcesLoseGroup(ctx, u.Later(), lose); err != nil {
		return err
	}
	return queries.GroupDelete(ctx, u.Later(), db.GroupDeleteParams{ID: g.ID, OrgID: g.OrgID})
}

// recordRuleDeleted tells that a flow went together with its scope.
func recordRuleDeleted(u *work.Unit, programID, flowID, name string) {
	u.Record(event.Subject{ProgramID: programID, ID: flowID}, events.RuleDeleted(api.RuleDeletedData{RuleID: flowID, Name: name}))
}

func lockGroup(ctx context.Context, u *work.Unit, id string) (db.Group, error) {
	g, err := queries.GroupLock(ctx, u.DB(), db.GroupLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return g, err
	}
	return g, u.CheckProgram(g.ProgramID)
}
