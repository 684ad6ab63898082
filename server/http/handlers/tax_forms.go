package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/auditlog"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/tax"
	"rail/server/opt"
	"rail/server/page"
	"rail/server/problem"
	"rail/server/work"
)

// ListTaxFormStatuses lists the tax-form statuses of a program, newest first.
func (s *Server) ListTaxFormStatuses(ctx context.Context,
	r api.ListTaxFormStatusesRequestObject) (api.ListTaxFormStatusesResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := page.Of(ctx, u, page.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.TaxFormList{
		PartnerID: p.PartnerID, Status: page.Any(p.Status),
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toTaxForm)
	if err := fillTaxForms(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListTaxFormStatuses200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
}

func fillTaxForms(ctx context.Context, u *work.Unit, forms []api.TaxFormStatus, expand []api.TaxFormStatusExpand) error {
	return together(ctx, u, embedPartner(ctx, u, wants(expand, api.TaxFormStatusExpandPartner), forms,
		func(f *api.TaxFormStatus) (*string, *nullable.Nullable[api.Partner]) { return &f.PartnerID, &f.Partner }))
}

// RetrieveTaxFormStatus returns one tax-form status.
func (s *Server) RetrieveTaxFormStatus(ctx context.Context, r api.RetrieveTaxFormStatusRequestObject) (api.RetrieveTaxFormStatusResponseObject, error) {
	u := work.From(ctx)
	form, err := queries.TaxFormGet(ctx, u.DB(), db.TaxFormGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(form.ProgramID); err != nil {
		return nil, err
	}
	one := []api.TaxFormStatus{toTaxForm(form)}
	err = fillTaxForms(ctx, u, one, r.Params.Expand)
	return api.RetrieveTaxFormStatus200JSONResponse(one[0]), err
}

// CreateTaxFormStatus records the status of a form that was collected elsewhere.
func (s *Server) CreateTaxFormStatus(ctx context.Context, r api.CreateTaxFormStatusRequestObject) (api.CreateTaxFormStatusResponseObject, error) {
	u, b := work.From(ctx), r.Body
	f := db.TaxFormStatus{
		ID: ident.New(ident.TaxForm), OrgID: u.OrgID, PartnerID: b.PartnerID, Type: db.TaxFormType(b.Type), Status: db.TaxFormState(b.Status),
		EntityType: b.EntityType, CountryCode: opt.Upper(b.CountryCode), SignedAt: b.SignedAt, ExpiresAt: b.ExpiresAt, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if err := datesOf(&f, u.Now); err != nil {
		return nil, err
	}
	partner, err := queries.PartnerLock(ctx, u.Tx, db.PartnerLockParams{ID: b.PartnerID, OrgID: u.OrgID})
	if err != nil {
		return nil, work.Found(err, "partner_id")
	}
	if err := u.CheckProgram(partner.ProgramID); err != nil {
		return nil, err
	}
	f.ProgramID = partner.ProgramID
	if err := supersede(ctx, u, f); err != nil {
		return nil, err
	}
	if err := queries.TaxFormInsert(ctx, u.Later(), db.TaxFormInsertParams(f)); err != nil {
		return nil, err
	}
	err = auditlog.Record(ctx, u, auditlog.Entry{ProgramID: f.ProgramID, Action: "tax_form_status.created", TargetID: f.ID, After: map[string]any{"partner_id": f.PartnerID, "type": f.Type, "status": f.Status}})
	return api.CreateTaxFormStatus201JSONResponse(toTaxForm(f)), err
}

// datesOf judges the dates of a form, and fills in when a valid one runs out.
func datesOf(f *db.TaxFormStatus, now clock.Time) error {
	asked := f.Status == db.TaxFormStateRequired || f.Status == db.TaxFormStateNotRequired
	switch {
	case asked && f.SignedAt != nil:
		return problem.Invalid("signed_at", "A form that is %s has not been signed.", f.Status)
	case asked && f.ExpiresAt != nil:
		return problem.Invalid("expires_at", "A form that is %s does not run out.", f.Status)
	case f.SignedAt != nil && f.SignedAt.After(now.Time):
		return problem.Invalid("signed_at", "signed_at lies in the future.")
	}
	if f.Status == db.TaxFormStateSubmitted && f.ExpiresAt == nil {
		signed := now
		if f.SignedAt != nil {
			signed = *f.SignedAt
		}
		f.ExpiresAt = tax.Expiry(f.Type, signed)
	}
	switch {
	case f.SignedAt != nil && f.ExpiresAt != nil && !f.ExpiresAt.After(f.SignedAt.Time):
		return problem.Invalid("expires_at", "expires_at must lie after signed_at.")
	case f.Status == db.TaxFormStateSubmitted && f.ExpiresAt != nil && !f.ExpiresAt.After(now.Time):
		return problem.Invalid("expires_at", "The form ran out at %s; record it as expired.", f.ExpiresAt)
	}
	return nil
}

// supersede retires what the new row replaces: a submitted form every other
// current row of the partner, a row that asks the current one of its type, and one
// that has run out the valid one of its type (decisions, 122).
func supersede(ctx context.Context, u *work.Unit, f db.TaxFormStatus) error {
	p := db.TaxFormSupersedeParams{UpdatedAt: u.Now, ProgramID: f.ProgramID, OrgID: f.OrgID, PartnerID: f.PartnerID}
	switch f.Status {
	case db.TaxFormStateRequired, db.TaxFormStateNotRequired:
		p.Type = (*string)(&f.Type)
	case db.TaxFormStateSubmitted:
	case db.TaxFormStateExpired:
		return queries.TaxFormRunOut(ctx, u.Later(), db.TaxFormRunOutParams{
			UpdatedAt: u.Now, ProgramID: f.ProgramID, OrgID: f.OrgID, PartnerID: f.PartnerID, Type: f.Type, SignedAt: f.SignedAt,
		})
	default:
		return nil // a record of the past
	}
	return queries.TaxFormSupersede(ctx, u.Later(), p)
}

func toTaxForm(f db.TaxFormStatus) api.TaxFormStatus {
	return api.TaxFormStatus{
		ID: f.ID, Object: "tax_form_status", PartnerID: f.PartnerID, Type: api.TaxFormType(f.Type), Status: api.TaxFormState(f.Status),
		EntityType: f.EntityType, CountryCode: f.CountryCode, SignedAt: f.SignedAt, ExpiresAt: f.ExpiresAt, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt,
	}
}
