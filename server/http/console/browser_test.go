package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/cli/sample"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
	"rail/server/harness/wait"
	"rail/server/secret"
	"rail/server/team"
)

// desk is a browser in which the owner of the sample program has signed in.
type desk struct {
	*fixture
	*browsertest.Tab
}

// newDesk starts a server with the sample program, and signs its owner in.
func newDesk(t *testing.T, options ...apitest.Option) *desk {
	t.Helper()
	browsertest.Chromium(t)
	s := apitest.New(t, append(options, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://rail.test" })...)
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	require.NoError(t, sample.Load(t.Context(), s.Pool, keeper, s.Org, s.Clock.Now()))
	program := s.Must(200, s.Get("/v1/programs")).Data()[0]["id"].(string)
	d := &desk{newSiteOf(s, program), browsertest.New(t, s.URL)}
	d.Do(chromedp.EmulateViewport(1280, 900))
	d.Open("/console")
	d.Reads("Sign in")
	d.Submit("/console/sign-in", map[string]string{"email": d.owner.Email, "password": password})
	d.Reads("Top partners")
	return d
}

// visit opens a page of the program.
func (d *desk) visit(path string) {
	d.fixture.T.Helper()
	d.Open(d.owner.full(path))
}

// press clicks the button, link or label that is called so, once the page has come as far.
func (d *desk) press(name string) {
	d.fixture.T.Helper()
	wait.Until(d.fixture.T, func() bool {
		ready, err := chromedp.Run(d.Context, chromedp.Evaluate[bool](`(() => {
			const called = e => e.textContent.trim() === `+quoted(name)+` && e.offsetParent !== null;
			const all = [...document.querySelectorAll('button, a, label, summary')].filter(called);
			for (const e of document.querySelectorAll('[data-pressed]')) e.removeAttribute('data-pressed');
			if (!all.length) return false;
			all[0].setAttribute('data-pressed', '');
			return true;
		})()`))
		return err == nil && ready // it may leave for another page at this moment
	}, "something is called %q", name)
	d.Do(chromedp.Click(chromedp.CSS("[data-pressed]")))
}

// TestAccessible checks the accessibility of every page of the sample program.
func TestAccessible(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var paths []string
	for _, path := range []string{
		"", "/setup", "/settings", "/portal", "/groups", "/keys", "/log", "/console/account", "/console/team", "/console/new",
	} {
		paths = append(paths, d.owner.full(path))
	}
	d.Accessible(paths...)
	d.Silent()
}

// TestSignedOutPages holds the pages before signing in to the same.
func TestSignedOutPages(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := apitest.New(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://rail.test" })
	owner := newSiteOf(s, s.Program())
	link, err := owner.people.Invite(t.Context(), owner.ownerUnit(), "new@shop.example", team.Manager)
	require.NoError(t, err)
	tab := browsertest.New(t, s.URL)
	tab.Accessible("/console/sign-in", link[len("http://rail.test"):], "/console/nowhere/at/all")
	tab.Silent()
}

// TestFirstObjectsInTheBrowser makes a group, a tag and a setting by hand, without an id being typed.
func TestFirstObjectsInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.press("Groups and tags")
	d.Reads("VIP Partners")
	d.Submit(d.at+"/groups", map[string]string{"name": "Podcasters"})
	d.Reads("The group is created.")
	d.Reads("Podcasters")
	d.visit("/settings")
	d.Do(chromedp.SetValue(chromedp.CSS("#min_payout_minor"), "75.50"))
	d.press("Save")
	d.Reads("The settings are saved.")
	saved := d.fixture.Must(200, d.fixture.Get("/v1/programs/"+d.program))
	require.EqualValues(t, 7550, saved.Int("min_payout_minor"))
	d.Do(chromedp.Click(chromedp.CSS(".person > summary")))
	d.press("Sign out")
	d.Reads("You are signed out")
	d.Silent()
}

// TestAuditLogInTheBrowser: a change is in the audit log by the person's name, and the log leads to what changed.
func TestAuditLogInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.visit("/groups")
	d.Submit(d.at+"/tags", map[string]string{"name": "Streamers"})
	d.Reads("The tag is created.")
	d.press("Audit log")
	d.Reads("Tag created")
	d.Reads(d.owner.Name)
	d.press("Show the change")
	d.Reads(`"changed":["name"]`)
	d.Silent()
}

// TestFirstRun goes from the address that a new server prints to the check-list of a first program.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := apitest.New(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://rail.test" })
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	people := team.New(team.Service{Pool: s.Pool, Keeper: keeper, Clock: s.Clock, BaseURL: s.Config.BaseURL})
	link, err := people.StartLink(t.Context(), "")
	require.NoError(t, err)
	path := strings.TrimPrefix(link, s.Config.BaseURL)
	tab := browsertest.New(t, s.URL)
	tab.Open(path)
	tab.Submit(path, map[string]string{
		"organization": "Acme", "name": "Ada", "email": "ada@acme.example", "password": password,
	})
	tab.Reads("New program")
	tab.Submit("/console/new", map[string]string{"name": "Acme partners", "website_url": "https://acme.example"})
	tab.Reads("Your program is ready.")
	tab.Reads("Commission rule")
	tab.Silent()
	tab.Open(path)
	tab.Reads("This link no longer works")
}
