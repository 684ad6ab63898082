package program

import (
	"context"
	"strings"
	"testing"

	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func create(x *worktest.Tenant, in Input) (p db.Program) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		p, err = Create(ctx, u, in)
		return err
	})
	return p
}

func update(x *worktest.Tenant, id string, to Changes) (p db.Program) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		p, err = Update(ctx, u, id, to)
		return err
	})
	return p
}

// A new program has a default group, and defaults for missing settings.
func TestCreate(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	p := create(x, Input{
		Name: "Acme Partners", WebsiteURL: "https://acme.example", Currency: "eur",
		Settings: Settings{
			CookieDays: new(int64(7)), BlockedCountries: []string{"fr", "FR", "de"}, PayoutMethods: []string{"wise", "wise"},
		},
	})
	require.Equal(t, "EUR", p.Currency)
	require.Equal(t, []string{"Acme Partners", "acme-partners"}, []string{p.ProductName, p.Subdomain})
	require.Equal(t, []int64{7, 30, 0}, []int64{p.CookieDays, p.HoldingPeriodDays, p.MinPayoutMinor})
	require.Equal(t, [][]string{{"ref"}, {"wise"}, {"FR", "DE"}},
		[][]string{p.URLParams, p.PayoutMethods, p.BlockedCountries})
	require.True(t, p.BlockSelfReferrals)
	require.False(t, p.AutoPayoutsEnabled)
	require.Equal(t, []string{"default"},
		worktest.Rows[string](x, "SELECT slug FROM groups WHERE program_id = $1 AND is_default", p.ID))
	stored, err := queries.ProgramGet(t.Context(), x.Pool, db.ProgramGetParams{ID: p.ID, OrgID: x.OrgID})
	require.NoError(t, err)
	require.Equal(t, p, stored)
	x.Refused(problem.ParameterInvalid, "currency", func(ctx context.Context, u *work.Unit) error {
		_, err := Create(ctx, u, Input{Name: "A", WebsiteURL: "https://a.example", Currency: "EUX"})
		return err
	})
}

func TestSubdomain(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Acme & Co.": "acme-co", "金": "program", strings.Repeat("a", 99): strings.Repeat("a", 63),
	} {
		require.Equal(t, want, subdomainOf(name))
	}
}

// A change sets the given fields only; one without effect keeps the time.
func TestUpdate(t *testing.T) {
	t.Parallel()
	x := worktest.New(t, func(p *db.Program) { p.TermsURL = new("https://shop.example/terms") })
	id := x.Program.ID
	x.Now = x.Now.Days(1)
	want := x.Program
	want.Name, want.CookieDays, want.UpdatedAt = "Other", 7, x.Now
	require.Equal(t, want, update(x, id, Changes{Name: new("Other"), Settings: Settings{CookieDays: new(int64(7))}}))
	x.Now = x.Now.Days(1)
	require.Equal(t, want, update(x, id, Changes{Name: new("Other"), Settings: Settings{BlockedCountries: []string{}}}))
	require.Nil(t, update(x, id, Changes{TermsURL: nullable.NewNullNullable[string]()}).TermsURL)
	stored, err := queries.ProgramGet(t.Context(), x.Pool, db.ProgramGetParams{ID: id, OrgID: x.OrgID})
	require.NoError(t, err)
	want.TermsURL, want.UpdatedAt = nil, x.Now
	require.Equal(t, want, stored)
}

// A unit restricted to another program does not find this one.
func TestUpdateOfAnotherProgram(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	x.Refused(problem.ResourceNotFound, "program_id", func(ctx context.Context, u *work.Unit) error {
		u.Programs = []string{"prg_other"}
		_, err := Update(ctx, u, x.Program.ID, Changes{Name: new("Other")})
		return err
	})
}

// A program that starts to require tax forms asks its partners, and excuses them when it stops.
func TestTaxForms(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	x.Partners(1)
	forms := func() []string { return worktest.Rows[string](x, "SELECT status FROM tax_form_statuses") }
	update(x, x.Program.ID, Changes{Name: new("Other")})
	require.Empty(t, forms())
	for _, step := range []struct {
		required bool
		want     string
	}{{true, "required"}, {false, "not_required"}} {
		update(x, x.Program.ID, Changes{Settings: Settings{RequireTaxForms: &step.required}})
		require.Equal(t, []string{step.want}, forms())
	}
}
