package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/config"
	"rail/server/ident"
	"rail/server/sample"
)

// demoOrg is the name of the organization that a first run makes.
const demoOrg = "Demo"

// demoKey is the file of the API key that a first run makes.
func demoKey(cfg config.Config) string { return filepath.Join(cfg.DataDir, "demo.key") }

// firstRun makes what one needs to try the service, while there is nothing
// yet, and tells how to. It can be stopped anywhere and run again: the key is
// the last thing that it makes.
func firstRun(ctx context.Context, env *Env, d *database) error {
	path := demoKey(d.config)
	key, org, err := storedKey(ctx, d, path)
	if err != nil {
		return err
	}
	if key == "" {
		if org, err = demo(ctx, env, d); err != nil || org == "" {
			return errors.Join(err, greet(env.Out, d.config.BaseURL))
		}
		k, err := addKey(ctx, d.pool, d.keeper, org, newKey{
			Scopes: []string{"read", "write"}, Livemode: true, RateLimit: auth.DefaultRateLimit, CreatedAt: env.Clock.Now(),
		})
		if err != nil {
			return err
		}
		if err := keep(path, k.Key); err != nil {
			return err
		}
		key = k.Key
	}
	return tell(ctx, env, d, org, key)
}

// storedKey returns the key of an earlier run with its organization, or
// nothing where that database or that key is gone.
func storedKey(ctx context.Context, d *database, path string) (key, org string, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	key = strings.TrimSpace(string(raw))
	row, err := queries.APIKeyByHash(ctx, d.pool, d.keeper.HashAPIKey(key))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && row.APIKey.RevokedAt != nil {
		return "", "", nil
	}
	return key, row.APIKey.OrgID, err
}

// demo returns the demo organization with its sample, made where there is no
// organization at all, or nothing where others use this database.
func demo(ctx context.Context, env *Env, d *database) (string, error) {
	all, err := queries.OrganizationList(ctx, d.pool)
	if err != nil {
		return "", err
	}
	id := ""
	for _, o := range all {
		if o.Name == demoOrg {
			id = o.ID
		}
	}
	if id == "" && len(all) > 0 {
		return "", nil
	}
	if id == "" {
		o, err := addOrg(ctx, d.pool, env.Clock.Now(), demoOrg, "")
		if err != nil {
			return "", err
		}
		id = o.ID
	}
	if _, ok, err := sampleProgram(ctx, d, id); err != nil || ok {
		return id, err
	}
	return id, sample.Load(ctx, d.pool, id, env.Clock.Now())
}

// keep writes the key as a whole or not at all, for the owner's eyes.
func keep(path, key string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".demo-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(key + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}

// sampleProgram returns the first sample program of an organization.
func sampleProgram(ctx context.Context, d *database, org string) (db.Program, bool, error) {
	programs, err := queries.ProgramPage(ctx, d.pool, db.ProgramPageParams{OrgID: org, Lim: 100})
	for _, p := range programs {
		if ident.IsSample(p.ID) {
			return p, true, err
		}
	}
	return db.Program{}, false, err
}

func greet(w io.Writer, base string) error {
	_, err := fmt.Fprintf(w, "Rail listens on %s\nDocs: %s/docs\n", base, base)
	return err
}

// tell prints how to call the API, in lines that work as they are.
func tell(ctx context.Context, env *Env, d *database, org, key string) error {
	if err := greet(env.Out, d.config.BaseURL); err != nil {
		return err
	}
	base, auth := d.config.BaseURL, "-H 'Authorization: Bearer "+key+"'"
	lines := []string{"API key: " + key, "", "Try:", fmt.Sprintf("  curl -g %s '%s/v1/programs'", auth, base)}
	p, ok, err := sampleProgram(ctx, d, org)
	if err != nil {
		return err
	}
	if ok {
		lines = append(lines, fmt.Sprintf("  curl -g %s '%s/v1/partners?program_id=%s'", auth, base, p.ID))
	}
	handle, err := activeHandle(ctx, d, org, p.ID)
	if err != nil {
		return err
	}
	if handle != "" {
		body := fmt.Sprintf(`{"program_id":%q,"value":%q,"landing_url":%q,"visitor_token":"visitor-0001"}`, p.ID, handle, p.WebsiteURL)
		lines = append(lines, fmt.Sprintf("  curl -g %s -H 'Content-Type: application/json' '%s/v1/clicks' -d '%s'", auth, base, body))
	}
	_, err = fmt.Fprintln(env.Out, strings.Join(lines, "\n"))
	return err
}

// activeHandle returns the handle of some active partner of a program, or "".
func activeHandle(ctx context.Context, d *database, org, program string) (string, error) {
	active := "active"
	partners, err := queries.PartnerPage(ctx, d.pool, db.PartnerPageParams{ProgramID: program, OrgID: org, Status: &active, Lim: 1})
	if err != nil || len(partners) == 0 {
		return "", err
	}
	return partners[0].Handle, nil
}
