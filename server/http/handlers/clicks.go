package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
)

// ListClicks lists the clicks of a program, newest first. total_count is exact, and mostly computed
// from sums: clicks are the largest table.
func (s *Server) ListClicks(ctx context.Context,
	r api.ListClicksRequestObject) (api.ListClicksResponseObject, error) {
	u, p := work.From(ctx), r.Params
	since, until, err := created(p.CreatedAfter, p.CreatedBefore)
	if err != nil {
		return nil, err
	}
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.ClickList{
		PartnerID: p.PartnerID, LinkID: p.LinkID, ReferralID: p.ReferralID,
		CreatedAfter: since, CreatedBefore: until,
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toClick)
	if err := s.fillClicks(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListClicks200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
}

// fillClicks adds the relations that the query requests, in one round trip.
func (s *Server) fillClicks(ctx context.Context, u *work.Unit, clicks []api.Click, expand []api.ClickExpand) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.ClickExpandPartner), clicks,
			func(k *api.Click) (*string, *nullable.Nullable[api.Partner]) { return &k.PartnerID, &k.Partner }),
		embedLink(ctx, s, u, wants(expand, api.ClickExpandLink), clicks,
			func(k *api.Click) (*string, *nullable.Nullable[api.Link]) { return k.LinkID, &k.Link }),
		embedReferral(ctx, u, wants(expand, api.ClickExpandReferral), clicks,
			func(k *api.Click) (*string, *nullable.Nullable[api.Referral]) { return k.ReferralID, &k.Referral }))
}

// RetrieveClick returns one click.
func (s *Server) RetrieveClick(ctx context.Context,
	r api.RetrieveClickRequestObject) (api.RetrieveClickResponseObject, error) {
	u := work.From(ctx)
	click, err := queries.ClickGet(ctx, u.Short(), db.ClickGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(click.ProgramID); err != nil {
		return nil, err
	}
	// A page of one, so that relations are filled in like those of lists.
	one := []api.Click{toClick(click)}
	err = s.fillClicks(ctx, u, one, r.Params.Expand)
	return api.RetrieveClick200JSONResponse(one[0]), err
}

// CreateClick records a visit to the merchant's server. The value is that of a partner's handle or
// a link; the answer names the visitor's current referral.
func (s *Server) CreateClick(
	ctx context.Context, r api.CreateClickRequestObject,
) (api.CreateClickResponseObject, error) {
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
