package handlers

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/site/browser"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/program/tracking"
	"rail/server/work"
)

// CreateBrowserVisit records a page's visit, or takes over a click from another page, and returns
// the visitor's attribution.
func (s *Server) CreateBrowserVisit(ctx context.Context,
	r api.CreateBrowserVisitRequestObject) (api.CreateBrowserVisitResponseObject, error) {
	u, by, b := work.From(ctx), browser.From(ctx), r.Body
	program := by.Key.ProgramID
	if err := u.CheckProgram(program); err != nil {
		return nil, err
	}
	handed, err := takeOver(ctx, u, by, b)
	if err != nil {
		return nil, err
	}
	by.Recognize(b.Visitor)
	visit := tracking.BrowserVisit{Repeated: handed}
	if !handed {
		if !by.Sighted {
			return api.CreateBrowserVisit204Response{}, nil
		}
		if visit, err = s.browse(ctx, u, by, b); err != nil {
			return nil, err
		}
	}
	by.Keep()
	if !visit.Last {
		visit.Credited, err = tracking.CreditedPartner(ctx, u, program, by.Visitor, by.Handed)
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows): // expired, or its partner is no longer active
		return api.CreateBrowserVisit204Response{}, nil
	case err != nil:
		return nil, err
	case visit.Repeated:
		return api.CreateBrowserVisit200JSONResponse(toAttribution(by.Visitor, visit.Credited)), nil
	}
	return api.CreateBrowserVisit201JSONResponse(toAttribution(by.Visitor, visit.Credited)), nil
}

// browse records a visit.
func (s *Server) browse(
	ctx context.Context, u *work.Unit, by *browser.Caller, b *api.BrowserVisit,
) (out tracking.BrowserVisit, err error) {
	visit := tracking.Visit{
		Param: opt.Value(b.Param), VisitorToken: by.Visitor, LandingURL: cmp.Or(opt.Value(b.URL), by.Page()),
		IP: by.Address, UserAgent: &by.UserAgent, Referer: b.Referrer,
	}
	err = u.Within(ctx, func(u *work.Unit) (err error) {
		out, err = s.Tracking.Browse(ctx, u, by.Key.ProgramID, *b.Value, visit)
		return err
	})
	return out, err
}

// takeOver assigns the click of a body to the visitor. It reports false if there is no click to
// take and the value applies.
func takeOver(ctx context.Context, u *work.Unit, by *browser.Caller, b *api.BrowserVisit) (bool, error) {
	if b.ClickID == nil && b.Value == nil {
		return false, problem.Missing("value")
	}
	if b.ClickID == nil {
		return false, nil
	}
	handed, err := tracking.ClickInProgram(ctx, u, by.Key.ProgramID, *b.ClickID)
	switch {
	case err != nil:
		return false, err
	case handed:
		by.Handed = *b.ClickID
	case b.Value == nil:
		return false, problem.NotFound("click_id")
	}
	return handed, nil
}

// RetrieveBrowserAttribution returns the attribution of the browser's cookie.
func (s *Server) RetrieveBrowserAttribution(
	ctx context.Context, _ api.RetrieveBrowserAttributionRequestObject,
) (api.RetrieveBrowserAttributionResponseObject, error) {
	u, by := work.From(ctx), browser.From(ctx)
	if err := u.CheckProgram(by.Key.ProgramID); err != nil {
		return nil, err
	}
	if by.Visitor == "" {
		return api.RetrieveBrowserAttribution204Response{}, nil
	}
	credited, err := tracking.CreditedPartner(ctx, u, by.Key.ProgramID, by.Visitor, by.Handed)
	if errors.Is(err, pgx.ErrNoRows) {
		return api.RetrieveBrowserAttribution204Response{}, nil
	}
	return api.RetrieveBrowserAttribution200JSONResponse(toAttribution(by.Visitor, credited)), err
}

// CreateBrowserLead makes a customer of the visitor. The answer is the same for a new and a known
// customer, so that pages cannot find out who is a customer.
func (s *Server) CreateBrowserLead(ctx context.Context,
	r api.CreateBrowserLeadRequestObject) (api.CreateBrowserLeadResponseObject, error) {
	u, by, b := work.From(ctx), browser.From(ctx), r.Body
	switch {
	case !by.Key.AllowLeads:
		return nil, problem.New(problem.InsufficientScope, "This key takes no leads: it was made without allow_leads.")
	case b.Email == nil && b.Identifier == nil:
		return nil, problem.Missing("email")
	}
	if err := u.CheckProgram(by.Key.ProgramID); err != nil {
		return nil, err
	}
	visitor, click := cmp.Or(by.Visitor, opt.Value(b.Visitor)), by.Handed
	if b.ClickID != nil { // the page's click takes precedence over the cookie
		visitor, click = "", *b.ClickID
	}
	credited, err := tracking.CreditedPartner(ctx, u, by.Key.ProgramID, visitor, click)
	if errors.Is(err, pgx.ErrNoRows) {
		return api.CreateBrowserLead204Response{}, nil
	}
	if err != nil {
		return nil, err
	}
	err = u.Within(ctx, func(u *work.Unit) error {
		return s.Customers.Lead(ctx, u, customer.BrowserLead{
			ProgramID: by.Key.ProgramID, ClickID: credited.ClickID, ReferralID: credited.ReferralID,
			Email: b.Email, Identifier: b.Identifier,
		})
	})
	return api.CreateBrowserLead200JSONResponse{
		Object: "browser_lead", ClickID: credited.ClickID, ReferralID: credited.ReferralID,
	}, err
}

// toAttribution returns the public part of a visitor's attribution.
func toAttribution(visitor string, r db.VisitorReferralRow) api.BrowserAttribution {
	out := api.BrowserAttribution{
		Object: "browser_attribution", Visitor: visitor, ClickID: r.ClickID, ReferralID: r.ReferralID,
		ExpiresAt: r.ExpiresAt, Partner: api.BrowserPartner{Name: r.Name, Handle: r.Handle},
	}
	if r.Coupon != "" {
		out.Discount = &api.BrowserDiscount{Code: r.Coupon, Label: r.Coupon}
	}
	return out
}
