package partner

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/worktest"
	"rail/server/ident"
	"rail/server/problem"
	"rail/server/work"
)

func (x *fixture) approve(id string) func(ctx context.Context, u *work.Unit) error {
	return func(ctx context.Context, u *work.Unit) error { _, err := x.Approve(ctx, u, id); return err }
}

func (x *fixture) reject(id string, reason *string) func(ctx context.Context, u *work.Unit) error {
	return func(ctx context.Context, u *work.Unit) error { _, err := x.Reject(ctx, u, id, reason); return err }
}

// An application is decided once; the applicant gets a mail, and the audit log an entry.
func TestDecisions(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	yes, no := x.apply(x.candidate("ada@example.com")), x.apply(x.candidate("bob@example.com"))
	gone := x.apply(x.candidate("cy@example.com"))
	before := len(x.Events())
	x.Must(x.approve(yes.ID))
	x.Must(x.reject(no.ID, new("  ")))
	x.Must(func(ctx context.Context, u *work.Unit) error { _, err := Withdraw(ctx, u, gone.ID); return err })
	for _, a := range []db.Application{yes, no, gone} {
		x.Refused(problem.ApplicationAlreadyDecided, "", x.approve(a.ID))
		x.Refused(problem.ApplicationAlreadyDecided, "", x.reject(a.ID, nil))
	}
	require.Equal(t, db.PartnerStatusActive, x.stored(*yes.PartnerID).Status)
	require.Equal(t, []any{db.PartnerStatusDeclined, defaultReason}, statusAndReason(x.stored(*no.PartnerID)))
	require.Equal(t, []any{db.PartnerStatusDeclined, withdrawnReason}, statusAndReason(x.stored(*gone.PartnerID)))
	require.Equal(t, []string{
		"application.approved", "affiliate.confirmed", "application.rejected", "affiliate.updated",
	}, x.Events()[before:])
	require.Equal(t, []string{"application.approved", "application.rejected"},
		worktest.Rows[string](x.Tenant, "SELECT action FROM audit_log_entries ORDER BY action"))
	require.Equal(t, []string{"ada@example.com", "bob@example.com"},
		worktest.Rows[string](x.Tenant, "SELECT recipient FROM mails ORDER BY recipient"))
}

func statusAndReason(p db.Partner) []any { return []any{p.Status, *p.DeclineReason} }

// Only declined applicants may apply again, and remain the same partner.
func TestApplyAgain(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	first := x.apply(x.candidate("ada@example.com"))
	again := x.candidate("ada@example.com", func(c *Candidate) {
		c.Handle, c.FirstName, c.LastName = new("lovelace"), new("A\u202eda"), new("L\nM")
	})
	x.Refused(problem.PartnerEmailTaken, "email", func(ctx context.Context, u *work.Unit) error {
		_, err := Apply(ctx, u, again, nil)
		return err
	})
	x.Must(x.reject(first.ID, nil))
	second := x.apply(again)
	require.NotEqual(t, first.ID, second.ID)
	require.Equal(t, *first.PartnerID, *second.PartnerID)
	p := x.stored(*second.PartnerID)
	require.Equal(t, []any{db.PartnerStatusPending, "lovelace", "Ada", "L M"},
		[]any{p.Status, p.Handle, *p.FirstName, *p.LastName})
	require.Nil(t, p.DeclineReason)
	require.Equal(t, "application.submitted", x.Events()[len(x.Events())-1])
	handles := worktest.Rows[string](x.Tenant, "SELECT value FROM tracking_values ORDER BY value")
	require.Equal(t, []string{"ada", "lovelace"}, handles, "the old handle stays taken")
}

// An imported application has no partner until it is decided.
func TestApproveImported(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	imported := ident.New(ident.Application)
	x.sql(`INSERT INTO applications (id, org_id, program_id, email, answers, source, status, created_at, updated_at)
		VALUES ($1, $2, $3, 'ada@example.com', '{}', 'import', 'pending', now(), now())`,
		imported, x.OrgID, x.Program.ID)
	x.Must(x.approve(imported))
	require.Equal(t, []string{"ada active"},
		worktest.Rows[string](x.Tenant, "SELECT handle || ' ' || status FROM partners"))
	require.Equal(t, []string{"affiliate.created", "application.approved", "affiliate.confirmed"}, x.Events())
}

// Above the plan's monthly revenue, applicants can be rejected but not approved.
func TestMeter(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	a := x.apply(x.candidate("ada@example.com"))
	customer := x.customer(nil, nil)
	sell := func(amount int64, at clock.Time) {
		id := ident.New(ident.Sale)
		require.NoError(t, queries.SaleInsert(t.Context(), x.Pool, db.SaleInsertParams{
			ID: id, OrgID: x.OrgID, ProgramID: x.Program.ID, CustomerID: customer, ExternalChargeID: id,
			Processor: "api", AmountMinor: amount, Currency: "USD", BillingType: "one_time",
			ActivityOutcome: "sale_recorded", Warnings: []byte("[]"), OccurredAt: at, CreatedAt: x.Now,
			UpdatedAt: x.Now,
		}))
	}
	approve := func(ctx context.Context, u *work.Unit) error {
		metered := *u
		metered.Plan.RevenueMeterMinor = 500
		return x.approve(a.ID)(ctx, &metered)
	}
	sell(400, x.Now)
	sell(400, x.Now.Days(-30)) // counts for another month
	sell(101, x.Now)
	x.Refused(problem.RevenueMeterExceeded, "", approve)
	x.sql("UPDATE sales SET amount_minor = 100 WHERE amount_minor = 101")
	x.Must(approve)
}
