package console_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
)

// TestPartnersAccessible checks the accessibility of the pages of partners, applications and rules.
func TestPartnersAccessible(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	partner := d.fixture.Get("/v1/partners?program_id=" + d.program + "&status=active&limit=1").Data()[0]["id"].(string)
	flow := d.fixture.Get("/v1/flows?program_id=" + d.program).Data()[0]["id"].(string)
	var paths []string
	for _, path := range []string{
		"/partners?search=nobody-at-all", "/partners", "/partners/new", "/partners/" + partner, "/partners/" + partner + "/links",
		"/partners/" + partner + "/coupons", "/partners/" + partner + "/customers", "/partners/" + partner + "/commissions",
		"/partners/" + partner + "/payouts", "/partners/" + partner + "/notes", "/partners/" + partner + "/history", "/partners/" + partner + "/ban",
		"/applications?status=rejected", "/applications", "/rules", "/rules/new", "/rules/" + flow,
	} {
		d.visit(path)
		require.Less(t, browsertest.Eval[int](d.Tab, "document.documentElement.outerHTML.length"), 40_000, path)
		paths = append(paths, d.owner.full(path))
	}
	d.Accessible(paths...)
	d.Silent()
}

// fill types into a field.
func (d *desk) fill(id, text string) {
	d.fixture.T.Helper()
	d.Do(chromedp.SetValue(chromedp.CSS("#"+id), text))
}

// choose takes the option that is called so.
func (d *desk) choose(id, label string) {
	d.fixture.T.Helper()
	require.True(d.fixture.T, browsertest.Eval[bool](d.Tab, `(() => {
		const field = document.getElementById(`+quoted(id)+`);
		const option = [...field.options].find(o => o.text.trim() === `+quoted(label)+`);
		if (option) field.value = option.value;
		return !!option;
	})()`), "%q is not offered", label)
}

// TestApproveInTheBrowser approves two applications in a few clicks and rejects one with a reason.
func TestApproveInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	for _, name := range []string{"anna", "ben", "carl"} {
		d.fixture.Must(201, d.fixture.Post("/v1/applications", M{
			"program_id": d.program, "email": name + "@example.com", "answers": M{"your audience": "Team of " + name},
		}))
	}
	d.press("Applications")
	d.Reads("Team of ben")
	d.tick("anna@example.com")
	d.tick("ben@example.com")
	d.press("Approve")
	d.Reads("2 applications are approved.")
	d.tick("carl@example.com")
	d.fill("reason", "Please write to us first.")
	d.Do(chromedp.SendKeys("#reason", "\r")) // Enter chooses no action
	d.press("Reject")
	d.Reads("1 application is rejected.")
	d.press("Rejected")
	d.Reads("Please write to us first.")
	partners := d.fixture.Get("/v1/partners?program_id=" + d.program + "&status=active")
	require.EqualValues(t, 2, partners.Int("total_count"))
	d.Silent()
}

// TestKeysOfLists: j and k move between rows, x ticks one, and a leads to the button that approves it, which Enter presses.
func TestKeysOfLists(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	for _, name := range []string{"anna", "ben", "carl"} {
		d.fixture.Must(201, d.fixture.Post("/v1/applications", M{"program_id": d.program, "email": name + "@example.com"}))
	}
	d.press("Applications")
	d.Reads("anna@example.com")
	row := func() string {
		return browsertest.Eval[string](d.Tab, "document.activeElement.closest('tr')?.innerText ?? ''")
	}
	d.Do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"))
	require.Contains(t, row(), "ben@example.com", "the newest is first, and the last row stays")
	d.Do(chromedp.KeyEvent("?"))
	d.Reads("Next and previous row")
	d.Do(chromedp.KeyEvent("\x1b"))
	d.Do(chromedp.KeyEvent("a"))
	require.Equal(t, "Approve", browsertest.Eval[string](d.Tab, "document.activeElement.innerText"))
	d.Do(chromedp.KeyEvent("\r"))
	d.Reads("1 application is approved.")
	approved := d.fixture.Get("/v1/applications?program_id=" + d.program + "&status=approved").Data()
	require.Len(t, approved, 1)
	require.Equal(t, "ben@example.com", approved[0]["email"])
	d.Silent()
}

// TestPartnersInTheBrowser invites a partner by mail, finds it by three letters, and changes its group.
func TestPartnersInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newTill(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	d.fixture.Must(201, d.fixture.Post("/v1/groups", M{"program_id": d.program, "name": "Gold"}))
	d.press("Partners")
	d.Reads("No partners yet")
	d.press("Add a partner")
	d.Reads("The partner signs in with it.")
	d.fill("email", "ada@example.com")
	d.fill("first_name", "Ada")
	d.fill("last_name", "Lovelace")
	d.press("Add partner")
	d.Reads("Ada Lovelace is a partner now.")
	var invited string
	require.NoError(t, d.fixture.Pool.QueryRow(t.Context(),
		"SELECT recipient FROM mails WHERE purpose = 'partner_invited'").Scan(&invited))
	require.Equal(t, "ada@example.com", invited)
	d.fixture.Partner(d.program, M{"first_name": "Grace"})
	d.press("Partners")
	d.Reads("2 partners")
	d.fill("filter_search", "lov")
	d.press("Filter")
	d.Reads("1 partner,")
	d.tick("Ada Lovelace")
	d.choose("bulk_group", "Gold")
	d.press("Move to group")
	d.Reads("1 partner is put into the group.")
	d.press("Ada Lovelace")
	d.Reads("Gold")
	found := d.fixture.Get("/v1/partners?program_id=" + d.program + "&handle=ada&expand[]=group").Data()[0]
	require.Equal(t, "Gold", found["group"].(M)["name"])
	d.Silent()
}

// TestRateInTheBrowser changes a rate after seeing what a sale and the last month would have paid, and adds a case.
func TestRateInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	ada := d.fixture.Partner(d.program, M{"first_name": "Ada", "email": "ada@example.com"})
	d.fixture.Sale(d.program, d.fixture.Customer(d.program, ada), M{"amount_minor": 10000})
	name := d.fixture.Get("/v1/flows?program_id=" + d.program).Data()[0]["name"].(string)
	d.press("Rules")
	d.Reads("20 % of every payment")
	d.fill("partner", "Ada")
	d.fill("amount", "100.00")
	d.press("Calculate")
	d.Reads("A payment of 100.00 USD pays 20.00 USD")
	d.press(name)
	d.Reads("In words")
	d.fill("rate", "25")
	d.press("Try it on the last 30 days")
	d.Reads("1 of 1 sales would have paid another amount.")
	d.press("Add exception")
	d.Reads("Exception 1")
	d.fill("b0\\.rate", "50")
	d.choose("b0.new", "the customer’s first payment")
	d.press("Add condition")
	d.Do(chromedp.WaitVisible(chromedp.CSS(`[name="b0.c0.value"]`)))
	d.press("Save the rule")
	d.Reads("The rule is saved.")
	d.Reads("if it is the customer’s first payment, 50 % of every payment")
	flow := d.fixture.Get("/v1/flows?program_id=" + d.program).Data()[0]
	require.Equal(t, json.Number("2500"), flow["rate_value"])
	require.Len(t, flow["branches"], 1)
	d.Silent()
}

// TestBanInTheBrowser sees the sum first, and bans in one form.
func TestBanInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	mallory := d.fixture.Partner(d.program, M{"first_name": "Mallory"})
	d.fixture.Sale(d.program, d.fixture.Customer(d.program, mallory), M{"amount_minor": 12345})
	d.press("Partners")
	d.Reads("Mallory")
	d.press("Mallory")
	d.Reads("Open the portal as Mallory")
	d.press("More actions")
	d.press("Ban…")
	d.Reads("24.69")
	d.fill("reason", "Paid with stolen cards.")
	d.press("Ban Mallory")
	d.Reads("Mallory is suspended and will be banned in 10 minutes.")
	require.Equal(t, "suspended", d.fixture.Get("/v1/partners/"+mallory).String("status"))
	d.press("Undo")
	d.Reads("1 ban is undone.")
	require.Equal(t, "active", d.fixture.Get("/v1/partners/"+mallory).String("status"))
	d.press("More actions")
	d.press("Ban…")
	d.fill("reason", "Paid with stolen cards.")
	d.press("Ban Mallory")
	d.Reads("Will be banned at")
	d.Accessible(d.at + "/partners/" + mallory)
	d.fixture.Clock.Advance(10 * time.Minute)
	apitest.RunJob(t, d.fixture.Server, "ban-partners")
	require.EqualValues(t, 1, d.fixture.Get("/v1/commissions?program_id="+d.program+"&status=rejected").Int("total_count"))
	d.Silent()
}
