package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/program/group"
	"rail/server/work"
)

// ListTags lists the tags of a program, newest first.
func (s *Server) ListTags(ctx context.Context, r api.ListTagsRequestObject) (api.ListTagsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.TagList{})
	if err != nil {
		return nil, err
	}
	return api.ListTags200JSONResponse{
		Data: mapped(rows.Rows, toTag), HasMore: rows.HasMore, TotalCount: rows.Total,
	}, nil
}

// CreateTag adds a tag.
// A name that is taken is a 409 with the tag that has it.
func (s *Server) CreateTag(ctx context.Context, r api.CreateTagRequestObject) (api.CreateTagResponseObject, error) {
	b := r.Body
	tag, err := group.CreateTag(ctx, work.From(ctx), group.TagInput{
		ProgramID: b.ProgramID, Name: b.Name, Color: b.Color,
	})
	return api.CreateTag201JSONResponse(toTag(tag)), err
}

// RetrieveTag returns one tag.
func (s *Server) RetrieveTag(
	ctx context.Context, r api.RetrieveTagRequestObject,
) (api.RetrieveTagResponseObject, error) {
	u := work.From(ctx)
	tag, err := queries.TagGet(ctx, u.Short(), db.TagGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	return api.RetrieveTag200JSONResponse(toTag(tag)), u.CheckProgram(tag.ProgramID)
}

// UpdateTag changes name and colour.
// Partners and resources keep the tag under its new name.
func (s *Server) UpdateTag(ctx context.Context, r api.UpdateTagRequestObject) (api.UpdateTagResponseObject, error) {
	tag, err := group.UpdateTag(ctx, work.From(ctx), r.ID, group.TagChanges{Name: r.Body.Name, Color: r.Body.Color})
	return api.UpdateTag200JSONResponse(toTag(tag)), err
}

// DeleteTag removes a tag from all its objects.
func (s *Server) DeleteTag(ctx context.Context, r api.DeleteTagRequestObject) (api.DeleteTagResponseObject, error) {
	err := group.DeleteTag(ctx, work.From(ctx), r.ID)
	return api.DeleteTag200JSONResponse{ID: r.ID, Object: "tag", Deleted: true}, err
}
