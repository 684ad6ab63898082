package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/config"
	"rail/server/ident"
	"rail/server/program/partner"
	"rail/server/sample"
)

// demoOrg is the name of the organization that a first run makes. An organization of this name
// is taken for the demo of an earlier run.
const demoOrg = "Demo"

// demoKey is the file of the API key that a first run makes.
func demoKey(cfg config.Config) string { return filepath.Join(cfg.DataDir, "demo.key") }

// firstRun makes what is needed to try the service, while there is no organization, and prints
// how to begin. It can be stopped anywhere and run again: each step is skipped where it was
// done, and the key, which marks the end, is made last.
func firstRun(ctx context.Context, env *Env, d *database) error {
	path := demoKey(d.config)
	key, org, err := storedKey(ctx, d, path)
	if err != nil {
		return err
	}
	// No key yet. Without an organization to make it for, only the address is printed.
	if key == "" {
		if org, err = demo(ctx, env, d); err != nil {
			return err
		}
		if org == "" {
			return greet(ctx, env, d, "")
		}
		// The calls that are printed read and write.
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
	return printFirstSteps(ctx, env, d, org, key)
}

// storedKey returns the key of an earlier run with its organization, or nothing
// where the file is gone, or the database no longer has the key.
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
// organization at all. It returns "" where others use this database, which a
// trial must not touch.
func demo(ctx context.Context, env *Env, d *database) (string, error) {
	all, err := queries.OrganizationList(ctx, d.pool)
	if err != nil {
		return "", err
	}
	// The demo of an earlier run, stopped before its key was written, is taken up.
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
	return id, sample.Load(ctx, d.pool, d.keeper, id, env.Clock.Now())
}

// A key cut short would look like a key that does not work.
// keep writes the key whole or not at all, readable by the owner only.
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

// sampleProgram returns the first sample program of an organization, and whether there is one.
// It looks at the first 100 programs; a demo has one.
func sampleProgram(ctx context.Context, d *database, org string) (db.Program, bool, error) {
	programs, err := queries.ProgramPage(ctx, d.pool, db.ProgramPageParams{OrgID: org, Lim: 100})
	for _, p := range programs {
		if ident.IsSample(p.ID) {
			return p, true, err
		}
	}
	return db.Program{}, false, err
}

// greet prints where the server is reached, and before it, while there is no user of the console,
// the address that makes the first one: an owner of org or, for an id of "", of the only
// organization, or of one that is made then.
func greet(ctx context.Context, env *Env, d *database, org string) error {
	start, err := startLink(ctx, env, d, org)
	if err != nil {
		return err
	}
	base := d.config.BaseURL
	_, err = fmt.Fprintf(env.Out, "%sRail listens on %s\nDocs: %s/docs\n", start, base, base)
	return err
}

// startLink returns the line with that address, or "" once there is a user. Each start makes
// another address.
func startLink(ctx context.Context, env *Env, d *database, org string) (string, error) {
	all, err := queries.OrganizationList(ctx, d.pool)
	if err != nil {
		return "", err
	}
	if org == "" && len(all) == 1 {
		org = all[0].ID
	}
	begun, err := queries.UsersExist(ctx, d.pool)
	if err != nil || begun {
		return "", err
	}
	if org == "" && len(all) > 1 {
		return "Console: make its first user with rail user create --role owner\n", nil
	}
	url, err := people(env, d).StartLink(ctx, org)
	if err != nil || url == "" {
		return "", err
	}
	return "Console: " + url + " (makes its first user, once, within a day)\n", nil
}

// portalLife is how long the printed sign-in link works: as long as the API allows.
const portalLife = time.Hour

// printFirstSteps prints what to look at and how to call the API, in lines that can be pasted
// into a shell.
func printFirstSteps(ctx context.Context, env *Env, d *database, org, key string) error {
	p, ok, err := sampleProgram(ctx, d, org)
	if err != nil {
		return err
	}
	// -g, since curl would take braces and brackets in an address for patterns.
	base, auth := d.config.BaseURL, "-H 'Authorization: Bearer "+key+"'"
	look := []string{"API key: " + key}
	try := []string{fmt.Sprintf("  curl -g %s '%s/v1/programs'", auth, base)}
	if ok {
		try = append(try, fmt.Sprintf("  curl -g %s '%s/v1/partners?program_id=%s'", auth, base, p.ID))
		shown, found, err := showcase(ctx, d, p)
		if err != nil {
			return err
		}
		if found {
			link, _, err := partner.SignInLink(ctx, d.pool, base, shown, env.Clock.Now(), portalLife)
			if err != nil {
				return err
			}
			look = append(look, fmt.Sprintf("Portal: %s (signs in as the partner %s, once, within an hour)", link, shown.Handle))
			try = append(try, tryPartner(auth, base, p, shown)...)
		}
	}
	// A first run has no mail server: what would be sent can be read in a folder.
	if path, ok := strings.CutPrefix(d.config.SMTPURL, "dir:"); ok {
		look = append(look, "Mails: files in "+path)
	}
	if err := greet(ctx, env, d, org); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "%s\n\nTry:\n%s\n", strings.Join(look, "\n"), strings.Join(try, "\n"))
	return err
}

// tryPartner returns calls about one partner: a visit, and another sign-in link. The printed
// link works once.
func tryPartner(auth, base string, p db.Program, partner db.Partner) []string {
	visit := fmt.Sprintf(`{"program_id":%q,"value":%q,"landing_url":%q,"visitor_token":"visitor-0001"}`, p.ID,
		partner.Handle, p.WebsiteURL)
	return []string{
		fmt.Sprintf("  curl -g %s -H 'Content-Type: application/json' '%s/v1/clicks' -d '%s'", auth, base, visit),
		fmt.Sprintf("  curl -g %s -X POST '%s/v1/partners/%s/sso'", auth, base, partner.ID),
	}
}

// showcase returns the active partner of a program who has earned the most in its currency, so
// that the portal has something to show. It looks at the first 100 of each list.
func showcase(ctx context.Context, d *database, p db.Program) (best db.Partner, found bool, err error) {
	active := string(db.PartnerStatusActive)
	partners, err := queries.PartnerPage(ctx, d.pool, db.PartnerPageParams{
		ProgramID: p.ID, OrgID: p.OrgID, Status: &active, Lim: 100,
	})
	if err != nil {
		return best, false, err
	}
	balances, err := queries.BalancePage(ctx, d.pool, db.BalancePageParams{
		ProgramID: p.ID, OrgID: p.OrgID, Currency: &p.Currency, Lim: 100,
	})
	if err != nil || len(partners) == 0 {
		return best, false, err
	}
	earned := map[string]int64{}
	for _, b := range balances {
		earned[b.PartnerID] = b.PendingMinor + b.DueMinor + b.PaidMinor
	}
	return slices.MaxFunc(partners,
		func(a, b db.Partner) int { return cmp.Compare(earned[a.ID], earned[b.ID]) }), true, nil
}
