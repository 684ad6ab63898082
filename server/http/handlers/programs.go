package handlers

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/currency"
	"rail/server/ident"
	"rail/server/money/tax"
	"rail/server/opt"
	"rail/server/page"
	"rail/server/slug"
	"rail/server/work"
)

// subdomainMax is the longest label of a domain name.
const subdomainMax = 63

// ListPrograms lists the organization's programs, newest first.
func (s *Server) ListPrograms(ctx context.Context,
	r api.ListProgramsRequestObject) (api.ListProgramsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := page.Of(ctx, u, page.In("", p.Limit, p.StartingAfter, p.EndingBefore), db.ProgramList{})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toProgram)
	err = addProgramStats(ctx, u, data, p.Include)
	return api.ListPrograms200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, err
}

// RetrieveProgram returns one program.
func (s *Server) RetrieveProgram(ctx context.Context,
	r api.RetrieveProgramRequestObject) (api.RetrieveProgramResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.ProgramGet(ctx, u.DB(), db.ProgramGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(row.ID); err != nil {
		return nil, err
	}
	out := []api.Program{toProgram(row)}
	err = addProgramStats(ctx, u, out, r.Params.Include)
	return api.RetrieveProgram200JSONResponse(out[0]), err
}

// addProgramStats sets the counters of programs where include asks for them, with
// one query for the whole page. A program without rows gets zeros.
func addProgramStats(ctx context.Context, u *work.Unit, programs []api.Program, include []api.ProgramInclude) error {
	if !wants(include, api.ProgramIncludeStats) || len(programs) == 0 {
		return nil
	}
	rows, err := queries.ProgramStats(ctx, u.DB(), db.ProgramStatsParams{
		Ids: ids(programs, func(p *api.Program) string { return p.ID }), OrgID: u.OrgID,
	})
	stats := map[string]api.ProgramStats{}
	for _, r := range rows {
		stats[r.ID] = api.ProgramStats{
			Partners: r.Partners, ActivePartners: r.ActivePartners, Clicks: r.Clicks, Referrals: r.Referrals,
			Customers: r.Customers, SalesMinor: r.SalesMinor, CommissionsMinor: r.CommissionsMinor,
		}
	}
	for i := range programs {
		programs[i].Stats = new(stats[programs[i].ID])
	}
	return err
}

// CreateProgram adds a program together with its Default group.
func (s *Server) CreateProgram(ctx context.Context,
	r api.CreateProgramRequestObject) (api.CreateProgramResponseObject, error) {
	u := work.From(ctx)
	p, err := newProgram(u, r.Body)
	if err != nil {
		return nil, err
	}
	if err := queries.ProgramInsert(ctx, u.Later(), db.ProgramInsertParams(p)); err != nil {
		return nil, err
	}
	err = queries.GroupAdd(ctx, u.Later(), db.GroupAddParams{
		ID: ident.New(ident.Group), OrgID: p.OrgID, ProgramID: p.ID, Name: "Default", Slug: "default", IsDefault: true,
		CreatedAt: u.Now, UpdatedAt: u.Now,
	})
	return api.CreateProgram201JSONResponse(toProgram(p)), err
}

// newProgram returns a program with the defaults for what the body leaves out
// (decisions, 35 and 180).
func newProgram(u *work.Unit, b *api.ProgramCreate) (db.Program, error) {
	code, err := currency.Parse(b.Currency)
	if err != nil {
		return db.Program{}, err
	}
	p := db.Program{
		ID: ident.New(ident.Program), OrgID: u.OrgID, Name: b.Name, ProductName: b.Name, WebsiteURL: b.WebsiteURL,
		Currency: code, Status: db.ProgramStatusActive, TermsURL: b.TermsURL, CookieDays: 30, URLParams: []string{"ref"},
		HoldingPeriodDays: 30, PayoutTerm: db.PayoutTermNet30, PayoutMethods: distinct(texts(b.PayoutMethods)),
		BlockSelfReferrals: true,
		BlockedCountries:   countries(b.BlockedCountries), Processor: new("api"), CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if b.URLParams != nil {
		p.URLParams = distinct(b.URLParams)
	}
	if p.Subdomain = opt.Value(b.Subdomain); p.Subdomain == "" {
		p.Subdomain = subdomainOf(b.Name)
	}
	opt.Change(&p.AutoPayoutsEnabled, b.AutoPayoutsEnabled)
	patchProgram(&p, &api.ProgramUpdate{
		ProductName: b.ProductName, Status: b.Status, CookieDays: b.CookieDays,
		CommissionOnNetRevenue: b.CommissionOnNetRevenue,
		HoldingPeriodDays:      b.HoldingPeriodDays, MinPayoutMinor: b.MinPayoutMinor, PayoutTerm: b.PayoutTerm,
		BlockSelfReferrals: b.BlockSelfReferrals, RequireTaxForms: b.RequireTaxForms,
	})
	return p, nil
}

// subdomainOf returns the name as a label of a domain; a name without a usable
// letter becomes "program".
func subdomainOf(name string) string {
	return cmp.Or(slug.Of(name, subdomainMax), "program")
}

// UpdateProgram changes a program; what exists under its old settings, such as
// the end of a referral, keeps them.
func (s *Server) UpdateProgram(ctx context.Context,
	r api.UpdateProgramRequestObject) (api.UpdateProgramResponseObject, error) {
	u := work.From(ctx)
	before, err := queries.ProgramLock(ctx, u.DB(), db.ProgramLockParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(before.ID); err != nil {
		return nil, err
	}
	p := before
	patchProgram(&p, r.Body)
	// A change to the same values keeps updated_at and writes nothing.
	if reflect.DeepEqual(before, p) {
		return api.UpdateProgram200JSONResponse(toProgram(before)), nil
	}
	p.UpdatedAt = u.Now
	err = queries.ProgramUpdate(ctx, u.Later(), db.ProgramUpdateParams{
		Name: p.Name, ProductName: p.ProductName, WebsiteURL: p.WebsiteURL, Status: p.Status, TermsURL: p.TermsURL,
		CookieDays:             p.CookieDays,
		CommissionOnNetRevenue: p.CommissionOnNetRevenue, HoldingPeriodDays: p.HoldingPeriodDays,
		MinPayoutMinor: p.MinPayoutMinor,
		PayoutTerm:     p.PayoutTerm, BlockSelfReferrals: p.BlockSelfReferrals, BlockedCountries: p.BlockedCountries,
		RequireTaxForms: p.RequireTaxForms, UpdatedAt: p.UpdatedAt, ID: p.ID, OrgID: p.OrgID,
	})
	if err == nil && p.RequireTaxForms != before.RequireTaxForms {
		err = askForTaxForms(ctx, u, p)
	}
	return api.UpdateProgram200JSONResponse(toProgram(p)), err
}

// askForTaxForms asks all partners for a form, or no longer does (decisions, 156).
func askForTaxForms(ctx context.Context, u *work.Unit, p db.Program) error {
	if p.RequireTaxForms {
		return tax.Ask(ctx, u.Tx, p.OrgID, p.ID, u.Now)
	}
	return tax.Excuse(ctx, u.Later(), p.OrgID, p.ID, u.Now)
}

// patchProgram applies the members that the body gives; the others stay.
// CreateProgram uses it too, so that both read them alike.
func patchProgram(p *db.Program, b *api.ProgramUpdate) {
	opt.Change(&p.Name, b.Name)
	opt.Change(&p.ProductName, b.ProductName)
	opt.Change(&p.WebsiteURL, b.WebsiteURL)
	opt.Change(&p.Status, (*db.ProgramStatus)(b.Status))
	opt.ChangeOrClear(&p.TermsURL, b.TermsURL)
	opt.Change(&p.CookieDays, b.CookieDays)
	opt.Change(&p.CommissionOnNetRevenue, b.CommissionOnNetRevenue)
	opt.Change(&p.HoldingPeriodDays, b.HoldingPeriodDays)
	opt.Change(&p.MinPayoutMinor, b.MinPayoutMinor)
	opt.Change(&p.PayoutTerm, (*db.PayoutTerm)(b.PayoutTerm))
	opt.Change(&p.BlockSelfReferrals, b.BlockSelfReferrals)
	opt.Change(&p.RequireTaxForms, b.RequireTaxForms)
	if b.BlockedCountries != nil {
		p.BlockedCountries = countries(b.BlockedCountries)
	}
}

// countries returns country codes in upper case, each once.
func countries(codes []string) []string {
	up := make([]string, len(codes))
	for i, code := range codes {
		up[i] = strings.ToUpper(code)
	}
	return distinct(up)
}

// distinct returns values in their order, each once; it is never nil.
func distinct(values []string) []string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
