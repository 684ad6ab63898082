package handlers

import (
	"context"
	"net/url"
	"reflect"
	"strings"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/auth"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/page"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

const (
	// slugLength is how many random characters a short link has: short, and too
	// many to be guessed one after the other.
	slugLength = 7
	// defaultParam carries the value where the program names no parameter.
	defaultParam = "ref"
)

// ListLinks lists the links of a program, newest first, without deleted ones.
func (s *Server) ListLinks(ctx context.Context, r api.ListLinksRequestObject) (api.ListLinksResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := page.Of(ctx, u, page.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.LinkList{
		PartnerID: p.PartnerID,
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

// fillLinks adds what was asked for beside the links themselves.
func fillLinks(ctx context.Context, u *work.Unit, links []api.Link, expand []api.LinkExpand, include []api.LinkInclude) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.LinkExpandPartner), links, func(l *api.Link) (*string, *nullable.Nullable[api.Partner]) { return &l.PartnerID, &l.Partner }),
		linkStats(ctx, u, wants(include, api.LinkIncludeStats), links))
}

func linkStats(ctx context.Context, u *work.Unit, wanted bool, links []api.Link) pgtx.Read {
	if !wanted || len(links) == 0 {
		return nil
	}
	return func(tx pgtx.DBTX) error {
		rows, err := queries.LinkStats(ctx, tx, db.LinkStatsParams{Ids: ids(links, func(l *api.Link) string { return l.ID }), OrgID: u.OrgID})
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
func (s *Server) RetrieveLink(ctx context.Context, r api.RetrieveLinkRequestObject) (api.RetrieveLinkResponseObject, error) {
	u := work.From(ctx)
	link, err := queries.LinkGet(ctx, u.DB(), db.LinkGetParams{ID: r.ID, OrgID: u.OrgID})
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

// CreateLink adds a link to a partner. Its value is the partner's handle, which
// any number of the partner's links share, or a value of its own.
func (s *Server) CreateLink(ctx context.Context, r api.CreateLinkRequestObject) (api.CreateLinkResponseObject, error) {
	u, b := work.From(ctx), r.Body
	p, partner, err := linkOwner(ctx, u, b.ProgramID, b.PartnerID)
	if err != nil {
		return nil, err
	}
	link := db.Link{
		ID: ident.New(ident.Link), OrgID: u.OrgID, ProgramID: p.ID, PartnerID: partner.ID, Param: paramOf(b, p), Value: partner.Handle,
		DestinationURL: b.DestinationURL, DestinationKey: destinationKey(b.DestinationURL), ShortSlug: new(auth.NewSlug(slugLength)),
		Label: b.Label, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if b.Value != nil {
		link.Value = *b.Value
	}
	link.ValueKey = strings.ToLower(link.Value)
	if link.ValueKey != partner.Handle {
		if err := s.claimValue(ctx, u, link); err != nil {
			return nil, err
		}
	}
	err = queries.LinkInsert(ctx, u.Later(), db.LinkInsertParams(link))
	u.Record(aboutLink(link), events.AffiliateLinkCreated(api.AffiliateLinkCreatedData{
		LinkID: link.ID, PartnerID: link.PartnerID, URL: trackingURL(link.DestinationURL, link.Param, link.Value),
		Param: link.Param, Value: link.Value, DestinationURL: link.DestinationURL,
	}))
	return api.CreateLink201JSONResponse(s.toLink(link)), err
}

func linkOwner(ctx context.Context, u *work.Unit, programID, partnerID string) (p db.Program, partner db.Partner, err error) {
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) (err error) {
			p, err = queries.ProgramGet(ctx, tx, db.ProgramGetParams{ID: programID, OrgID: u.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			partner, err = queries.PartnerGet(ctx, tx, db.PartnerGetParams{ID: partnerID, OrgID: u.OrgID})
			return err
		})
	if err := work.Found(errs[0], "program_id"); err != nil {
		return p, partner, err
	}
	if err := work.Found(errs[1], "partner_id"); err != nil {
		return p, partner, err
	}
	return p, partner, work.SameProgram(partner.ProgramID, programID, "partner_id")
}

func paramOf(b *api.LinkCreate, p db.Program) string {
	switch {
	case b.Param != nil:
		return *b.Param
	case len(p.URLParams) > 0:
		return p.URLParams[0]
	}
	return defaultParam
}

// claimValue takes a value for a link. Only the partner's own handles, former
// ones included, may be used again (decisions, 43, 44 and 74).
func (s *Server) claimValue(ctx context.Context, u *work.Unit, l db.Link) error {
	claimed, err := queries.TrackingValueClaim(ctx, u.DB(), db.TrackingValueClaimParams{
		OrgID: l.OrgID, ProgramID: l.ProgramID, Value: l.ValueKey, Kind: db.TrackingKindLink, PartnerID: l.PartnerID, LinkID: &l.ID,
	})
	if err != nil || claimed > 0 {
		return err
	}
	held, err := queries.TrackingValueGet(ctx, u.DB(), db.TrackingValueGetParams{ProgramID: l.ProgramID, OrgID: l.OrgID, Value: l.ValueKey})
	if err != nil {
		return err
	}
	if held.Kind == db.TrackingKindHandle && held.PartnerID == l.PartnerID {
		return nil
	}
	return s.valueTaken(ctx, u, held)
}

// valueTaken shows what holds a value: a link, deleted or not, or the partner
// whose handle it is or was.
func (s *Server) valueTaken(ctx context.Context, u *work.Unit, held db.TrackingValue) error {
	if held.LinkID != nil {
		link, err := queries.LinkAny(ctx, u.DB(), db.LinkAnyParams{ID: *held.LinkID, OrgID: held.OrgID})
		if err != nil {
			return err
		}
		return problem.Taken(problem.LinkValueTaken, "value", link, "Another link of the program has this value; the values of deleted links stay reserved.")
	}
	partner, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: held.PartnerID, OrgID: held.OrgID})
	if err != nil {
		return err
	}
	return problem.Taken(problem.LinkValueTaken, "value", partner, "The value is a handle of another partner of the program.")
}

// UpdateLink changes destination and label; the tracking value stays.
func (s *Server) UpdateLink(ctx context.Context, r api.UpdateLinkRequestObject) (api.UpdateLinkResponseObject, error) {
	u, b := work.From(ctx), r.Body
	before, err := lockLink(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	link := before
	if b.DestinationURL != nil {
		link.DestinationURL, link.DestinationKey = *b.DestinationURL, destinationKey(*b.DestinationURL)
	}
	changeOrClear(&link.Label, b.Label)
	if reflect.DeepEqual(link, before) {
		return api.UpdateLink200JSONResponse(s.toLink(link)), nil
	}
	link.UpdatedAt = u.Now
	err = queries.LinkUpdate(ctx, u.Later(), db.LinkUpdateParams{
		DestinationURL: link.DestinationURL, DestinationKey: link.DestinationKey, Label: link.Label, UpdatedAt: link.UpdatedAt, ID: link.ID, OrgID: link.OrgID,
	})
	u.Record(aboutLink(link), events.AffiliateLinkUpdated(api.AffiliateLinkUpdatedData{
		LinkID: link.ID, PartnerID: link.PartnerID, URL: trackingURL(link.DestinationURL, link.Param, link.Value), DestinationURL: link.DestinationURL,
	}))
	return api.UpdateLink200JSONResponse(s.toLink(link)), err
}

// DeleteLink takes a link out of sight. It keeps its value and its address goes
// on redirecting: links in print cannot be taken back.
func (s *Server) DeleteLink(ctx context.Context, r api.DeleteLinkRequestObject) (api.DeleteLinkResponseObject, error) {
	u := work.From(ctx)
	link, err := lockLink(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	err = queries.LinkDelete(ctx, u.Later(), db.LinkDeleteParams{DeletedAt: &u.Now, ID: link.ID, OrgID: link.OrgID})
	u.Record(aboutLink(link), events.AffiliateLinkDeleted(api.AffiliateLinkDeletedData{LinkID: link.ID, PartnerID: link.PartnerID}))
	return api.DeleteLink200JSONResponse{ID: link.ID, Object: "link", Deleted: true}, err
}

func lockLink(ctx context.Context, u *work.Unit, id string) (db.Link, error) {
	link, err := queries.LinkLock(ctx, u.DB(), db.LinkLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return link, err
	}
	return link, u.CheckProgram(link.ProgramID)
}

func aboutLink(l db.Link) event.Subject {
	return event.Subject{ProgramID: l.ProgramID, PartnerID: l.PartnerID, ID: l.ID}
}

// destinationKey is what a landing page is compared with: host and path in
// lower case, escaped in one way, without default port and slash at the end.
// It is plain ASCII but for the host, so that any address can be stored.
func destinationKey(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	path := (&url.URL{Path: strings.ToLower(u.Path)}).EscapedPath()
	return host + strings.TrimRight(strings.ToLower(path), "/")
}
