package partner

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/worktest"
	"rail/server/ident"
	"rail/server/problem"
	"rail/server/work"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	x := newFixture(t, func(p *db.Program) { p.RequireTaxForms = true })
	first := x.create(x.candidate("Ada.L@example.com", func(c *Candidate) { c.CountryCode = new("de") }))
	require.Equal(t, "ada-l", first.Handle)
	require.Equal(t, "DE", *first.CountryCode)
	require.Equal(t, x.group.ID, *first.GroupID, "the default group is everybody's")
	require.Equal(t, db.PartnerStatusActive, first.Status)
	require.Equal(t, "ada-l-2", x.create(x.candidate("ada-l@example.org")).Handle)
	require.Equal(t, []string{"affiliate.created", "affiliate.created"}, x.Events())
	require.Equal(t, []int64{2}, worktest.Rows[int64](x.Tenant, "SELECT count(*) FROM tax_form_statuses"))
}

// A pending partner is in the review queue, and can be approved.
func TestCreatePending(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.Must(func(ctx context.Context, u *work.Unit) error {
		p, err := Create(ctx, u, x.candidate("ada@example.com"), true)
		require.Equal(t, db.PartnerStatusPending, p.Status)
		return err
	})
	require.Equal(t, []string{"affiliate.created", "application.submitted"}, x.Events())
	require.Equal(t, []string{"pending"}, worktest.Rows[string](x.Tenant, "SELECT status FROM applications"))
}

// A conflict shows the existing object: a partner by its email, a present or former handle, or a link by its
// value.
func TestAdmissionConflicts(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	ada := x.create(x.candidate("ada@example.com"))
	x.update(ada.ID, Patch{Handle: new("lovelace")})
	link := ident.New(ident.Link)
	x.sql(`INSERT INTO links (id, org_id, program_id, partner_id, param, value, value_key, destination_url,
		destination_key, created_at, updated_at)
		VALUES ($1, $2, $3, $4, 'ref', 'Spring', 'spring', 'https://a.example', 'https://a.example', now(), now())`,
		link, x.OrgID, x.Program.ID, ada.ID)
	x.sql(`INSERT INTO tracking_values (org_id, program_id, value, kind, partner_id, link_id)
		VALUES ($1, $2, 'spring', 'link', $3, $4)`, x.OrgID, x.Program.ID, ada.ID, link)
	try := func(email string, handle *string) func(ctx context.Context, u *work.Unit) error {
		return func(ctx context.Context, u *work.Unit) error {
			_, err := Create(ctx, u, x.candidate(email, func(c *Candidate) { c.Handle = handle }), false)
			return err
		}
	}
	existing := x.collides(problem.PartnerEmailTaken, try("ADA@example.com", nil))
	require.Equal(t, ada.ID, existing.(db.Partner).ID)
	for _, handle := range []string{"ada", "lovelace"} {
		existing = x.collides(problem.PartnerHandleTaken, try("bob@example.com", &handle))
		require.Equal(t, ada.ID, existing.(db.Partner).ID, handle)
	}
	existing = x.collides(problem.PartnerHandleTaken, try("bob@example.com", new("spring")))
	require.Equal(t, link, existing.(db.Link).ID)
	require.Equal(t, "spring-2", x.create(x.candidate("spring@example.com")).Handle)
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	x := newFixture(t, func(p *db.Program) { p.BlockedCountries = []string{"KP"} })
	paused := x.NewProgram(func(p *db.Program) { p.Status, p.Subdomain = "paused", "paused" })
	foreign := x.newGroup("foreign", func(g *db.GroupAddParams) { g.ProgramID, g.IsDefault = paused.ID, true })
	for _, c := range []struct {
		code   problem.Code
		param  string
		change func(*Candidate)
	}{
		{problem.ResourceNotFound, "program_id", func(c *Candidate) { c.ProgramID = "prog_none" }},
		{problem.ResourceNotFound, "group_id", func(c *Candidate) { c.GroupID = new("grp_none") }},
		{problem.InvalidReference, "group_id", func(c *Candidate) { c.GroupID = &foreign.ID }},
		{problem.CountryBlocked, "country_code", func(c *Candidate) { c.CountryCode = new("kp") }},
		{problem.ProgramPaused, "", func(c *Candidate) { c.ProgramID = paused.ID }},
		{problem.ParameterInvalid, "metadata", func(c *Candidate) { c.Metadata = []byte(`{"":1}`) }},
	} {
		x.Refused(c.code, c.param, func(ctx context.Context, u *work.Unit) error {
			_, err := Create(ctx, u, x.candidate("ada@example.com", c.change), false)
			return err
		})
	}
	require.Empty(t, x.Events())
}

func TestEnrolCustomer(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	ada := x.create(x.candidate("ada@example.com"))
	enrol := func(id string) func(ctx context.Context, u *work.Unit) error {
		return func(ctx context.Context, u *work.Unit) error { _, err := EnrolCustomer(ctx, u, id); return err }
	}
	x.Refused(problem.ParameterInvalid, "customer_id", enrol(x.customer(&ada.ID, nil)))
	x.Refused(problem.PartnerEmailTaken, "email", enrol(x.customer(&ada.ID, &ada.Email)))
	x.Refused(problem.ResourceNotFound, "", enrol("cus_none"))
	x.Must(enrol(x.customer(&ada.ID, new("bo@example.com"))))
	require.Equal(t, []string{"affiliate.created", "affiliate.created", "customer.enrolled_as_partner"}, x.Events())
	require.Equal(t, []string{"Bo"},
		worktest.Rows[string](x.Tenant, "SELECT first_name FROM partners WHERE handle = 'bo'"))
}
