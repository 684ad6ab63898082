package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/program/resource"
	"rail/server/work"
)

// ListResources lists the resources of a program: first those without a folder, then folder by
// folder.
func (s *Server) ListResources(ctx context.Context,
	r api.ListResourcesRequestObject) (api.ListResourcesResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.ResourceList{}, toResource)
	return api.ListResources200JSONResponse(out), err
}

// RetrieveResource returns one resource.
func (s *Server) RetrieveResource(ctx context.Context,
	r api.RetrieveResourceRequestObject) (api.RetrieveResourceResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.ResourceGet(ctx, u.Short(), db.ResourceGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toResource(row), row.ProgramID, err)
	return api.RetrieveResource200JSONResponse(out), err
}

// CreateResource puts a link at the end of its folder.
func (s *Server) CreateResource(ctx context.Context,
	r api.CreateResourceRequestObject) (api.CreateResourceResponseObject, error) {
	b := r.Body
	row, err := resource.Create(ctx, work.From(ctx), resource.Input{
		ProgramID: b.ProgramID,
		Title:     b.Title,
		URL:       b.URL,
		Folder:    b.Folder,
		GroupIDs:  b.GroupIds,
		TagIDs:    b.TagIds,
		Published: b.Published == nil || *b.Published,
	})
	return api.CreateResource201JSONResponse(toResource(row)), err
}

// UpdateResource changes a resource.
func (s *Server) UpdateResource(ctx context.Context,
	r api.UpdateResourceRequestObject) (api.UpdateResourceResponseObject, error) {
	b := r.Body
	row, err := resource.Update(ctx, work.From(ctx), r.ID, resource.Changes{
		Title: b.Title, URL: b.URL, Folder: b.Folder, GroupIDs: b.GroupIds, TagIDs: b.TagIds, Published: b.Published,
	})
	return api.UpdateResource200JSONResponse(toResource(row)), err
}

// DeleteResource removes a resource.
func (s *Server) DeleteResource(ctx context.Context,
	r api.DeleteResourceRequestObject) (api.DeleteResourceResponseObject, error) {
	err := resource.Delete(ctx, work.From(ctx), r.ID)
	return api.DeleteResource200JSONResponse{ID: r.ID, Object: "resource", Deleted: true}, err
}

func toResource(r db.Resource) api.Resource {
	return api.Resource{
		ID:          r.ID,
		Object:      "resource",
		ProgramID:   r.ProgramID,
		Kind:        api.ResourceKind(r.Kind),
		Title:       r.Title,
		URL:         r.URL,
		Folder:      r.Folder,
		MimeType:    r.MimeType,
		SizeBytes:   r.SizeBytes,
		GroupIds:    r.GroupIds,
		TagIds:      r.TagIds,
		Position:    r.Position,
		Published:   r.Published,
		PublishedAt: r.PublishedAt,
		Metadata:    r.Metadata,
		CreatedAt:   r.CreatedAt,
		UpdatedAt:   r.UpdatedAt,
	}
}
