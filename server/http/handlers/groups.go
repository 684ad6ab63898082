package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/opt"
	"rail/server/program/group"
	"rail/server/work"
)

// ListGroups lists the groups of a program, newest first.
func (s *Server) ListGroups(ctx context.Context,
	r api.ListGroupsRequestObject) (api.ListGroupsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.GroupList{})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toGroup)
	err = addGroupStats(ctx, u, data, p.Include)
	return api.ListGroups200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, err
}

// RetrieveGroup returns one group.
func (s *Server) RetrieveGroup(
	ctx context.Context, r api.RetrieveGroupRequestObject,
) (api.RetrieveGroupResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.GroupGet(ctx, u.Short(), db.GroupGetParams{ID: r.ID, OrgID: u.OrgID})
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

// addGroupStats sets the counters of groups if they are requested.
func addGroupStats(ctx context.Context, u *work.Unit, groups []api.Group, include []api.GroupInclude) error {
	if !wants(include, api.GroupIncludeStats) || len(groups) == 0 {
		return nil
	}
	// One query for the page; a group without partners counts 0.
	partners, err := list.CountBy(ctx, u.DB(), "partners", db.Scope{ProgramID: groups[0].ProgramID, OrgID: u.OrgID},
		ids(groups, func(g *api.Group) string { return g.ID }))
	for i := range groups {
		groups[i].Stats = &api.GroupStats{Partners: partners[groups[i].ID]}
	}
	return err
}

// CreateGroup adds a group, with a slug derived from its name. A used name is a 409 with its group.
func (s *Server) CreateGroup(
	ctx context.Context, r api.CreateGroupRequestObject,
) (api.CreateGroupResponseObject, error) {
	b := r.Body
	g, err := group.Create(ctx, work.From(ctx), group.Input{
		ProgramID:   b.ProgramID,
		Name:        b.Name,
		Description: b.Description,
		LandingURL:  b.LandingURL,
		IsPrivate:   opt.Value(b.IsPrivate),
	})
	return api.CreateGroup201JSONResponse(toGroup(g)), err
}

// UpdateGroup changes a group. is_default makes it the default instead of the former one; it cannot
// be unset.
func (s *Server) UpdateGroup(
	ctx context.Context, r api.UpdateGroupRequestObject,
) (api.UpdateGroupResponseObject, error) {
	b := r.Body
	g, err := group.Update(ctx, work.From(ctx), r.ID, group.Changes{
		Name:        b.Name,
		Description: b.Description,
		LandingURL:  b.LandingURL,
		IsPrivate:   b.IsPrivate,
		IsDefault:   (*bool)(b.IsDefault),
	})
	return api.UpdateGroup200JSONResponse(toGroup(g)), err
}

// DeleteGroup removes a group with its flows. Its partners then have no group. The default group is
// a 409.
func (s *Server) DeleteGroup(
	ctx context.Context, r api.DeleteGroupRequestObject,
) (api.DeleteGroupResponseObject, error) {
	err := group.Delete(ctx, work.From(ctx), r.ID)
	return api.DeleteGroup200JSONResponse{ID: r.ID, Object: "group", Deleted: true}, err
}
