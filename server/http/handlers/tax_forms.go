package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/money/tax"
	"rail/server/work"
)

// ListTaxFormStatuses lists the tax-form statuses of a program, newest first, including retired
// ones.
func (s *Server) ListTaxFormStatuses(ctx context.Context,
	r api.ListTaxFormStatusesRequestObject) (api.ListTaxFormStatusesResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.TaxFormList{
		PartnerID: p.PartnerID, Status: list.Any(p.Status),
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, toTaxForm, taxFormParts(p.Expand)...)
	return api.ListTaxFormStatuses200JSONResponse(out), err
}

func taxFormParts(expand []api.TaxFormStatusExpand) []part[api.TaxFormStatus] {
	return []part[api.TaxFormStatus]{
		embedPartner(wants(expand, api.TaxFormStatusExpandPartner),
			func(f *api.TaxFormStatus) (*string, *nullable.Nullable[api.Partner]) { return &f.PartnerID, &f.Partner }),
	}
}

// RetrieveTaxFormStatus returns one tax-form status.
func (s *Server) RetrieveTaxFormStatus(ctx context.Context,
	r api.RetrieveTaxFormStatusRequestObject) (api.RetrieveTaxFormStatusResponseObject, error) {
	u := work.From(ctx)
	form, err := queries.TaxFormGet(ctx, u.Short(), db.TaxFormGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toTaxForm(form), form.ProgramID, err, taxFormParts(r.Params.Expand)...)
	return api.RetrieveTaxFormStatus200JSONResponse(out), err
}

// CreateTaxFormStatus records the status of a form that was collected elsewhere, and retires the
// former one: a partner has one current row of each type.
func (s *Server) CreateTaxFormStatus(ctx context.Context,
	r api.CreateTaxFormStatusRequestObject) (api.CreateTaxFormStatusResponseObject, error) {
	b := r.Body
	f, err := tax.Record(ctx, work.From(ctx), tax.Form{
		PartnerID: b.PartnerID, Type: db.TaxFormType(b.Type), Status: db.TaxFormState(b.Status),
		EntityType: b.EntityType, CountryCode: b.CountryCode, SignedAt: b.SignedAt, ExpiresAt: b.ExpiresAt,
	})
	return api.CreateTaxFormStatus201JSONResponse(toTaxForm(f)), err
}

// toTaxForm converts a status. Rail never stores the form itself, only when it was signed and when
// it expires.
func toTaxForm(f db.TaxFormStatus) api.TaxFormStatus {
	return api.TaxFormStatus{
		ID: f.ID, Object: "tax_form_status", PartnerID: f.PartnerID, Type: api.TaxFormType(f.Type),
		Status: api.TaxFormState(f.Status), EntityType: f.EntityType, CountryCode: f.CountryCode, SignedAt: f.SignedAt,
		ExpiresAt: f.ExpiresAt, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt,
	}
}
