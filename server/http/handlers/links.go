package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/program/tracking"
	"rail/server/work"
)

// ListLinks lists the links of a program, newest first, without deleted ones.
func (s *Server) ListLinks(ctx context.Context, r api.ListLinksRequestObject) (api.ListLinksResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.LinkList{
		PartnerID:    p.PartnerID,
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, s.toLink, linkParts(p.Expand, p.Include)...)
	return api.ListLinks200JSONResponse(out), err
}

func linkParts(expand []api.LinkExpand, include []api.LinkInclude) []part[api.Link] {
	return []part[api.Link]{
		embedPartner(wants(expand, api.LinkExpandPartner),
			func(l *api.Link) (*string, *nullable.Nullable[api.Partner]) { return &l.PartnerID, &l.Partner }),
		when(wants(include, api.LinkIncludeStats), linkStats),
	}
}

// linkStats adds the links' statistics.
func linkStats(ctx context.Context, tx pgtx.DBTX, orgID string, links []api.Link) error {
	rows, err := queries.LinkStats(ctx, tx, db.LinkStatsParams{
		Ids: ids(links, func(l *api.Link) string { return l.ID }), OrgID: orgID,
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

// RetrieveLink returns one link.
func (s *Server) RetrieveLink(ctx context.Context,
	r api.RetrieveLinkRequestObject) (api.RetrieveLinkResponseObject, error) {
	u := work.From(ctx)
	link, err := queries.LinkGet(ctx, u.Short(), db.LinkGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, s.toLink(link), link.ProgramID, err, linkParts(r.Params.Expand, r.Params.Include)...)
	return api.RetrieveLink200JSONResponse(out), err
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
