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
	"rail/server/app/config"
	"rail/server/auth"
	"rail/server/cli/sample"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/program/partner"
)

// demoOrg is the name of the organization that a first run creates. An organization with this name is taken for
// the demo of an earlier run.
const demoOrg = "Demo"

// demoKey returns the file of the API key that a first run creates.
func demoKey(cfg config.Config) string { return filepath.Join(cfg.DataDir, "demo.key") }

// firstRun creates an organization with a sample to try the service, unless there is an organization, and prints
// the first steps. It can be interrupted and run again: finished steps are skipped, and the key, which marks the
// end, is created last.
func firstRun(ctx context.Context, env *Env, d *database) error {
	path := demoKey(d.config)
	key, org, err := storedKey(ctx, d, path)
	if err != nil {
		return err
	}
	// No key yet. Without an organization for it, only the address is printed.
	if key == "" {
		if org, err = trial(ctx, env, d); err != nil {
			return err
		}
		if org == "" {
			return greet(ctx, env, d)
		}
		// The printed calls read and write.
		k, err := addKey(ctx, d.pool, d.keeper, org, newKey{
			Scopes: []string{"read", "write"}, Livemode: !d.tested, RateLimit: auth.DefaultRateLimit, CreatedAt: env.Clock.Now(),
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

// storedKey returns the key of an earlier run with its organization, or "" if the file is missing or the
// database no longer has the key.
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

// trial returns the demo organization with its sample, and creates both if there is no organization at all. It
// returns "" for a database in real use.
func trial(ctx context.Context, env *Env, d *database) (string, error) {
	all, err := queries.OrganizationList(ctx, d.pool)
	if err != nil {
		return "", err
	}
	// Continue an earlier run that stopped before its key was written.
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
	env.say("Loading the sample program, which takes some seconds, once")
	return id, sample.Load(ctx, d.pool, d.keeper, id, env.Clock.Now())
}

// A truncated key would look like an invalid key. keep writes the key completely or not at all, readable by the
// owner only.
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

// sampleProgram returns the first sample program of an organization, if there is one. It reads the first 100
// programs; a demo has one.
func sampleProgram(ctx context.Context, d *database, org string) (db.Program, bool, error) {
	programs, err := queries.ProgramPage(ctx, d.pool, db.ProgramPageParams{OrgID: org, Lim: 100})
	for _, p := range programs {
		if ident.IsSample(p.ID) {
			return p, true, err
		}
	}
	return db.Program{}, false, err
}

// greeting is printed when a server starts; a first run prints more.
type greeting struct {
	Console  string   `json:"console"`
	NewUser  bool     `json:"console_makes_first_user"` // the console address works once, within a day
	NoUser   bool     `json:"console_has_no_user"`
	URL      string   `json:"url"`
	Docs     string   `json:"docs"`
	APIKey   string   `json:"api_key,omitempty"`
	Portal   string   `json:"portal,omitempty"` // signs in once, within portalLife
	SignsIn  string   `json:"portal_partner,omitempty"`
	MailsDir string   `json:"mails,omitempty"`
	Try      []string `json:"try,omitempty"`
}

// lines returns the greeting for people.
func (g greeting) lines() []string {
	out := []string{"Console: " + g.Console}
	if g.NewUser {
		out[0] += " (creates its first user, once, within a day)"
	} else if g.NoUser {
		out[0] += " (has no user yet: rail user first-link creates a link for the first)"
	}
	out = append(out, "Rail listens on "+g.URL, "Docs: "+g.Docs)
	if g.APIKey != "" {
		out = append(out, "API key: "+g.APIKey)
	}
	if g.Portal != "" {
		out = append(out, fmt.Sprintf("Portal: %s (signs in as the partner %s, once, within an hour)", g.Portal, g.SignsIn))
	}
	if g.MailsDir != "" {
		out = append(out, "Mails: files in "+g.MailsDir)
	}
	if len(g.Try) > 0 {
		out = append(out, "", "Try:")
	}
	for _, call := range g.Try {
		out = append(out, "  "+call)
	}
	return out
}

// greet prints the addresses of the server and the console.
func greet(ctx context.Context, env *Env, d *database) error {
	g, err := greetingOf(ctx, env, d, "")
	if err != nil {
		return err
	}
	return g.print(env)
}

// print prints the greeting, or logs it as a record if the log is JSON. A record has no key and no link, since
// others than the operator may read logs.
func (g greeting) print(env *Env) error {
	if env.log == nil || env.json || env.Terminal {
		return env.print(g, g.lines)
	}
	env.log.Info("Rail listens", "url", g.URL, "console", g.Console, "docs", g.Docs, "console_has_no_user", g.NoUser)
	return nil
}

// greetingOf returns the greeting of every start. While the console has no user, its address on a terminal
// creates the first one: an owner of org or, for an empty id, of the only organization, or of a new one. Each
// start makes another address.
func greetingOf(ctx context.Context, env *Env, d *database, org string) (greeting, error) {
	base := d.config.BaseURL
	g := greeting{Console: d.config.ConsoleBase() + "/console", URL: base, Docs: base + "/docs"}
	first, begun, err := d.firstOrg(ctx)
	if err != nil || begun {
		return g, err
	}
	if org == "" {
		org = first
	}
	if org == severalOrgs {
		env.say("The console has no user yet: rail user create --role owner creates one")
		return g, nil
	}
	if g.NoUser = !env.Terminal; g.NoUser {
		return g, nil
	}
	url, err := people(env, d).StartLink(ctx, org)
	if url != "" {
		g.Console, g.NewUser = url, true
	}
	return g, err
}

// severalOrgs replaces the first user's organization if there are several.
const severalOrgs = "several"

// firstOrg returns the organization of the console's first user: the only one, "" if there is none yet, or
// severalOrgs. begun reports that there is a user.
func (d *database) firstOrg(ctx context.Context) (org string, begun bool, err error) {
	if begun, err = queries.UsersExist(ctx, d.pool); err != nil || begun {
		return "", begun, err
	}
	all, err := queries.OrganizationList(ctx, d.pool)
	switch {
	case err != nil || len(all) == 0:
		return "", false, err
	case len(all) > 1:
		return severalOrgs, false, nil
	}
	return all[0].ID, false, nil
}

// portalLife is the lifetime of the printed sign-in link, the maximum that the API allows.
const portalLife = time.Hour

// printFirstSteps prints what to look at and how to call the API, as lines for a shell.
func printFirstSteps(ctx context.Context, env *Env, d *database, org, key string) error {
	g, err := greetingOf(ctx, env, d, org)
	if err != nil {
		return err
	}
	g.APIKey = key
	// A first run has no mail server: mails are written to a folder.
	if path, ok := strings.CutPrefix(d.config.SMTPURL, "dir:"); ok {
		g.MailsDir = path
	}
	// -g, since curl would interpret braces and brackets in an address.
	auth := "-H 'Authorization: Bearer " + key + "'"
	g.Try = []string{fmt.Sprintf("curl -g %s '%s/v1/programs'", auth, g.URL)}
	p, ok, err := sampleProgram(ctx, d, org)
	if err == nil && ok {
		g.Try = append(g.Try, fmt.Sprintf("curl -g %s '%s/v1/partners?program_id=%s'", auth, g.URL, p.ID))
		err = g.show(ctx, env, d, p, auth)
	}
	if err != nil {
		return err
	}
	return g.print(env)
}

// show adds a partner of the sample program, if there is one.
func (g *greeting) show(ctx context.Context, env *Env, d *database, p db.Program, auth string) error {
	shown, found, err := showcase(ctx, d, p)
	if err != nil || !found {
		return err
	}
	g.SignsIn = shown.Handle
	g.Portal, _, err = partner.SignInLink(ctx, d.pool, g.URL, shown, env.Clock.Now(), portalLife)
	g.Try = append(g.Try, tryPartner(auth, g.URL, p, shown)...)
	return err
}

// tryPartner returns calls about one partner: a visit, and another sign-in link, since the printed link works
// once.
func tryPartner(auth, base string, p db.Program, partner db.Partner) []string {
	visit := fmt.Sprintf(`{"program_id":%q,"value":%q,"landing_url":%q,"visitor_token":"visitor-0001"}`, p.ID,
		partner.Handle, p.WebsiteURL)
	return []string{
		fmt.Sprintf("curl -g %s -H 'Content-Type: application/json' '%s/v1/clicks' -d '%s'", auth, base, visit),
		fmt.Sprintf("curl -g %s -X POST '%s/v1/partners/%s/sso'", auth, base, partner.ID),
	}
}

// showcase returns the active partner of a program with the highest earnings in its currency, so that the portal
// has something to show. Partners with another language come last: the reader's browser decides for all others. It
// reads the first 100 of each list.
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
	return slices.MaxFunc(partners, func(a, b db.Partner) int {
		return cmp.Or(readsEnglish(a)-readsEnglish(b), cmp.Compare(earned[a.ID], earned[b.ID]))
	}), true, nil
}

// readsEnglish returns 0 for a partner who chose another language than English, and 1 for all others.
func readsEnglish(p db.Partner) int {
	if strings.HasPrefix(cmp.Or(opt.Value(p.LanguageCode), "en"), "en") {
		return 1
	}
	return 0
}
