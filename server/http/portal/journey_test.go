package portal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
	"rail/server/locale"
)

// TestJourney leads a stranger from the join page to the statement of a payout, in three languages: application,
// confirmation, approval, sign-in by the mailed link, link, sale and payout. No page is in another language or wider than
// a phone.
func TestJourney(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := apitest.New(t, apitest.Loopback, func(c *config.Config) {
		c.BaseURL, c.SMTPURL = "http://127.0.0.1:8080", "dir:"+t.TempDir()
	})
	program := s.Program(M{"name": "Northwind", "website_url": "https://shop.example"})
	s.Flow(program)
	s.Must(200, s.Post("/v1/programs/"+program+"/portal", M{
		"accent_color": "#0a7d55", "calculator": M{"customers": 10, "amount_minor": 5000},
	}))
	for _, tag := range []string{"en", "de", "ja"} {
		j := &journey{Tab: browsertest.New(t, s.URL), s: s, l: locale.Of(tag), program: program, email: "ada@" + tag + ".example"}
		j.Language(tag)
		j.Do(chromedp.EmulateViewport(390, 844))
		j.joins()
		j.signsIn()
		j.isPaid()
		j.Silent()
	}
}

// journey is a stranger's browser in a language.
type journey struct {
	*browsertest.Tab
	s                       *apitest.Server
	l                       *locale.Locale
	program, email, partner string
}

// sees fails the test unless the page has the words in the language, and fits on a phone.
func (j *journey) sees(words ...string) {
	j.s.T.Helper()
	for _, w := range words {
		j.Reads(w)
	}
	require.Equal(j.s.T, j.l.Language(), browsertest.Eval[string](j.Tab, "document.documentElement.lang"))
	require.LessOrEqual(j.s.T, browsertest.Eval[int](j.Tab, "document.documentElement.scrollWidth"), 390)
	j.Picture("journey-" + j.l.Language() + "-" + browsertest.Eval[string](j.Tab, "location.pathname.replaceAll('/', '-').slice(0, 24)"))
}

// mail returns the path of the link in the mail of a purpose.
func (j *journey) mail(purpose, folder string) string {
	j.s.T.Helper()
	var text string
	require.NoError(j.s.T, j.s.Pool.QueryRow(j.s.T.Context(),
		"SELECT plain FROM mails WHERE recipient = $1 AND purpose = $2", j.email, purpose).Scan(&text))
	_, rest, found := strings.Cut(text, "rail://"+folder)
	require.True(j.s.T, found, text)
	return folder + strings.Fields(rest)[0]
}

// press sends the form of the page with a button of some words.
func (j *journey) press(words string) {
	j.s.T.Helper()
	j.Do(chromedp.Click(chromedp.CSS("main form[method=post] button[type=submit]")))
	j.sees(words)
}

// joins applies, confirms and is approved.
func (j *journey) joins() {
	j.s.T.Helper()
	j.Open("/join/" + j.program)
	j.sees(j.l.T("Join the %s partner program", "Northwind"), j.l.T("What partners get"), j.l.T("What you could earn"))
	for field, value := range map[string]string{"email": j.email, "first_name": "Ada"} {
		j.Do(chromedp.SendKeys(chromedp.CSS("#"+field), value))
	}
	j.Do(chromedp.SetValue(chromedp.CSS("#country_code"), "DE"))
	j.s.Clock.Advance(3 * time.Second)
	j.press(j.l.T("Check your inbox"))
	j.Open(j.mail("join_confirm", "/join/confirm/"))
	j.sees(j.l.T("Confirm your application"))
	j.press(j.l.T("Application received. We’ll email you when it has been reviewed; you can also check here."))
	for _, a := range j.s.Must(200, j.s.Get("/v1/applications?program_id="+j.program+"&status=pending")).Data() {
		j.partner = j.s.Must(200, j.s.Post("/v1/applications/"+a["id"].(string)+"/approve", nil)).String("partner_id")
	}
}

// signsIn opens the portal with the link of the approval, and finds the link to share.
func (j *journey) signsIn() {
	j.s.T.Helper()
	j.Open(j.mail("application_approved", "/portal/sign-in/"))
	j.press(j.l.T("Your link"))
	handle := j.s.Get("/v1/partners/" + j.partner).String("handle")
	j.sees("https://shop.example/?ref="+handle, j.l.T("Three steps to your first commission"))
	click := j.s.Click(j.program, handle).String("id")
	customer := j.s.Must(201, j.s.Post("/v1/customers", M{"program_id": j.program, "click_id": click})).String("id")
	j.s.Sale(j.program, customer, M{"amount_minor": 50000})
	j.Open("/portal")
	j.sees(j.l.T("This month"), j.l.Money(10000, "USD"))
}

// isPaid saves a payout method, is paid and reads the statement.
func (j *journey) isPaid() {
	j.s.T.Helper()
	j.Open("/portal/settings?method=paypal")
	j.Submit("/portal/settings/payout", map[string]string{"email": "pay@" + j.l.Language() + ".example"})
	j.sees(j.l.T("Your payout method is saved."))
	batch := j.s.Post("/v1/payout_batches", M{"program_id": j.program, "period_end": j.s.Clock.Now().Format(time.DateOnly)})
	require.Less(j.s.T, batch.Status, 300, "the first of the month, or more for it")
	payout := payoutOf(j.s, j.partner)
	j.s.Must(200, j.s.Post("/v1/payouts/"+payout+"/mark_paid", M{"method": "paypal"}))
	j.Open("/portal/payout?id=" + payout)
	j.sees(j.l.T("Printable statement"))
	j.Open("/portal/payout/statement?id=" + payout)
	j.sees(j.l.T("Payout statement"), j.l.Money(10000, "USD"), j.l.T("Paid on"))
}
