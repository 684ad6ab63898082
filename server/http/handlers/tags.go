package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/ident"
	"rail/server/page"
	"rail/server/problem"
	"rail/server/work"
)

// defaultColor is the colour of a tag that was given none (decisions, 52).
const defaultColor = "#64748B"

// ListTags lists the tags of a program, newest first.
func (s *Server) ListTags(ctx context.Context, r api.ListTagsRequestObject) (api.ListTagsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := page.Of(ctx, u, page.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.TagList{})
	if err != nil {
		return nil, err
	}
	return api.ListTags200JSONResponse{
		Data: mapped(rows.Rows, toTag), HasMore: rows.HasMore, TotalCount: rows.Total,
	}, nil
}

// CreateTag adds a tag; a name that is taken, whatever its case, is refused.
func (s *Server) CreateTag(ctx context.Context, r api.CreateTagRequestObject) (api.CreateTagResponseObject, error) {
	u, b := work.From(ctx), r.Body
	if _, err := u.Program(ctx, b.ProgramID); err != nil {
		return nil, err
	}
	tag := db.Tag{
		ID: ident.New(ident.Tag), OrgID: u.OrgID, ProgramID: b.ProgramID, Name: b.Name, Color: defaultColor,
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if b.Color != nil {
		tag.Color = *b.Color
	}
	inserted, err := queries.TagInsert(ctx, u.DB(), db.TagInsertParams(tag))
	if err != nil {
		return nil, err
	}
	if inserted == 0 {
		return nil, tagTaken(ctx, u, b.ProgramID, b.Name)
	}
	return api.CreateTag201JSONResponse(toTag(tag)), nil
}

func tagTaken(ctx context.Context, u *work.Unit, programID, name string) error {
	held, err := queries.TagByName(ctx, u.DB(), db.TagByNameParams{ProgramID: programID, OrgID: u.OrgID, Name: name})
	if err != nil {
		return err
	}
	return problem.Taken(problem.TagNameTaken, "name", held, "A tag with this name exists in the program.")
}

// RetrieveTag returns one tag.
func (s *Server) RetrieveTag(ctx context.Context, r api.RetrieveTagRequestObject) (api.RetrieveTagResponseObject, error) {
	u := work.From(ctx)
	tag, err := queries.TagGet(ctx, u.DB(), db.TagGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	return api.RetrieveTag200JSONResponse(toTag(tag)), u.CheckProgram(tag.ProgramID)
}

// UpdateTag changes name and colour.
func (s *Server) UpdateTag(ctx context.Context, r api.UpdateTagRequestObject) (api.UpdateTagResponseObject, error) {
	u := work.From(ctx)
	tag, err := lockTag(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	if r.Body.Name != nil && *r.Body.Name != tag.Name {
		held, err := queries.TagByName(ctx, u.DB(), db.TagByNameParams{ProgramID: tag.ProgramID, OrgID: u.OrgID, Name: *r.Body.Name})
		if err == nil && held.ID != tag.ID {
			return nil, problem.Taken(problem.TagNameTaken, "name", held, "A tag with this name exists in the program.")
		}
		if err := work.IgnoreNoRows(err); err != nil {
			return nil, err
		}
		tag.Name = *r.Body.Name
	}
	if r.Body.Color != nil {
		tag.Color = *r.Body.Color
	}
	tag.UpdatedAt = u.Now
	err = queries.TagUpdate(ctx, u.Later(), db.TagUpdateParams{Name: tag.Name, Color: tag.Color, UpdatedAt: tag.UpdatedAt, ID: tag.ID, OrgID: tag.OrgID})
	return api.UpdateTag200JSONResponse(toTag(tag)), err
}

// DeleteTag removes a tag from everything that carries it.
func (s *Server) DeleteTag(ctx context.Context, r api.DeleteTagRequestObject) (api.DeleteTagResponseObject, error) {
	u := work.From(ctx)
	tag, err := lockTag(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	lose := db.ResourcesLoseTagParams{TagID: tag.ID, UpdatedAt: u.Now, ProgramID: tag.ProgramID, OrgID: tag.OrgID}
	if err := queries.ResourcesLoseTag(ctx, u.Later(), lose); err != nil {
		return nil, err
	}
	err = queries.TagDelete(ctx, u.Later(), db.TagDeleteParams{ID: tag.ID, OrgID: tag.OrgID})
	return api.DeleteTag200JSONResponse{ID: tag.ID, Object: "tag", Deleted: true}, err
}

func lockTag(ctx context.Context, u *work.Unit, id string) (db.Tag, error) {
	tag, err := queries.TagLock(ctx, u.DB(), db.TagLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return tag, err
	}
	return tag, u.CheckProgram(tag.ProgramID)
}
