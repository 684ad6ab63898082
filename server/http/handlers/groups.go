package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/program/group"
	"rail/server/work"
)

// ListGroups lists the groups of a program, newest first.
func (s *Server) ListGroups(ctx context.Context, r api.ListGroupsRequestObject) (api.ListGroupsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.GroupList{}, toGroup, groupParts(p.Include))
	return api.ListGroups200JSONResponse(out), err
}

// RetrieveGroup returns one group.
func (s *Server) RetrieveGroup(ctx context.Context,
	r api.RetrieveGroupRequestObject) (api.RetrieveGroupResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.GroupGet(ctx, u.Short(), db.GroupGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toGroup(row), row.ProgramID, err, groupParts(r.Params.Include))
	return api.RetrieveGroup200JSONResponse(out), err
}

func groupParts(include []api.GroupInclude) part[api.Group] {
	return when(wants(include, api.GroupIncludeStats), groupStats)
}

// groupStats adds the counters of groups. A group without partners counts 0.
func groupStats(ctx context.Context, tx pgtx.DBTX, orgID string, groups []api.Group) error {
	partners, err := list.CountBy(ctx, tx, "partners", db.Scope{ProgramID: groups[0].ProgramID, OrgID: orgID},
		ids(groups, func(g *api.Group) string { return g.ID }))
	for i := range groups {
		groups[i].Stats = &api.GroupStats{Partners: partners[groups[i].ID]}
	}
	return err
}

// CreateGroup adds a group, with a slug derived from its name. A used name is a 409 with its group.
func (s *Server) CreateGroup(ctx context.Context,
	r api.CreateGroupRequestObject) (api.CreateGroupResponseObject, error) {
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
func (s *Server) UpdateGroup(ctx context.Context,
	r api.UpdateGroupRequestObject) (api.UpdateGroupResponseObject, error) {
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
func (s *Server) DeleteGroup(ctx context.Context,
	r api.DeleteGroupRequestObject) (api.DeleteGroupResponseObject, error) {
	err := group.Delete(ctx, work.From(ctx), r.ID)
	return api.DeleteGroup200JSONResponse{ID: r.ID, Object: "group", Deleted: true}, err
}
