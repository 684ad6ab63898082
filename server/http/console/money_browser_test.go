package console_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
)

// newTill returns a desk of a real program, whose money can be paid, unlike the sample's.
func newTill(t *testing.T, configure ...apitest.Option) *desk {
	t.Helper()
	browsertest.Chromium(t)
	configure = append(configure, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://rail.test" })
	s := apitest.New(t, configure...)
	d := &desk{newSiteOf(s, s.Program(M{"min_payout_minor": 500})), browsertest.New(t, s.URL)}
	s.Flow(d.program)
	d.Do(chromedp.EmulateViewport(1280, 900))
	d.Open("/console")
	d.Reads("Sign in")
	d.Submit("/console/sign-in", map[string]string{"email": d.owner.Email, "password": password})
	d.Reads("steps are done")
	return d
}

// location is the path and query of the page that is open.
func (d *desk) location() string {
	d.fixture.T.Helper()
	return browsertest.Eval[string](d.Tab, "location.pathname + location.search")
}

// tick ticks the row of a table that has a text.
func (d *desk) tick(text string) {
	d.fixture.T.Helper()
	require.True(d.fixture.T, browsertest.Eval[bool](d.Tab, `(() => {
		const row = [...document.querySelectorAll('tr')].find(r => r.textContent.includes(`+quoted(text)+`) && r.querySelector('[data-tick]'));
		if (!row) return false;
		row.querySelector('[data-tick]').click();
		return true;
	})()`), "no row has %q", text)
}

// TestMoneyIsAccessible checks the accessibility of the pages about money.
func TestMoneyIsAccessible(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := func(list string) string {
		return d.fixture.Must(200, d.fixture.Get("/v1/"+list+"?program_id="+d.program)).Data()[0]["id"].(string)
	}
	var paths []string
	for _, path := range []string{
		"/payouts", "/payouts/all", "/payouts/" + first("payouts"), "/payouts/batches/" + first("payout_batches"),
		"/payouts/batches/" + first("payout_batches") + "/cancel", "/payouts/run", "/payouts/run?period_end=2026-08-31",
		"/commissions", "/commissions/new", "/commissions/" + first("commissions"), "/sales", "/sales/" + first("sales"),
		"/sales/" + first("sales") + "/refund", "/customers", "/customers/" + first("customers"),
	} {
		d.visit(path)
		require.Less(t, browsertest.Eval[int](d.Tab, "document.documentElement.outerHTML.length"), 60_000, path)
		paths = append(paths, d.owner.full(path))
	}
	d.Accessible(paths...)
	d.Silent()
}

// TestPayoutRunInTheBrowser makes a run, downloads its file for PayPal, uploads the result and marks the rest as paid,
// without an id being typed.
func TestPayoutRunInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	ada, _ := d.earns("Ada Lovelace", "paypal", 10000)
	grace, _ := d.earns("Grace Hopper", "paypal", 20000)
	bank, _ := d.earns("Katherine Johnson", "bank_transfer", 30000)
	d.earns("Small Fry", "paypal", 100)
	d.press("Payouts")
	d.Reads("No payouts yet")
	d.Reads("120.00 USD is due up to today")
	d.press("Use today")
	d.Reads("Below the minimum")
	d.Reads("No money moves")
	d.Accessible(d.location())
	d.press("Create 3 payouts")
	d.Reads("3 payouts are in the run of September 2026")
	run := d.location()
	d.Accessible(run)

	d.Picture("payout-cards")
	file := d.Download("payouts-2026-09-paypal-usd.csv", func() { d.press("Download file") })
	require.Contains(t, file, d.payoutOf(ada).String("id"))
	require.NotContains(t, file, d.payoutOf(bank).String("id"))
	d.Reads("2 partners for PayPal") // the page was loaded again
	require.Equal(t, "processing", d.payoutOf(ada).String("status"))

	result := filepath.Join(t.TempDir(), "paypal.csv")
	require.NoError(t, os.WriteFile(result, []byte("Custom Number,Status,Transaction ID,Gross,Currency\n"+
		d.payoutOf(ada).String("id")+",Completed,9XY,-20.00,USD\n"+d.payoutOf(grace).String("id")+",Failed,,-40.00,USD\n"), 0o600))
	d.press("Upload result PayPal USD")
	d.Do(chromedp.SetUploadFiles(chromedp.CSS("#results_paypal_USD"), []string{result}))
	d.press("Upload")
	d.Reads("The provider says Failed.")
	d.Picture("payout-results")
	require.Equal(t, []string{"paid", "failed", "pending"}, []string{
		d.payoutOf(ada).String("status"), d.payoutOf(grace).String("status"), d.payoutOf(bank).String("status"),
	})
	d.press("Back to the run")
	d.Reads("The provider says Failed.")
	d.Accessible(run+"?status=paid", run+"/paid?method=bank_transfer&currency=USD", run+"/cancel")
	d.Open(run + "?status=pending")
	d.tick("Katherine Johnson")
	d.press("Mark as paid")
	d.Reads("Mark 1 payout as paid?")
	d.press("Mark as paid")
	d.Reads("1 payout is marked as paid: 60.00 USD.")
	d.Picture("payout-marked")
	require.Equal(t, "paid", d.payoutOf(bank).String("status"))
	d.press("Undo")
	d.Reads("1 payout is no longer paid.")
	require.Equal(t, "pending", d.payoutOf(bank).String("status"))
	d.Silent()
}

// TestWhyInTheBrowser answers a partner who asks "Why did I get this?", and corrects what was wrong: a refund that is
// looked at first, a commission that is rejected, and one by hand, without an id being typed.
func TestWhyInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	ada, _ := d.earns("Ada Lovelace", "", 10000)
	d.press("Commissions")
	d.Reads("1 commission")
	d.Do(chromedp.SendKeys(chromedp.CSS("#filter_partner"), "lovelace"), chromedp.SendKeys(chromedp.CSS("#filter_partner"), "\r"))
	d.Reads("Partner: lovelace")
	d.Do(chromedp.Click(chromedp.CSS("tbody a"))) // its day, in the way of the browser's language
	d.Reads("Why this partner.")
	d.Reads("20 % of 100.00 USD")
	d.Accessible(d.location())
	d.press("100.00 USD")
	d.Reads("Commissions")
	d.Do(chromedp.SendKeys(chromedp.CSS("#amount_minor"), "25"), chromedp.SendKeys(chromedp.CSS("#reason"), "One came back"))
	d.press("Preview")
	d.Reads("15.00 USD")
	d.Accessible(d.location())
	d.press("Refund")
	d.Reads("25.00 USD of the sale is refunded.")
	d.Reads("One came back")

	d.press("Commissions")
	d.Reads("15.00 USD")
	d.tick("Ada Lovelace")
	d.Reads("1 selected")
	d.Do(chromedp.SendKeys(chromedp.CSS("#reason"), "A test purchase"))
	d.press("Reject")
	d.Reads("1 commission is rejected.")
	d.press("Add commission")
	d.Reads("For a bonus or a correction")
	d.Do(
		chromedp.SendKeys(chromedp.CSS("#partner"), "love"), chromedp.WaitReady(chromedp.CSS("datalist option")),
		chromedp.SendKeys(chromedp.CSS("#amount_minor"), "12.50"), chromedp.SendKeys(chromedp.CSS("#reason"), "Sorry"),
	)
	d.press("Add commission")
	d.Reads("12.50 USD for Ada Lovelace.")
	list := d.fixture.Get("/v1/commissions?program_id=" + d.program + "&partner_id=" + ada + "&status=approved,due").Data()
	require.Len(t, list, 1)
	d.Silent()
}
