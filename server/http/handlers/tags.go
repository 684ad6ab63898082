package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/program/group"
	"rail/server/work"
)

// ListTags lists the tags of a program, newest first.
func (s *Server) ListTags(ctx context.Context, r api.ListTagsRequestObject) (api.ListTagsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.TagList{}, toTag)
	return api.ListTags200JSONResponse(out), err
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
func (s *Server) RetrieveTag(ctx context.Context,
	r api.RetrieveTagRequestObject) (api.RetrieveTagResponseObject, error) {
	u := work.From(ctx)
	tag, err := queries.TagGet(ctx, u.Short(), db.TagGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toTag(tag), tag.ProgramID, err)
	return api.RetrieveTag200JSONResponse(out), err
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
