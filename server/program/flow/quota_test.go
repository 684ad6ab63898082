package flow

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// adding returns a write that adds a flow under a quota of active flows.
func adding(quota int64, n New) func(context.Context, *work.Unit) error {
	n.Name, n.RateType, n.RateValue = "Rule", new("fixed"), new(int64(100))
	return func(ctx context.Context, u *work.Unit) error {
		u.Plan.FlowQuota = quota
		_, err := Create(ctx, u, n)
		return err
	}
}

// changing returns a write that changes a flow under a quota of active flows.
func changing(quota int64, id string, to Change) func(context.Context, *work.Unit) error {
	return func(ctx context.Context, u *work.Unit) error {
		u.Plan.FlowQuota = quota
		_, err := Update(ctx, u, id, to)
		return err
	}
}

// The plan's quota counts a program's active flows when one is added or turned on. Flows of other programs and
// inactive ones do not count, and active ones may change.
func TestQuota(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	other := x.NewProgram(func(p *db.Program) { p.Subdomain = "other" })
	in, off := New{ProgramID: x.Program.ID}, New{ProgramID: x.Program.ID, Status: new("inactive")}
	x.Must(adding(2, New{ProgramID: other.ID}))
	x.Must(adding(2, in))
	x.Must(adding(2, off))
	x.Must(adding(2, in))
	x.Refused(problem.FlowQuotaExceeded, "", adding(2, in))
	x.Must(adding(2, off))
	x.Must(adding(0, in))
	stopped := worktest.Rows[string](x, "SELECT id FROM flows WHERE status = 'inactive' ORDER BY id")
	require.Len(t, stopped, 2)
	x.Refused(problem.FlowQuotaExceeded, "", changing(3, stopped[0], Change{Status: new("active")}))
	x.Must(changing(4, stopped[0], Change{Status: new("active")}))
	x.Must(changing(1, stopped[0], Change{Name: new("Renamed")}))
}

// A program has a maximum number of flows, active or not, whatever the plan.
func TestMaxFlows(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	x.Flow(db.FlowTriggerNewPayment, db.RateTypeFixed, 1,
		func(f *db.FlowInsertParams) { f.Status = db.FlowStatusInactive })
	_, err := x.Pool.Exec(t.Context(), `INSERT INTO flows (id, org_id, program_id, name, trigger, action, rate_type,
			rate_value, approval_mode, priority, status, branches, created_at, updated_at)
		SELECT id || n, org_id, program_id, name, trigger, action, rate_type, rate_value, approval_mode, priority, status,
			branches, created_at, updated_at FROM flows, generate_series(3, $1) n`, maxFlows)
	require.NoError(t, err)
	off := New{ProgramID: x.Program.ID, Status: new("inactive")}
	x.Must(adding(0, off))
	x.Refused(problem.FlowQuotaExceeded, "", adding(0, off))
}

// The conditions of active flows are bounded together: a flow may fit alone but not with the others.
func TestConditionsOfAll(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	condition := `[{"field":"sale.product_name","operator":"eq","value":"` + strings.Repeat("x", 200) + `"}]`
	full := New{ProgramID: x.Program.ID}
	for range maxConditions / len(condition) {
		full.Branches = append(full.Branches, BranchInput{
			Conditions: json.RawMessage(condition), RateType: "fixed", RateValue: 1,
		})
	}
	size := len(full.Branches) * len(condition)
	for range maxActiveConditions / size {
		x.Must(adding(0, full))
	}
	x.Refused(problem.FlowTooLarge, "branches", adding(0, full))
	full.Status = new("inactive")
	x.Must(adding(0, full))
	stopped := worktest.Rows[string](x, "SELECT id FROM flows WHERE status = 'inactive'")[0]
	x.Refused(problem.FlowTooLarge, "branches", changing(0, stopped, Change{Status: new("active")}))
}
