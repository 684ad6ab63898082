package tax_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/worktest"
	"rail/server/money/tax"
	"rail/server/problem"
	"rail/server/work"
)

func recording(f tax.Form) func(context.Context, *work.Unit) error {
	return func(ctx context.Context, u *work.Unit) error {
		_, err := tax.Record(ctx, u, f)
		return err
	}
}

// The dates of a form must fit its status and each other; a valid form without an expiry gets the legal one.
func TestDates(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	ann := x.Partner("ann")
	form := func(status db.TaxFormState, signed, expires *clock.Time) tax.Form {
		return tax.Form{
			PartnerID: ann.ID, Type: db.TaxFormTypeW8ben, Status: status, SignedAt: signed, ExpiresAt: expires,
			CountryCode: new("gb"),
		}
	}
	refused := func(param string, f tax.Form) { x.Refused(problem.ParameterInvalid, param, recording(f)) }
	yesterday, today, tomorrow := new(x.Now.Days(-1)), new(x.Now), new(x.Now.Days(1))
	refused("signed_at", form(db.TaxFormStateRequired, yesterday, nil))
	refused("expires_at", form(db.TaxFormStateNotRequired, nil, tomorrow))
	refused("signed_at", form(db.TaxFormStateSubmitted, tomorrow, nil))
	refused("expires_at", form(db.TaxFormStateExpired, yesterday, yesterday))
	refused("expires_at", form(db.TaxFormStateSubmitted, yesterday, today))
	refused("expires_at", form(db.TaxFormStateSubmitted, new(x.Now.Days(-2000)), nil))
	require.Empty(t, forms(x))
	x.Must(recording(form(db.TaxFormStateSubmitted, yesterday, nil)))
	require.Equal(t, []string{"2029-12-31 GB"}, worktest.Rows[string](x,
		"SELECT to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD ') || country_code FROM tax_form_statuses"))
}

// A submitted form retires every current row of its partner, a request only the current row of its type, and a
// past form nothing.
func TestSupersede(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	ann, bob := x.Partner("ann"), x.Partner("bob")
	record := func(p db.Partner, form db.TaxFormType, status db.TaxFormState) {
		x.Must(recording(tax.Form{PartnerID: p.ID, Type: form, Status: status}))
	}
	current := func() []string {
		return worktest.Rows[string](x, `SELECT type || ' ' || status FROM tax_form_statuses
			WHERE partner_id = $1 AND status <> 'superseded' ORDER BY 1`, ann.ID)
	}
	record(bob, db.TaxFormTypeW9, db.TaxFormStateRequired)
	record(ann, db.TaxFormTypeW9, db.TaxFormStateRequired)
	record(ann, db.TaxFormTypeW8ben, db.TaxFormStateRequired)
	require.Equal(t, []string{"w8ben required", "w9 required"}, current())
	record(ann, db.TaxFormTypeW9, db.TaxFormStateNotRequired)
	require.Equal(t, []string{"w8ben required", "w9 not_required"}, current())
	record(ann, db.TaxFormTypeW9, db.TaxFormStateSuperseded)
	require.Equal(t, []string{"w8ben required", "w9 not_required"}, current())
	record(ann, db.TaxFormTypeW8ben, db.TaxFormStateSubmitted)
	require.Equal(t, []string{"w8ben submitted"}, current())
	require.Equal(t, []int64{1}, worktest.Rows[int64](x,
		"SELECT count(*) FROM tax_form_statuses WHERE partner_id = $1 AND status = 'required'", bob.ID))
}
