package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/docs/script"
	"rail/server/program/publishable"
	"rail/server/work"
)

// ListPublishableKeys lists the keys of a program's pages, newest first.
func (s *Server) ListPublishableKeys(ctx context.Context,
	r api.ListPublishableKeysRequestObject) (api.ListPublishableKeysResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.PublishableKeyList{}, s.toPublishableKey)
	return api.ListPublishableKeys200JSONResponse(out), err
}

// RetrievePublishableKey returns one key.
func (s *Server) RetrievePublishableKey(ctx context.Context,
	r api.RetrievePublishableKeyRequestObject) (api.RetrievePublishableKeyResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.PublishableKeyGet(ctx, u.Short(), db.PublishableKeyGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, s.toPublishableKey(row), row.ProgramID, err)
	return api.RetrievePublishableKey200JSONResponse(out), err
}

// CreatePublishableKey makes a key for the pages of some hosts.
func (s *Server) CreatePublishableKey(ctx context.Context,
	r api.CreatePublishableKeyRequestObject) (api.CreatePublishableKeyResponseObject, error) {
	b := r.Body
	row, err := publishable.Create(ctx, work.From(ctx), publishable.Input{
		ProgramID: b.ProgramID, AllowedHosts: b.AllowedHosts, AllowLeads: b.AllowLeads != nil && *b.AllowLeads,
	})
	return api.CreatePublishableKey201JSONResponse(s.toPublishableKey(row)), err
}

// UpdatePublishableKey changes the hosts and the uses of a key.
func (s *Server) UpdatePublishableKey(ctx context.Context,
	r api.UpdatePublishableKeyRequestObject) (api.UpdatePublishableKeyResponseObject, error) {
	row, err := publishable.Update(ctx, work.From(ctx), r.ID, publishable.Changes{
		AllowedHosts: r.Body.AllowedHosts, AllowLeads: r.Body.AllowLeads,
	})
	return api.UpdatePublishableKey200JSONResponse(s.toPublishableKey(row)), err
}

// DeletePublishableKey revokes a key.
func (s *Server) DeletePublishableKey(ctx context.Context,
	r api.DeletePublishableKeyRequestObject) (api.DeletePublishableKeyResponseObject, error) {
	err := publishable.Revoke(ctx, work.From(ctx), r.ID)
	return api.DeletePublishableKey200JSONResponse{ID: r.ID, Object: "publishable_key", Deleted: true}, err
}

func (s *Server) toPublishableKey(k db.PublishableKey) api.PublishableKey {
	return api.PublishableKey{
		ID:           k.ID,
		Object:       "publishable_key",
		ProgramID:    k.ProgramID,
		Key:          k.Key,
		AllowedHosts: k.AllowedHosts,
		AllowLeads:   k.AllowLeads,
		Tag:          script.Tag(s.BaseURL, k.Key, k.URLParams...),
		LastUsedAt:   k.LastUsedAt,
		CreatedAt:    k.CreatedAt,
	}
}
