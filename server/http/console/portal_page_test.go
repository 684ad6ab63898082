package console_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/browsertest"
	"rail/server/harness/wait"
	"rail/server/team"
)

// The manager sets up the join page: its look, its questions in an order, and who is approved at once.
func TestPortalPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.person(s.Org, team.Manager)
	settings := func() M { return s.Must(200, s.Get("/v1/programs/"+s.program+"/portal")).Body }
	require.Contains(t, p.page("/portal"), settings()["join_url"].(string))
	require.Equal(t, "The settings are saved.", p.done(p.send("/portal", "join", "closed", "accent_color", "#0A7D55",
		"introduction", "One.\r\n\r\nTwo.", "reply_to", "us@shop.example", "max_links", "7",
		"link_hosts", "blog.shop.example\r\n*.shop.example", "embed_hosts", "")))
	set := settings()
	require.Equal(t, []any{
		"closed", "#0a7d55", "One.\n\nTwo.", "us@shop.example", []any{"blog.shop.example", "*.shop.example"}, []any{},
	}, []any{set["join"], set["accent_color"], set["introduction"], set["reply_to"], set["link_hosts"], set["embed_hosts"]})
	p.says(400, "This must be # and six hexadecimal digits", p.send("/portal", "accent_color", "red", "introduction", "Kept"))
	p.says(400, "Kept", p.send("/portal", "accent_color", "red", "introduction", "Kept"))

	for _, q := range [][]string{
		{"label", "Who reads you?", "type", "text", "required", "on"},
		{"label", "Who reads you?", "type", "choice", "options", "Few\r\n\r\nMany"},
	} {
		require.Equal(t, "The question is added.", p.done(p.send("/portal/questions", q...)))
	}
	p.says(400, "A choice must have at least two options", p.send("/portal/questions", "label", "Which?", "type", "choice", "options", "One"))
	require.Equal(t, "The question is moved.", p.done(p.send("/portal/questions/who_reads_you_2", "do", "up", "label", "x", "type", "text")))
	require.Equal(t, "The question is saved.",
		p.done(p.send("/portal/questions/who_reads_you", "label", "Your readers", "type", "number")))
	require.Equal(t, []any{
		M{"key": "who_reads_you_2", "label": "Who reads you?", "type": "choice", "required": false, "options": []any{"Few", "Many"}},
		M{"key": "who_reads_you", "label": "Your readers", "type": "number", "required": false, "options": []any{}},
	}, settings()["questions"])
	require.Equal(t, "The question is deleted.", p.done(p.send("/portal/questions/who_reads_you_2", "do", "remove")))
	require.Len(t, settings()["questions"], 1)
	p.says(404, "Page not found", p.send("/portal/questions/none", "label", "x", "type", "text"))

	group := s.Must(200, s.Get("/v1/groups?program_id="+s.program)).Data()[0]["id"].(string)
	require.Equal(t, "The rule is saved.", p.done(p.send("/portal/rule", "when", "some", "group_ids", group,
		"countries", "de, AT", "email_domains", "shop.example")))
	require.Equal(t, M{
		"group_ids": []any{group}, "countries": []any{"DE", "AT"}, "email_domains": []any{"shop.example"},
	}, settings()["auto_approve"])
	require.Equal(t, "The rule is saved.", p.done(p.send("/portal/rule", "when", "never")))
	require.Nil(t, settings()["auto_approve"])
	viewer := s.person(s.Org, team.Viewer)
	viewer.says(403, "Your role cannot do this", viewer.send("/portal", "join", "open"))
	require.NotContains(t, viewer.page("/portal"), "Remove</button>")
}

// A logo is uploaded and taken away.
func TestPortalLogo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	url := func() any { return s.Must(200, s.Get("/v1/programs/"+s.program+"/portal")).Body["logo_url"] }
	s.owner.says(400, "Choose a file first.", s.owner.upload("/portal/logo", "image", ""))
	s.owner.says(400, "must be an image", s.owner.upload("/portal/logo", "image", "<svg/>"))
	require.Equal(t, "The logo is saved.", s.owner.done(s.owner.upload("/portal/logo", "image", "GIF89a and more")))
	require.NotNil(t, url())
	require.Contains(t, s.owner.page("/portal"), `src="/look/`+s.program+`/`)
}

// The manager designs the join page: empty rows are left out, and a refusal is beside its row.
func TestJoinPageEditor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.person(s.Org, team.Manager)
	settings := func() M { return s.Must(200, s.Get("/v1/programs/"+s.program+"/portal")).Body }
	draft := []string{
		"landing", "on", "headline", "Earn with us", "accent_color", "#FFD400", "benefits[0]", "", "benefits[1]", "Paid every month",
		"faq[0].question", "", "faq[2].question", "When?", "faq[2].answer", "Monthly.", "calculates", "on",
		"calculator.customers", "12", "calculator.amount_minor", "49.90",
	}
	require.Equal(t, "The settings are saved.", p.done(p.send("/portal", draft...)))
	set := settings()
	require.Equal(t, []any{
		"Earn with us", []any{"Paid every month"}, []any{M{"question": "When?", "answer": "Monthly."}},
		M{"customers": json.Number("12"), "amount_minor": json.Number("4990")},
	}, []any{set["headline"], set["benefits"], set["faq"], set["calculator"]})
	page := p.page("/portal")
	require.Contains(t, page, "Contrast 1.3 : 1, hard to read.")
	require.Contains(t, page, `value="49.90"`)
	refused := p.send("/portal", "landing", "on", "faq[4].question", "Without an answer")
	p.says(400, "Without an answer", refused)
	require.Regexp(t, `id="faq\[0\].answer"[^>]*aria-invalid="true"`, string(refused.Raw))
	require.Equal(t, "The settings are saved.", p.done(p.send("/portal", "landing", "on", "accent_standard", "on", "accent_color", "#123456")))
	set = settings()
	require.Equal(t, []any{nil, []any{}, []any{}, nil}, []any{set["accent_color"], set["benefits"], set["faq"], set["calculator"]})

	preview := p.send("/portal/preview", draft...)
	p.says(200, "<h1>Earn with us</h1>", preview)
	require.Contains(t, preview.Header.Get("Content-Security-Policy"), "frame-ancestors 'self'")
	require.Regexp(t, "^Contrast 1.3 : 1, hard to read. Pages use #[0-9a-f]{6} instead, and #ffd400 in dark mode.$",
		preview.Header.Get("Rail-Contrast"))
	require.Contains(t, string(preview.Raw), "/look/theme/ffd400--inter-soft.css")
	require.NotContains(t, string(preview.Raw), `name="form_token"`, "its form cannot be sent")
	require.Nil(t, settings()["accent_color"], "nothing is saved")
	require.Contains(t, p.page("/portal/preview"), "Join Program")
	p.says(422, "six hexadecimal digits", p.send("/portal/preview", "landing", "on", "accent_color", "red"))
}

// The preview follows what is typed, and needs a button without scripts.
func TestJoinPageEditorInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	shown := func(text string) {
		wait.Until(t, func() bool {
			return browsertest.Eval[bool](d.Tab, `[...document.querySelectorAll('iframe')].some(f =>
				f.contentDocument?.querySelector('h1')?.textContent === `+quoted(text)+`)`)
		}, "the preview shows %q", text)
	}
	d.visit("/portal")
	d.Do(chromedp.SendKeys(chromedp.CSS("#headline"), "Typed"))
	shown("Typed")
	pick := func(field string) {
		browsertest.Eval[bool](d.Tab, `(f => { f.value = '#ffd400'; return f.dispatchEvent(new Event('input', { bubbles: true })) })(
			document.getElementById('`+field+`'))`)
	}
	pick("second_color")
	d.Reads("hard to see")
	pick("accent_color")
	d.Reads("hard to read")
	require.False(t, browsertest.Eval[bool](d.Tab, "document.getElementById('second_standard').checked"))
	d.Scripts(false)
	d.visit("/portal")
	d.Do(chromedp.SendKeys(chromedp.CSS("#headline"), "Sent"))
	d.press("Preview")
	shown("Sent")
	d.Scripts(true)
	require.Less(t, browsertest.Eval[int](d.Tab, "document.documentElement.outerHTML.length"), 40_000)
	d.Accessible(d.owner.full("/portal"))
	d.Silent()
}

// The queue shows answers of the join page under its questions.
func TestAnswersHaveLabels(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Must(200, s.Post("/v1/programs/"+s.program+"/portal", M{"questions": []M{
		{"key": "audience", "label": "Who reads you?", "type": "text"},
	}}))
	s.Must(201, s.Post("/v1/applications", M{
		"program_id": s.program, "email": "a@example.com", "answers": M{"audience": "Readers", "other_thing": "x"},
	}))
	page := s.owner.page("/applications")
	require.Contains(t, page, "Who reads you?")
	require.Contains(t, page, "other thing")
	require.NotContains(t, page, "audience")
}

// TestJoinInTheBrowser: a stranger applies on the page that the manager has set up, confirms by the mailed link, and
// is approved in the console.
func TestJoinInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	d.visit("/portal")
	d.fill("introduction", "Earn with us.")
	d.press("Save")
	d.Reads("The settings are saved.")
	at := d.fixture.Must(200, d.fixture.Get("/v1/programs/"+d.program+"/portal")).String("join_url")
	d.Open(strings.TrimPrefix(at, d.Config.BaseURL))
	d.Reads("Earn with us.")
	for field, value := range map[string]string{"email": "ada@example.com", "first_name": "Ada", "country_code": "DE"} {
		d.fill(field, value)
	}
	if browsertest.Eval[bool](d.Tab, "!!document.getElementById('terms')") {
		d.Do(chromedp.Click(chromedp.CSS("#terms")))
	}
	d.Clock.Advance(3 * time.Second)
	d.press("Apply")
	d.Reads("Check your inbox")
	var text string
	require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT plain FROM mails WHERE purpose = 'join_confirm'").Scan(&text))
	link := regexp.MustCompile(`/join/confirm/(\w+)`).FindStringSubmatch(text)
	require.Len(t, link, 2, text)
	d.Open(link[0])
	d.press("Send my application")
	d.Reads("Application received.")
	d.visit("/applications")
	d.Reads("ada@example.com")
	d.tick("ada@example.com")
	d.press("Approve")
	d.Reads("1 application is approved.")
	d.Open("/join/status/" + link[1])
	d.Reads("Welcome! You’re now a partner.")
	d.Silent()
}

// TestThemeEditor saves the look of a program and previews another one: two colours with their contrast, a typeface,
// corners, a logo for dark mode, and the leaderboard.
func TestThemeEditor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.person(s.Org, team.Manager)
	settings := func() M { return s.Must(200, s.Get("/v1/programs/"+s.program+"/portal")).Body }
	require.Equal(t, "The settings are saved.", p.done(p.send("/portal", "landing", "on", "accent_color", "#14532D",
		"second_color", "#0A9D75", "typeface", "rounded", "corners", "round")))
	require.Equal(t, "The settings are saved.", p.done(p.send("/portal", "boxes", "leaderboard", "leaderboard", "on")))
	set := settings()
	require.Equal(t, []any{"#14532d", "#0a9d75", "rounded", "round", true},
		[]any{set["accent_color"], set["second_color"], set["typeface"], set["corners"], set["leaderboard"]})
	page := p.page("/portal")
	require.Regexp(t, `Contrast [0-9.]+ : 1, readable. Used as it is; #[0-9a-f]{6} in dark mode.`, page)
	require.Regexp(t, `Contrast 3.2 : 1, visible. Used as it is; #[0-9a-f]{6} in dark mode.`, page)
	require.Equal(t, "The settings are saved.", p.done(p.send("/portal", "boxes", "leaderboard")))
	require.Equal(t, false, settings()["leaderboard"])
	preview := p.send("/portal/preview", "landing", "on", "accent_standard", "on", "accent_color", "#123456",
		"second_color", "#ffd400", "typeface", "serif", "corners", "square")
	require.Contains(t, string(preview.Raw), "/look/theme/-ffd400-serif-square.css")
	require.Contains(t, preview.Header.Get("Rail-Second-Contrast"), "hard to see")
	p.says(422, "six hexadecimal digits", p.send("/portal/preview", "landing", "on", "second_color", "red"))
	require.Equal(t, "The logo for dark mode is saved.", p.done(p.upload("/portal/logo_dark", "image", "GIF89a and more")))
	require.NotNil(t, settings()["logo_dark_url"])
	require.Contains(t, p.page("/portal"), `class="logo_dark-shown"`)
}
