package tax

import (
	"context"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// Form is a form collected elsewhere, to be recorded.
type Form struct {
	PartnerID               string
	Type                    db.TaxFormType
	Status                  db.TaxFormState
	EntityType, CountryCode *string
	SignedAt, ExpiresAt     *clock.Time
}

// Record records the status of a form collected elsewhere, and retires the forms it replaces.
func Record(ctx context.Context, u *work.Unit, in Form) (db.TaxFormStatus, error) {
	f := db.TaxFormStatus{
		ID: u.NewID(ident.TaxForm), OrgID: u.OrgID, PartnerID: in.PartnerID, Type: in.Type, Status: in.Status,
		EntityType: in.EntityType, CountryCode: opt.Upper(in.CountryCode), SignedAt: in.SignedAt,
		ExpiresAt: in.ExpiresAt, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if err := checkDates(&f, u.Now); err != nil {
		return f, err
	}
	// The lock serializes the forms of a partner, so that a replaced form cannot stay current.
	partner, err := queries.PartnerLock(ctx, u.Tx, db.PartnerLockParams{ID: in.PartnerID, OrgID: u.OrgID})
	if err != nil {
		return f, work.Found(err, "partner_id")
	}
	if err := u.CheckProgram(partner.ProgramID); err != nil {
		return f, err
	}
	f.ProgramID = partner.ProgramID
	if err := supersede(ctx, u, f); err != nil {
		return f, err
	}
	if err := queries.TaxFormInsert(ctx, u.Later(), db.TaxFormInsertParams(f)); err != nil {
		return f, err
	}
	return f, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: f.ProgramID, Action: "tax_form_status.created", TargetID: f.ID,
		After: map[string]any{"partner_id": f.PartnerID, "type": f.Type, "status": f.Status},
	})
}

// checkDates validates the dates of a form, and sets the expiry of a valid one. A form that is only requested,
// or not wanted, has no dates.
func checkDates(f *db.TaxFormStatus, now clock.Time) error {
	dateless := f.Status == db.TaxFormStateRequired || f.Status == db.TaxFormStateNotRequired
	switch {
	case dateless && f.SignedAt != nil:
		return problem.Invalid("signed_at", "A form with status %s cannot have signed_at.", f.Status)
	case dateless && f.ExpiresAt != nil:
		return problem.Invalid("expires_at", "A form with status %s cannot have expires_at.", f.Status)
	case f.SignedAt != nil && f.SignedAt.After(now.Time):
		return problem.Invalid("signed_at", "signed_at is in the future.")
	}
	// Without a signing date, the form counts as signed today.
	if f.Status == db.TaxFormStateSubmitted && f.ExpiresAt == nil {
		signed := now
		if f.SignedAt != nil {
			signed = *f.SignedAt
		}
		f.ExpiresAt = Expiry(f.Type, signed)
	}
	switch {
	case f.SignedAt != nil && f.ExpiresAt != nil && !f.ExpiresAt.After(f.SignedAt.Time):
		return problem.Invalid("expires_at", "expires_at must be after signed_at.")
	case f.Status == db.TaxFormStateSubmitted && f.ExpiresAt != nil && !f.ExpiresAt.After(now.Time):
		return problem.Invalid("expires_at", "The form expired at %s; record it as expired.", f.ExpiresAt)
	}
	return nil
}

// supersede retires the rows that the new one replaces: a submitted form replaces every other current row of the
// partner, a request replaces the current row of its type, and an expired form the valid one of its type
// (decisions, 122).
func supersede(ctx context.Context, u *work.Unit, f db.TaxFormStatus) error {
	p := db.TaxFormSupersedeParams{UpdatedAt: u.Now, ProgramID: f.ProgramID, OrgID: f.OrgID, PartnerID: f.PartnerID}
	switch f.Status {
	case db.TaxFormStateRequired, db.TaxFormStateNotRequired:
		p.Type = (*string)(&f.Type)
	case db.TaxFormStateSubmitted:
	case db.TaxFormStateExpired:
		return queries.TaxFormRetire(ctx, u.Later(), db.TaxFormRetireParams{
			UpdatedAt: u.Now, ProgramID: f.ProgramID, OrgID: f.OrgID, PartnerID: f.PartnerID, Type: f.Type,
			SignedAt: f.SignedAt,
		})
	default:
		return nil // a past record
	}
	return queries.TaxFormSupersede(ctx, u.Later(), p)
}
