package partner

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/ident"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// fixture is a tenant whose program has a default group.
type fixture struct {
	*worktest.Tenant
	Service
	group db.Group
}

func newFixture(t *testing.T, change ...func(*db.Program)) *fixture {
	t.Helper()
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	x := &fixture{Tenant: worktest.New(t, change...), Service: Service{keeper, &mail.Outbox{Configured: true}}}
	x.group = x.newGroup("Default", func(g *db.GroupAddParams) { g.IsDefault = true })
	return x
}

func (x *fixture) newGroup(name string, change func(*db.GroupAddParams)) db.Group {
	x.Helper()
	g := db.GroupAddParams{
		ID: ident.New(ident.Group), OrgID: x.OrgID, ProgramID: x.Program.ID, Name: name, Slug: name,
		CreatedAt: x.Now, UpdatedAt: x.Now,
	}
	change(&g)
	require.NoError(x, queries.GroupAdd(x.Context(), x.Pool, g))
	return db.Group(g)
}

// candidate returns a candidate with an email and the given changes.
func (x *fixture) candidate(email string, change ...func(*Candidate)) Candidate {
	c := Candidate{ProgramID: x.Program.ID, Email: email}
	for _, f := range change {
		f(&c)
	}
	return c
}

func (x *fixture) create(c Candidate) (p db.Partner) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) { p, err = Create(ctx, u, c, false); return err })
	return p
}

func (x *fixture) apply(c Candidate) (a db.Application) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) { a, err = Apply(ctx, u, c, nil); return err })
	return a
}

func (x *fixture) update(id string, b Patch) (p db.Partner) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) { p, err = x.Update(ctx, u, id, b); return err })
	return p
}

// customer writes a customer, of a partner or direct, and returns its id.
func (x *fixture) customer(partnerID, email *string) string {
	x.Helper()
	id := ident.New(ident.Customer)
	err := queries.CustomerInsert(x.Context(), x.Pool, db.CustomerInsertParams{
		ID: id, OrgID: x.OrgID, ProgramID: x.Program.ID, PartnerID: partnerID, Email: email, Name: new("Bo"),
		Status: "lead", TrackedBy: "api", LeadAt: x.Now, CreatedAt: x.Now, UpdatedAt: x.Now,
	})
	require.NoError(x, err)
	return id
}

// stored returns the partner's row.
func (x *fixture) stored(id string) db.Partner {
	x.Helper()
	p, err := queries.PartnerGet(x.Context(), x.Pool, db.PartnerGetParams{ID: id, OrgID: x.OrgID})
	require.NoError(x, err)
	return p
}

// sql runs a statement that must succeed.
func (x *fixture) sql(statement string, args ...any) {
	x.Helper()
	_, err := x.Pool.Exec(x.Context(), statement, args...)
	require.NoError(x, err)
}

// collides runs a write that conflicts with a row, and returns the row.
func (x *fixture) collides(code problem.Code, do func(ctx context.Context, u *work.Unit) error) any {
	x.Helper()
	var p *problem.Error
	require.ErrorAs(x, x.Do(do), &p)
	require.Equal(x, code, p.Code)
	return p.Existing
}
