package work_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// requireProblem requires a refusal with a code and a parameter.
func requireProblem(t *testing.T, code problem.Code, param string, err error) {
	t.Helper()
	var p *problem.Error
	require.ErrorAs(t, err, &p)
	require.Equal(t, []any{code, param}, []any{p.Code, p.Param})
}

// The second of two members is refused, whatever is between them.
func TestAtMostOne(t *testing.T) {
	t.Parallel()
	present, absent := work.Member{Name: "a", Value: new("1")}, work.Member{Name: "b"}
	second := work.Member{Name: "c", Value: new("")}
	require.NoError(t, work.AtMostOne())
	require.NoError(t, work.AtMostOne(absent, present, absent))
	err := work.AtMostOne(present, absent, second)
	requireProblem(t, problem.ParametersExclusive, "c", err)
	require.ErrorContains(t, err, "a and c exclude each other.")
}

// customer writes a customer of the tenant's program.
func customer(x *worktest.Tenant, id, external string) {
	x.Helper()
	err := db.New().CustomerInsert(x.Context(), x.Pool, db.CustomerInsertParams{
		ID: id, OrgID: x.OrgID, ProgramID: x.Program.ID, ExternalCustomerID: &external, Status: db.CustomerStatusLead,
		TrackedBy: "api", LeadAt: x.Now, CreatedAt: x.Now, UpdatedAt: x.Now,
	})
	require.NoError(x, err)
	_, err = db.New().ExternalIDAdd(x.Context(), x.Pool, db.ExternalIDAddParams{
		ProgramID: x.Program.ID, OrgID: x.OrgID, ExternalCustomerID: external, CustomerID: id, CreatedAt: x.Now,
	})
	require.NoError(x, err)
}

// A customer is found by its external id, in its program and by its tenant only. Rail's id is used unchecked.
func TestCustomer(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	other := x.NewProgram()
	customer(x, "cus_1", "ext-1")
	find := func(program string, id, external *string) (found *string, err error) {
		err = x.Do(func(ctx context.Context, u *work.Unit) (err error) {
			found, err = u.Customer(ctx, program, id, external)
			return err
		})
		return found, err
	}
	found, err := find(x.Program.ID, nil, new("ext-1"))
	require.NoError(t, err)
	require.Equal(t, new("cus_1"), found)
	found, err = find(x.Program.ID, new("cus_none"), nil)
	require.NoError(t, err)
	require.Equal(t, new("cus_none"), found)
	found, err = find(x.Program.ID, nil, nil)
	require.NoError(t, err)
	require.Nil(t, found)

	_, err = find(x.Program.ID, new("cus_1"), new("ext-1"))
	requireProblem(t, problem.ParametersExclusive, "external_customer_id", err)
	_, err = find(x.Program.ID, nil, new("ext-2"))
	requireProblem(t, problem.ResourceNotFound, "external_customer_id", err)
	_, err = find(other.ID, nil, new("ext-1"))
	requireProblem(t, problem.ResourceNotFound, "external_customer_id", err)
	_, err = find("prg_none", nil, new("ext-1"))
	requireProblem(t, problem.ResourceNotFound, "program_id", err)
	err = x.Do(func(ctx context.Context, u *work.Unit) error {
		_, err := u.For("org_other").Customer(ctx, x.Program.ID, nil, new("ext-1"))
		return err
	})
	requireProblem(t, problem.ResourceNotFound, "program_id", err)
}

// A sale is found by the id of its charge.
func TestSale(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	customer(x, "cus_1", "ext-1")
	x.Exec(`INSERT INTO sales (id, org_id, program_id, customer_id, external_charge_id, processor, amount_minor, currency,
		billing_type, is_first_sale, activity_outcome, warnings, occurred_at, created_at, updated_at)
		VALUES ('sale_1', $1, $2, 'cus_1', 'ch_1', 'api', 100, 'USD', 'one_time', true, 'sale_recorded', '[]', $3, $3, $3)`,
		x.OrgID, x.Program.ID, x.Now)
	for charge, want := range map[string]*string{"ch_1": new("sale_1"), "ch_2": nil} {
		err := x.Do(func(ctx context.Context, u *work.Unit) error {
			found, err := u.Sale(ctx, x.Program.ID, nil, &charge)
			if err == nil {
				require.Equal(t, want, found)
			}
			return err
		})
		if want != nil {
			require.NoError(t, err)
			continue
		}
		requireProblem(t, problem.ResourceNotFound, "external_charge_id", err)
	}
}

// The check of the program precedes the results of the reads.
func TestInProgram(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	broken := problem.New(problem.ParameterInvalid, "broken")
	read := func(pgtx.DBTX) error { return broken }
	require.ErrorIs(t, x.Do(func(ctx context.Context, u *work.Unit) error {
		return u.InProgram(ctx, x.Program.ID, read)
	}), broken)
	x.Refused(problem.ResourceNotFound, "program_id", func(ctx context.Context, u *work.Unit) error {
		return u.InProgram(ctx, "prg_none", read)
	})
}
