package cli

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/locale/plain"
	"rail/server/postgres/pgtx"
)

// queries is stateless and shared by all commands.
var queries = db.New()

// organization is the JSON of an organization. OwnerEmail is nil without an owner.
type organization struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	OwnerEmail *string    `json:"owner_email"`
	CreatedAt  clock.Time `json:"created_at"`
}

// orgTable returns the printed table, a line for each organization, below a heading.
func orgTable(orgs ...organization) func() []string {
	return func() []string {
		rows := []string{"ID\tNAME\tOWNER\tCREATED"}
		for _, o := range orgs {
			owner := "-"
			if o.OwnerEmail != nil {
				owner = *o.OwnerEmail
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s", o.ID, o.Name, owner, o.CreatedAt))
		}
		return rows
	}
}

// orgCreate adds an organization, the tenant of all its data. The API cannot, since every key belongs to an
// organization already.
func orgCreate(fs *pflag.FlagSet) action {
	name := fs.String("name", "", "`NAME` of the organization")
	owner := fs.String("owner-email", "", "`ADDRESS` for notices, such as about a disabled webhook")
	return func(ctx context.Context, env *Env, _ []string) error {
		// Characters, not bytes, as the API counts names.
		if n := utf8.RuneCountInString(strings.TrimSpace(*name)); n < 1 || n > 255 {
			return usagef("--name must have 1 to 255 characters")
		}
		// Only the form is checked; the first mail shows whether it arrives.
		if _, err := mail.ParseAddress(*owner); *owner != "" && (err != nil || !plain.Addressed(*owner)) {
			return usagef("--owner-email must be an email address")
		}
		return withDatabase(ctx, env, func(d *database) error {
			o, err := addOrg(ctx, d.pool, env.Clock.Now(), strings.TrimSpace(plain.Name(*name)), *owner)
			if err != nil {
				return err
			}
			return env.print(o, orgTable(o))
		})
	}
}

// addOrg inserts an organization and returns it; an empty owner means none.
func addOrg(ctx context.Context, q pgtx.DBTX, now clock.Time, name, owner string) (organization, error) {
	o := organization{ID: ident.New(ident.Organization), Name: name, CreatedAt: now}
	if owner != "" {
		o.OwnerEmail = &owner
	}
	return o, queries.OrganizationInsert(ctx, q, db.OrganizationInsertParams{
		ID: o.ID, Name: o.Name, OwnerEmail: o.OwnerEmail, CreatedAt: now,
	})
}

// orgList lists all organizations.
func orgList(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			rows, err := queries.OrganizationList(ctx, d.pool)
			if err != nil {
				return err
			}
			orgs := make([]organization, len(rows))
			for i, r := range rows {
				orgs[i] = organization{ID: r.ID, Name: r.Name, OwnerEmail: r.OwnerEmail, CreatedAt: r.CreatedAt}
			}
			return env.print(orgs, orgTable(orgs...))
		})
	}
}

// chooseOrg returns the organization with an id, or the only one if no id is given. It never chooses among
// several: a key or a sample in the wrong one is hard to undo.
func chooseOrg(ctx context.Context, q pgtx.DBTX, id string) (string, error) {
	if id != "" {
		_, err := queries.OrganizationGet(ctx, q, id)
		if errors.Is(err, pgx.ErrNoRows) {
			return "", fmt.Errorf("there is no organization %q; rail org list shows them", id)
		}
		return id, err
	}
	all, err := queries.OrganizationList(ctx, q)
	switch {
	case err != nil:
		return "", err
	case len(all) == 0:
		return "", errors.New("there is no organization yet; make one with rail org create")
	case len(all) > 1:
		return "", usagef("there are %d organizations: choose one with --org; rail org list shows them", len(all))
	}
	return all[0].ID, nil
}
