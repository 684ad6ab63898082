package commission

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/ident"
	"rail/server/problem"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func states(x *worktest.Tenant) []string {
	x.Helper()
	return worktest.Rows[string](x,
		"SELECT concat_ws(' ', kind, status, amount_minor) FROM commissions ORDER BY created_at, id")
}

// signUp applies the sign-up flows to a newly written customer.
func signUp(x *worktest.Tenant, p db.Partner, status db.CustomerStatus) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) error {
		k := db.Customer{
			ID: ident.New(ident.Customer), OrgID: x.OrgID, ProgramID: x.Program.ID, PartnerID: &p.ID, Status: status,
			TrackedBy: "api", LeadAt: x.Now, CreatedAt: x.Now, UpdatedAt: x.Now,
		}
		if err := queries.CustomerInsert(ctx, u.Tx, db.CustomerInsertParams(k)); err != nil {
			return err
		}
		stored, err := queries.FlowsForPartner(ctx, u.Tx, SignupFlows(u, p.ID))
		if err != nil {
			return err
		}
		return ForSignup(ctx, u, Signup{
			Customer: k, ProgramCurrency: x.Program.Currency, HoldingPeriodDays: x.Program.HoldingPeriodDays,
			PartnerStatus: p.Status,
		}, stored)
	})
}

// A sign-up pays its flow's fixed amount, due after the holding period; a suspended customer or partner earns
// nothing.
func TestForSignup(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	ann := x.Partner("ann")
	signUp(x, ann, db.CustomerStatusLead)
	require.Empty(t, states(x), "no flow answers")
	x.Flow("new_payment", "percent", 2000)
	x.Flow("new_signup", "fixed", 500)
	signUp(x, ann, db.CustomerStatusSuspended)
	bob := ann
	bob.Status = db.PartnerStatusSuspended
	signUp(x, bob, db.CustomerStatusLead)
	require.Empty(t, states(x))
	signUp(x, ann, db.CustomerStatusLead)
	require.Equal(t, []string{"referral approved 500"}, states(x))
	require.Equal(t, []int64{x.Program.HoldingPeriodDays},
		worktest.Rows[int64](x, "SELECT extract(day FROM mature_at - created_at)::bigint FROM commissions"))
	require.Equal(t, []int64{500}, worktest.Rows[int64](x, "SELECT amount_minor FROM ledger_entries"))
}

// A manual commission is a reward or, with a negative amount, a clawback that is due at once; each decision is
// in the audit log.
func TestByHand(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	ann := x.Partner("ann")
	grant := func(amount int64) (k db.Commission) {
		x.Must(func(ctx context.Context, u *work.Unit) (err error) {
			k, err = Grant(ctx, u, Manual{
				ProgramID: x.Program.ID, PartnerID: ann.ID, Reason: "Thanks.", AmountMinor: amount,
			})
			return err
		})
		return k
	}
	reward, clawback := grant(700), grant(-300)
	require.Equal(t, []any{db.CommissionKindReward, db.CommissionStatusApproved, "USD"},
		[]any{reward.Kind, reward.Status, reward.Currency})
	require.Equal(t, []any{db.CommissionKindClawback, db.CommissionStatusDue}, []any{clawback.Kind, clawback.Status})
	reject := func(id string) func(context.Context, *work.Unit) error {
		return func(ctx context.Context, u *work.Unit) error {
			_, err := Reject(ctx, u, id, "A mistake.")
			return err
		}
	}
	x.Refused(problem.CommissionNotPending, "", func(ctx context.Context, u *work.Unit) error {
		_, err := Approve(ctx, u, reward.ID, nil)
		return err
	})
	x.Must(reject(reward.ID))
	x.Refused(problem.CommissionNotOpen, "", reject(reward.ID))
	require.ElementsMatch(t, []string{"reward rejected 700", "clawback due -300"}, states(x))
	require.ElementsMatch(t, []string{"commission.created", "commission.created", "commission.rejected"},
		worktest.Rows[string](x, "SELECT action FROM audit_log_entries"))
	x.Refused(problem.ParameterInvalid, "amount_minor", func(ctx context.Context, u *work.Unit) error {
		_, err := Grant(ctx, u, Manual{ProgramID: x.Program.ID, PartnerID: ann.ID})
		return err
	})
}
