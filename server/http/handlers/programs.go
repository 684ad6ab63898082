package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/money/rules"
	"rail/server/money/statement"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/program"
	"rail/server/work"
)

// ListPrograms lists the organization's programs, newest first.
func (s *Server) ListPrograms(ctx context.Context,
	r api.ListProgramsRequestObject) (api.ListProgramsResponseObject, error) {
	p := r.Params
	q := newQuery("", p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.ProgramList{}, toProgram, programParts(p.Include))
	return api.ListPrograms200JSONResponse(out), err
}

// RetrieveProgram returns one program.
func (s *Server) RetrieveProgram(ctx context.Context,
	r api.RetrieveProgramRequestObject) (api.RetrieveProgramResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.ProgramGet(ctx, u.Short(), db.ProgramGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toProgram(row), row.ID, err, programParts(r.Params.Include))
	return api.RetrieveProgram200JSONResponse(out), err
}

// statusDays is the period of failures and unattributed payments in a program's status.
const statusDays = 30

// RetrieveProgramStatus returns the open tasks of a program and the state of its setup.
func (s *Server) RetrieveProgramStatus(ctx context.Context,
	r api.RetrieveProgramStatusRequestObject) (api.RetrieveProgramStatusResponseObject, error) {
	u := work.From(ctx)
	if err := u.CheckProgram(r.ID); err != nil {
		return nil, err
	}
	row, err := queries.ProgramStatus(ctx, u.DB(), db.ProgramStatusParams{
		Since: u.Now.Days(-statusDays), ID: r.ID, OrgID: u.OrgID,
	})
	if err != nil {
		return nil, err
	}
	owed, err := programOwed(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	return api.RetrieveProgramStatus200JSONResponse{
		Object:    "program_status",
		ProgramID: r.ID,
		Owed:      owed,
		Waiting: api.ProgramWaiting{
			Applications:           row.Applications,
			RiskFlags:              row.RiskFlags,
			FailedMails:            row.FailedMails,
			DisabledEndpoints:      row.DisabledEndpoints,
			PayoutsToCheck:         row.PayoutsToCheck,
			PaymentsWithoutPartner: row.PaymentsWithoutPartner,
			FailedEvents:           row.FailedEvents,
		},
		Setup: api.ProgramSetup{
			ScriptSeenAt:       row.ScriptSeenAt,
			ProcessorConnected: row.ProcessorConnected,
			ProcessorSeenAt:    row.ProcessorSeenAt,
			SaleSeenAt:         row.SaleSeenAt,
			HasFlow:            row.HasFlow,
			HasTerms:           row.HasTerms,
			HasMail:            s.Mail.Ready(),
			HasPayoutMethod:    row.HasPayoutMethod,
			HasPartner:         row.HasPartner,
		},
	}, nil
}

// programOwed returns the debt to the partners of a program by currency.
func programOwed(ctx context.Context, u *work.Unit, id string) ([]api.ProgramOwed, error) {
	rows, err := queries.ProgramBalances(ctx, u.DB(), db.ProgramBalancesParams{ProgramID: id, OrgID: u.OrgID})
	out := make([]api.ProgramOwed, len(rows))
	for i, r := range rows {
		out[i] = api.ProgramOwed{
			Currency: r.Currency, PendingMinor: r.PendingMinor, DueMinor: r.DueMinor, PartnerCount: r.PartnerCount,
		}
	}
	return out, err
}

func programParts(include []api.ProgramInclude) part[api.Program] {
	return when(wants(include, api.ProgramIncludeStats), programStats)
}

// programStats adds the counters of programs. A program without rows gets zeros.
func programStats(ctx context.Context, tx pgtx.DBTX, orgID string, programs []api.Program) error {
	rows, err := queries.ProgramStats(ctx, tx, db.ProgramStatsParams{
		Ids: ids(programs, func(p *api.Program) string { return p.ID }), OrgID: orgID,
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
	b := r.Body
	p, err := program.Create(ctx, work.From(ctx), program.Input{
		Name:         b.Name,
		WebsiteURL:   b.WebsiteURL,
		Currency:     b.Currency,
		TermsURL:     b.TermsURL,
		TermsVersion: b.TermsVersion,
		Subdomain:    b.Subdomain,
		Settings: program.Settings{
			ProductName:            b.ProductName,
			Status:                 (*db.ProgramStatus)(b.Status),
			CookieDays:             b.CookieDays,
			HoldingPeriodDays:      b.HoldingPeriodDays,
			MinPayoutMinor:         b.MinPayoutMinor,
			PayoutTerm:             (*db.PayoutTerm)(b.PayoutTerm),
			CommissionOnNetRevenue: b.CommissionOnNetRevenue,
			CommissionBase:         (*rules.Base)(b.CommissionBase),
			BlockSelfReferrals:     b.BlockSelfReferrals,
			RequireTaxForms:        b.RequireTaxForms,
			AutoPayoutsEnabled:     b.AutoPayoutsEnabled,
			BlockedCountries:       b.BlockedCountries,
			URLParams:              b.URLParams,
			PayoutMethods:          methodsOf(b.PayoutMethods),
			AttributionModel:       (*db.AttributionModel)(b.AttributionModel),
			ClickOnRedirect:        b.ClickOnRedirect,
			AutoEnrolCustomers:     b.AutoEnrolCustomers,
			LeadMatchDays:          opt.Nullable(b.LeadMatchDays),
			MinPayingCustomers:     b.MinPayingCustomers,
			TimeZone:               b.TimeZone,
			CouponBeatsLink:        b.CouponBeatsLink,
			IgnoreLateClicks:       b.IgnoreLateClicks,
			StatementPrefix:        b.StatementPrefix,
			StatementSeller:        opt.Nullable(sellerOf(b.StatementSeller)),
			SelfBilling:            b.SelfBilling,
			VATRateBPS:             opt.Nullable(b.VatRateBps),
			AgentLimitMinor:        b.AgentLimitMinor,
		},
	})
	return api.CreateProgram201JSONResponse(toProgram(p)), err
}

// UpdateProgram changes a program.
func (s *Server) UpdateProgram(ctx context.Context,
	r api.UpdateProgramRequestObject) (api.UpdateProgramResponseObject, error) {
	b := r.Body
	p, err := program.Update(ctx, work.From(ctx), r.ID, program.Changes{
		Name: b.Name, WebsiteURL: b.WebsiteURL, TermsURL: b.TermsURL, TermsVersion: b.TermsVersion,
		Settings: program.Settings{
			ProductName:            b.ProductName,
			Status:                 (*db.ProgramStatus)(b.Status),
			CookieDays:             b.CookieDays,
			HoldingPeriodDays:      b.HoldingPeriodDays,
			MinPayoutMinor:         b.MinPayoutMinor,
			PayoutTerm:             (*db.PayoutTerm)(b.PayoutTerm),
			CommissionOnNetRevenue: b.CommissionOnNetRevenue,
			CommissionBase:         (*rules.Base)(b.CommissionBase),
			BlockSelfReferrals:     b.BlockSelfReferrals,
			RequireTaxForms:        b.RequireTaxForms,
			AutoPayoutsEnabled:     b.AutoPayoutsEnabled,
			BlockedCountries:       b.BlockedCountries,
			URLParams:              b.URLParams,
			PayoutMethods:          methodsOf(b.PayoutMethods),
			AttributionModel:       (*db.AttributionModel)(b.AttributionModel),
			ClickOnRedirect:        b.ClickOnRedirect,
			AutoEnrolCustomers:     b.AutoEnrolCustomers,
			LeadMatchDays:          b.LeadMatchDays,
			MinPayingCustomers:     b.MinPayingCustomers,
			TimeZone:               b.TimeZone,
			CouponBeatsLink:        b.CouponBeatsLink,
			IgnoreLateClicks:       b.IgnoreLateClicks,
			StatementPrefix:        b.StatementPrefix,
			StatementSeller:        changedSeller(b.StatementSeller),
			SelfBilling:            b.SelfBilling,
			VATRateBPS:             b.VatRateBps,
			AgentLimitMinor:        b.AgentLimitMinor,
		},
	})
	return api.UpdateProgram200JSONResponse(toProgram(p)), err
}

// sellerOf converts the company of statements; nil for none.
func sellerOf(b *api.StatementSeller) *statement.Seller {
	if b == nil {
		return nil
	}
	return &statement.Seller{Name: b.Name, Address: b.Address, TaxIDs: append([]string{}, b.TaxIds...)}
}

// changedSeller converts a changed company of statements, which may be null or absent.
func changedSeller(b nullable.Nullable[api.StatementSeller]) (out nullable.Nullable[statement.Seller]) {
	seller, err := b.Get()
	switch {
	case err == nil:
		out.Set(*sellerOf(&seller))
	case b.IsNull():
		out.SetNull()
	}
	return out
}

// methodsOf returns the given payout methods; nil if none were given, so that an update keeps the list.
func methodsOf(list []api.PayoutMethod) []string {
	if list == nil {
		return nil
	}
	return texts(list)
}
