package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
)

// ListClicks lists the clicks of a program, newest first. total_count is exact, and mostly computed
// from sums: clicks are the largest table.
func (s *Server) ListClicks(ctx context.Context, r api.ListClicksRequestObject) (api.ListClicksResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.ClickList{
		PartnerID: p.PartnerID, LinkID: p.LinkID, ReferralID: p.ReferralID,
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, toClick, s.clickParts(p.Expand)...)
	return api.ListClicks200JSONResponse(out), err
}

func (s *Server) clickParts(expand []api.ClickExpand) []part[api.Click] {
	return []part[api.Click]{
		embedPartner(wants(expand, api.ClickExpandPartner),
			func(k *api.Click) (*string, *nullable.Nullable[api.Partner]) { return &k.PartnerID, &k.Partner }),
		embedLink(s, wants(expand, api.ClickExpandLink),
			func(k *api.Click) (*string, *nullable.Nullable[api.Link]) { return k.LinkID, &k.Link }),
		embedReferral(wants(expand, api.ClickExpandReferral),
			func(k *api.Click) (*string, *nullable.Nullable[api.Referral]) { return k.ReferralID, &k.Referral }),
	}
}

// RetrieveClick returns one click.
func (s *Server) RetrieveClick(ctx context.Context,
	r api.RetrieveClickRequestObject) (api.RetrieveClickResponseObject, error) {
	u := work.From(ctx)
	click, err := queries.ClickGet(ctx, u.Short(), db.ClickGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toClick(click), click.ProgramID, err, s.clickParts(r.Params.Expand)...)
	return api.RetrieveClick200JSONResponse(out), err
}

// CreateClick records a visit to the merchant's server. The value is that of a partner's handle or
// a link; the answer names the visitor's current referral.
func (s *Server) CreateClick(ctx context.Context,
	r api.CreateClickRequestObject) (api.CreateClickResponseObject, error) {
	b := r.Body
	from, err := referrer(b)
	if err != nil {
		return nil, err
	}
	click, err := s.Tracking.Click(ctx, work.From(ctx), b.ProgramID, b.Value, tracking.Visit{
		Param: opt.Value(b.Param), VisitorToken: b.VisitorToken, LandingURL: b.LandingURL, IP: opt.Value(b.IP),
		UserAgent: b.UserAgent, Referer: from, Country: opt.Upper(b.Country), Device: b.Device,
	})
	return api.CreateClick201JSONResponse(toClick(click)), err
}

// referrer returns the page from which the visitor came. It accepts both spellings of the member,
// since HTTP misspells the word, and refuses two different values.
func referrer(b *api.ClickCreate) (*string, error) {
	switch {
	case b.Referer == nil:
		return b.Referrer, nil
	case b.Referrer != nil && *b.Referrer != *b.Referer:
		return nil, problem.On("referer", problem.ParametersExclusive,
			"referer and referrer are two spellings of one thing, and differ here.")
	}
	return b.Referer, nil
}
