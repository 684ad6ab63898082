package handlers

import (
	"context"
	"fmt"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/page"
	"rail/server/problem"
	"rail/server/work"
)

// ListResources lists the shelf of a program: what is in no folder, then folder
// by folder.
func (s *Server) ListResources(ctx context.Context,
	r api.ListResourcesRequestObject) (api.ListResourcesResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := page.Of(ctx, u, page.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.ResourceList{})
	return api.ListResources200JSONResponse{
		Data: mapped(rows.Rows, toResource), HasMore: rows.HasMore, TotalCount: rows.Total,
	}, err
}

// RetrieveResource returns one resource.
func (s *Server) RetrieveResource(ctx context.Context,
	r api.RetrieveResourceRequestObject) (api.RetrieveResourceResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.ResourceGet(ctx, u.DB(), db.ResourceGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	return api.RetrieveResource200JSONResponse(toResource(row)), u.CheckProgram(row.ProgramID)
}

// CreateResource puts a link at the end of its folder (decisions, 152).
func (s *Server) CreateResource(ctx context.Context,
	r api.CreateResourceRequestObject) (api.CreateResourceResponseObject, error) {
	u, b := work.From(ctx), r.Body
	p, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: b.ProgramID, OrgID: u.OrgID})
	if err != nil {
		return nil, work.Found(err, "program_id")
	}
	if err := u.Check(ctx, p.ID, audienceRefs(b.GroupIds, b.TagIds)...); err != nil {
		return nil, err
	}
	row := db.Resource{
		ID: ident.New(ident.Resource), OrgID: p.OrgID, ProgramID: p.ID, Kind: db.ResourceKindLink, Title: b.Title, URL: b.URL,
		Folder:   b.Folder,
		GroupIds: distinct(b.GroupIds), TagIds: distinct(b.TagIds), Published: b.Published == nil || *b.Published,
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if row.Published {
		row.PublishedAt = &u.Now
	}
	if row.Position, err = queries.ResourceEnd(ctx, u.Tx,
		db.ResourceEndParams{ProgramID: p.ID, OrgID: p.OrgID, Folder: opt.Value(row.Folder)}); err != nil {
		return nil, err
	}
	err = queries.ResourceInsert(ctx, u.Later(), db.ResourceInsertParams(row))
	return api.CreateResource201JSONResponse(toResource(row)), err
}

// audienceRefs returns the references to the groups and tags that something is
// for. Each names its place in the body, so that a refusal does too.
func audienceRefs(groups, tags []string) []work.Reference {
	var refs []work.Reference
	for i, id := range groups {
		refs = append(refs, work.GroupRef(fmt.Sprintf("group_ids[%d]", i), &id))
	}
	for i, id := range tags {
		refs = append(refs, work.TagRef(fmt.Sprintf("tag_ids[%d]", i), &id))
	}
	return refs
}

// UpdateResource changes a resource; one that moves goes to the end of its new
// folder.
func (s *Server) UpdateResource(ctx context.Context,
	r api.UpdateResourceRequestObject) (api.UpdateResourceResponseObject, error) {
	u, b := work.From(ctx), r.Body
	seen, err := queries.ResourceGet(ctx, u.Tx, db.ResourceGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(seen.ProgramID); err != nil {
		return nil, err
	}
	if err := u.Check(ctx, seen.ProgramID, audienceRefs(b.GroupIds, b.TagIds)...); err != nil {
		return nil, err
	}
	// The lock of the program orders positions: two resources that move to a
	// folder at once must not get the same one. It is taken before the row's, as
	// in CreateResource.
	if _, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: seen.ProgramID, OrgID: u.OrgID}); err != nil {
		return nil, err
	}
	row, err := queries.ResourceLock(ctx, u.Tx, db.ResourceLockParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if b.URL != nil && row.Kind == db.ResourceKindFile {
		return nil, problem.Invalid("url", "The url of a file does not change; only links have one of their own.")
	}
	if err := patchResource(ctx, u, &row, b); err != nil {
		return nil, err
	}
	err = queries.ResourceUpdate(ctx, u.Later(), db.ResourceUpdateParams{
		Title: row.Title, URL: row.URL, Folder: row.Folder, GroupIds: row.GroupIds, TagIds: row.TagIds,
		Position: row.Position, Published: row.Published,
		PublishedAt: row.PublishedAt, UpdatedAt: row.UpdatedAt, ID: row.ID, OrgID: row.OrgID,
	})
	return api.UpdateResource200JSONResponse(toResource(row)), err
}

// patchResource applies the members that the body gives. published_at is the
// first time of publication and survives hiding the resource.
func patchResource(ctx context.Context, u *work.Unit, row *db.Resource, b *api.ResourceUpdate) (err error) {
	before := opt.Value(row.Folder)
	opt.Change(&row.Title, b.Title)
	opt.Change(&row.URL, b.URL)
	opt.ChangeOrClear(&row.Folder, b.Folder)
	opt.Change(&row.Published, b.Published)
	if b.GroupIds != nil {
		row.GroupIds = distinct(b.GroupIds)
	}
	if b.TagIds != nil {
		row.TagIds = distinct(b.TagIds)
	}
	if row.Published && row.PublishedAt == nil {
		row.PublishedAt = &u.Now
	}
	row.UpdatedAt = u.Now
	if folder := opt.Value(row.Folder); folder != before {
		row.Position, err = queries.ResourceEnd(ctx, u.Tx, db.ResourceEndParams{
			ProgramID: row.ProgramID, OrgID: row.OrgID, Folder: folder,
		})
	}
	return err
}

// DeleteResource takes a resource off the shelf.
func (s *Server) DeleteResource(ctx context.Context,
	r api.DeleteResourceRequestObject) (api.DeleteResourceResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.ResourceLock(ctx, u.Tx, db.ResourceLockParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(row.ProgramID); err != nil {
		return nil, err
	}
	err = queries.ResourceDelete(ctx, u.Later(), db.ResourceDeleteParams{ID: row.ID, OrgID: row.OrgID})
	return api.DeleteResource200JSONResponse{ID: row.ID, Object: "resource", Deleted: true}, err
}

func toResource(r db.Resource) api.Resource {
	return api.Resource{
		ID: r.ID, Object: "resource", ProgramID: r.ProgramID, Kind: api.ResourceKind(r.Kind), Title: r.Title, URL: r.URL,
		Folder: r.Folder, MimeType: r.MimeType,
		SizeBytes: r.SizeBytes, GroupIds: r.GroupIds, TagIds: r.TagIds, Position: r.Position, Published: r.Published,
		PublishedAt: r.PublishedAt,
		Metadata:    r.Metadata, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}
