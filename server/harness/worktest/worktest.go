// Package worktest gives tests of the rules below HTTP a tenant with a program
// and partners, and units of work on them.
package worktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/ident"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/quota"
)

var queries = db.New()

// Tenant is an organization with one program, on a new database. Its units of work have the time Now, which a test
// may change.
type Tenant struct {
	testing.TB
	Pool    *pgxpool.Pool
	OrgID   string
	Program db.Program
	Now     clock.Time
}

// New returns a tenant that ends with the test. change alters its program, which
// has dollars, cookies of 30 days and a holding period of 30 days, before it is
// written.
func New(t testing.TB, change ...func(*db.Program)) *Tenant {
	t.Helper()
	now := clock.At(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	x := &Tenant{TB: t, Pool: pgtest.New(t), OrgID: ident.New(ident.Organization), Now: now}
	require.NoError(t, queries.OrganizationInsert(t.Context(), x.Pool, db.OrganizationInsertParams{
		ID: x.OrgID, Name: "Tenant", CreatedAt: now,
	}))
	x.Program = x.NewProgram(change...)
	return x
}

// NewProgram makes another program like the tenant's own.
func (x *Tenant) NewProgram(change ...func(*db.Program)) db.Program {
	x.Helper()
	p := db.Program{
		ID: ident.New(ident.Program), OrgID: x.OrgID, Name: "Program", ProductName: "Product",
		WebsiteURL: "https://shop.example", Currency: "USD", Status: db.ProgramStatusActive, Subdomain: "program",
		CookieDays: 30,
		URLParams:  []string{"ref"}, HoldingPeriodDays: 30, PayoutTerm: db.PayoutTermNet30, PayoutMethods: []string{"paypal"},
		BlockSelfReferrals: true, BlockedCountries: []string{}, AttributionModel: db.AttributionModelLast,
		TimeZone: "UTC", StatementPrefix: "R",
		CreatedAt: x.Now, UpdatedAt: x.Now,
	}
	for _, c := range change {
		c(&p)
	}
	require.NoError(x, queries.ProgramInsert(x.Context(), x.Pool, db.ProgramInsertParams(p)))
	return p
}

// Partner makes an active partner of the program with a handle, whose address is
// at partners.example.
func (x *Tenant) Partner(handle string, change ...func(*db.Partner)) db.Partner {
	x.Helper()
	p := db.Partner{
		ID: ident.New(ident.Partner), OrgID: x.OrgID, ProgramID: x.Program.ID, Email: handle + "@partners.example",
		Handle: handle, Status: db.PartnerStatusActive, CreatedAt: x.Now, UpdatedAt: x.Now,
	}
	for _, c := range change {
		c(&p)
	}
	_, err := queries.PartnerInsert(x.Context(), x.Pool, db.PartnerInsertParams{
		ID: p.ID, OrgID: p.OrgID, ProgramID: p.ProgramID, GroupID: p.GroupID, Email: p.Email, FirstName: p.FirstName,
		Handle: p.Handle, Status: p.Status, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	})
	require.NoError(x, err)
	require.NoError(x, queries.TrackingValueInsert(x.Context(), x.Pool, db.TrackingValueInsertParams{
		OrgID: p.OrgID, ProgramID: p.ProgramID, Value: p.Handle, Kind: "handle", PartnerID: p.ID,
	}))
	return p
}

// Partners makes so many partners, part_1 and on, whose addresses are
// 1@example.com and on.
func (x *Tenant) Partners(n int) {
	x.Helper()
	for i := range n {
		x.Partner(fmt.Sprintf("part-%d", i+1), func(p *db.Partner) {
			p.ID, p.Email = fmt.Sprintf("part_%d", i+1), fmt.Sprintf("%d@example.com", i+1)
		})
	}
}

// Do runs a write of the tenant's and returns its error; the unit's risk checks
// are on.
func (x *Tenant) Do(do func(ctx context.Context, u *work.Unit) error) error {
	x.Helper()
	u := work.New(x.Pool, work.Unit{
		OrgID: x.OrgID, Plan: quota.Plan{FraudMonitoring: true}, Actor: work.Actor{Kind: work.Operator},
		RequestID: ident.New(ident.Run), Now: x.Now,
	})
	return u.Within(x.Context(), func(u *work.Unit) error { return do(x.Context(), u) })
}

// Must is Do for what must succeed.
func (x *Tenant) Must(do func(ctx context.Context, u *work.Unit) error) {
	x.Helper()
	require.NoError(x, x.Do(do))
}

// Refused runs a write that must be refused with a code and a parameter.
func (x *Tenant) Refused(code problem.Code, param string, do func(ctx context.Context, u *work.Unit) error) {
	x.Helper()
	var p *problem.Error
	require.ErrorAs(x, x.Do(do), &p)
	require.Equal(x, []any{code, param}, []any{p.Code, p.Param})
}

// Events returns the types of the tenant's events, the oldest first.
func (x *Tenant) Events() []string {
	x.Helper()
	return Rows[string](x, "SELECT type FROM events WHERE org_id = $1 ORDER BY seq", x.OrgID)
}

// Exec runs a statement.
func (x *Tenant) Exec(sql string, args ...any) {
	x.Helper()
	_, err := x.Pool.Exec(x.Context(), sql, args...)
	require.NoError(x, err)
}

// Rows returns what a query finds, one value per row.
func Rows[T any](x *Tenant, sql string, args ...any) []T {
	x.Helper()
	rows, err := x.Pool.Query(x.Context(), sql, args...)
	require.NoError(x, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(x, err)
	return out
}

// Flow makes an active flow of the program that pays commissions for a trigger at
// once: a percentage in basis points of a percent, or a fixed amount.
func (x *Tenant) Flow(
	trigger db.FlowTrigger, rateType db.RateType, rate int64, change ...func(*db.FlowInsertParams),
) string {
	x.Helper()
	f := db.FlowInsertParams{
		ID: ident.New(ident.Flow), OrgID: x.OrgID, ProgramID: x.Program.ID, Name: string(trigger), Trigger: trigger,
		Action: "generate_commission", RateType: &rateType, RateValue: &rate, ApprovalMode: "immediate",
		Status: db.FlowStatusActive, Branches: []byte("[]"), CreatedAt: x.Now, UpdatedAt: x.Now,
	}
	for _, c := range change {
		c(&f)
	}
	require.NoError(x, queries.FlowInsert(x.Context(), x.Pool, f))
	return f.ID
}
