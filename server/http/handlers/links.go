package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/postgres/pgtx"
	"rail/server/program/tracking"
	"rail/server/work"
)

// ListLinks lists the links of a program, newest first, without deleted ones.
func (s *Server) ListLinks(ctx context.Context, r api.ListLinksRequestObject) (api.ListLinksResponseObject, error) {
	u, p := work.From(ctx), r.Params
	since, until, err := created(p.CreatedAfter, p.CreatedBefore)
	if err != nil {
		return nil, err
	}
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.LinkList{
		PartnerID:    p.PartnerID,
		CreatedAfter: since, CreatedBefore: until,
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, s.toLink)
	if err := fillLinks(ctx, u, data, p.Expand, p.Include); err != nil {
		return nil, err
	}
	return api.ListLinks200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
}

// fillLinks adds the relations and statistics that the query requests, in one
// round trip.
func fillLinks(ctx context.Context, u *work.Unit, links []api.Link, expand []api.LinkExpand,
	include []api.LinkInclude) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.LinkExpandPartner), links,
			func(l *api.Link) (*string, *nullable.Nullable[api.Partner]) { return &l.PartnerID, &l.Partner }),
		linkStats(ctx, u, wants(include, api.LinkIncludeStats), links))
}

// linkStats returns the read of the links' statistics, or nil if they are not requested.
func linkStats(ctx context.Context, u *work.Unit, wanted bool, links []api.Link) pgtx.Read {
	if !wanted || len(links) == 0 {
		return nil
	}
	return func(tx pgtx.DBTX) error {
		rows, err := queries.LinkStats(ctx, tx, db.LinkStatsParams{
			Ids: ids(links, func(l *api.Link) string { return l.ID }), OrgID: u.OrgID,
		})
		stats := make(map[string]api.LinkStats, len(rows))
		for _, r := range rows {
			stats[r.ID] = api.LinkStats{Clicks: r.Clicks, Referrals: r.Referrals, Customers: r.Customers}
		}
		for i := range links {
			links[i].Stats = new(stats[links[i].ID])
		}
		return err
	}
}

// RetrieveLink returns one link.
func (s *Server) RetrieveLink(ctx context.Context,
	r api.RetrieveLinkRequestObject) (api.RetrieveLinkResponseObject, error) {
	u := work.From(ctx)
	link, err := queries.LinkGet(ctx, u.Short(), db.LinkGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(link.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Link{s.toLink(link)}
	err = fillLinks(ctx, u, one, r.Params.Expand, r.Params.Include)
	return api.RetrieveLink200JSONResponse(one[0]), err
}

// CreateLink adds a link to a partner. Without a value it uses the partner's handle. A value that
// was ever used in the program is a 409.
func (s *Server) CreateLink(ctx context.Context, r api.CreateLinkRequestObject) (api.CreateLinkResponseObject, error) {
	b := r.Body
	link, err := tracking.CreateLink(ctx, work.From(ctx), tracking.LinkInput{
		ProgramID: b.ProgramID, PartnerID: b.PartnerID, DestinationURL: b.DestinationURL,
		Param: b.Param, Value: b.Value, Label: b.Label,
	})
	return api.CreateLink201JSONResponse(s.toLink(link)), err
}

// UpdateLink changes destination and label. The value cannot change, because it is published.
func (s *Server) UpdateLink(ctx context.Context, r api.UpdateLinkRequestObject) (api.UpdateLinkResponseObject, error) {
	link, err := tracking.UpdateLink(ctx, work.From(ctx), r.ID, tracking.LinkChanges{
		DestinationURL: r.Body.DestinationURL, Label: r.Body.Label,
	})
	return api.UpdateLink200JSONResponse(s.toLink(link)), err
}

// DeleteLink hides a link; its clicks remain, and its short link still redirects.
func (s *Server) DeleteLink(ctx context.Context, r api.DeleteLinkRequestObject) (api.DeleteLinkResponseObject, error) {
	err := tracking.DeleteLink(ctx, work.From(ctx), r.ID)
	return api.DeleteLink200JSONResponse{ID: r.ID, Object: "link", Deleted: true}, err
}
