package console_test

import (
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/browsertest"
	"rail/server/locale"
)

// stranger becomes a partner, on a phone.
type stranger struct {
	*browsertest.Tab
	desk  *desk
	l     *locale.Locale
	email string
}

// fill types into a field.
func (s *stranger) fill(name, text string) {
	s.Do(chromedp.SendKeys(chromedp.CSS(`main [name="`+name+`"]`), text))
}

// send presses the button of the form of an address.
func (s *stranger) send(action string) { s.Submit(action, nil) }

// reads waits for a text of the page in the stranger's language.
func (s *stranger) reads(text string, args ...any) { s.Reads(s.l.T(text, args...)) }

var ownLink = regexp.MustCompile(`rail://(/(?:join/confirm|portal/sign-in)/\S+)`)

// opensMail opens the link of the last mail and presses its button.
func (s *stranger) opensMail(purpose string) {
	s.desk.fixture.T.Helper()
	var text string
	require.NoError(s.desk.fixture.T, s.desk.fixture.Pool.QueryRow(s.desk.fixture.T.Context(),
		"SELECT plain FROM mails WHERE recipient = $1 AND purpose = $2 ORDER BY created_at DESC, id DESC LIMIT 1",
		s.email, purpose).Scan(&text))
	found := ownLink.FindStringSubmatch(text)
	require.Len(s.desk.fixture.T, found, 2, text)
	s.Open(found[1])
	s.Do(chromedp.Click(chromedp.CSS("main button")))
}

// TestNewPartner follows a new partner in two languages: apply, confirm, be approved in the console, sign in by email,
// create a link with a QR code, refer a paying customer, read the commission's explanation, and find it in the
// statement of a payout.
func TestNewPartner(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"en", "de"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			d := newTill(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
			s := &stranger{browsertest.New(t, d.fixture.URL), d, locale.Of(language), "sam@example.com"}
			s.Open("/join/" + d.program)
			s.Language(language)
			s.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
			s.joins()
			s.signsIn()
			s.earns(s.makesLink())
			s.isPaid()
			d.Silent()
		})
	}
}

// joins applies, and is approved by the manager.
func (s *stranger) joins() {
	s.Open("/join/" + s.desk.program)
	s.reads("What partners get")
	s.fill("email", s.email)
	s.fill("first_name", "Sam")
	s.Do(chromedp.SetValue(chromedp.CSS(`select[name="country_code"]`), "PT"))
	s.desk.fixture.Clock.Advance(3 * time.Second)
	s.send("/join/" + s.desk.program)
	s.reads("Check your inbox")
	s.opensMail("join_confirm")
	s.reads("Application received. We’ll email you when it has been reviewed; you can also check here.")
	s.desk.press("Applications")
	s.desk.Reads(s.email)
	s.desk.tick(s.email)
	s.desk.press("Approve")
	s.desk.Reads("1 application is approved.")
}

// signsIn asks for a link at the portal.
func (s *stranger) signsIn() {
	s.Open("/portal")
	s.fill("email", s.email)
	s.send("/portal/sign-in")
	s.reads("Check your inbox")
	s.opensMail("portal_sign_in")
	s.reads("What you earn")
	s.Reads(s.l.Percent(2000))
}

// makesLink makes a link of the partner's own and returns its short address.
func (s *stranger) makesLink() string {
	s.Open("/portal/links")
	site := s.desk.fixture.Get("/v1/programs/" + s.desk.program).String("website_url")
	s.fill("destination_url", site+"/spring")
	s.fill("label", "Spring")
	s.fill("slug", "spring"+s.l.Language())
	s.send("/portal/links/add")
	s.Reads("Spring")
	t := s.desk.fixture.T
	require.Positive(t, browsertest.Eval[int](s.Tab, "document.querySelectorAll('img[src*=\"/portal/qr\"], main svg').length"), "QR codes")
	short := browsertest.Eval[string](s.Tab, "[...document.querySelectorAll('.link-text')].map(i => i.textContent).find(v => v.includes('/r/'))")
	at, err := url.Parse(short)
	require.NoError(t, err)
	return at.Path
}

// earns brings a visitor who pays, and reads why that earns something.
func (s *stranger) earns(short string) {
	t, site := s.desk.fixture.T, s.desk.fixture
	visit := site.Must(302, site.Do("GET", short, "", nil, "User-Agent", "Mozilla/5.0 (Macintosh) Safari/605"))
	to, err := url.Parse(visit.Header.Get("Location"))
	require.NoError(t, err)
	click := to.Query().Get("rail_click")
	require.NotEmpty(t, click)
	c := site.Connect(s.desk.program)
	site.Must(200, c.Send(M{
		"type": "sale", "external_charge_id": "ch_1", "external_customer_id": "c1", "email": "kim@example.com",
		"amount_minor": 123450, "currency": "USD", "click_id": click,
	}))
	s.desk.works()
	s.Open("/portal/commissions")
	s.Reads(s.l.Money(24690, "USD"))
	s.reads("%s of %s", s.l.Percent(2000), s.l.Money(123450, "USD"))
	s.Reads("Spring")
	require.NotContains(t, browsertest.Eval[string](s.Tab, "document.body.textContent"), "kim@example.com")
}

// isPaid finds the payout and its statement.
func (s *stranger) isPaid() {
	site := s.desk.fixture
	site.Must(201, site.Post("/v1/payout_batches", M{
		"program_id": s.desk.program, "period_end": site.Clock.Now().UTC().Format(time.DateOnly),
	}))
	s.Open("/portal/payouts")
	s.Reads(s.l.Money(24690, "USD"))
	s.Do(chromedp.Click(chromedp.CSS("tbody a")))
	s.reads("Printable statement")
	s.Do(chromedp.Click(chromedp.CSS(`a[href*="statement"]`)))
	s.Reads(s.l.Money(24690, "USD"))
}
