package console_test

import (
	"encoding/json"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
	"rail/server/harness/wait"
	"rail/server/team"
)

// newPostSite is a site whose server has a mail server.
func newPostSite(t *testing.T) *fixture {
	t.Helper()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	return newSiteOf(s, s.Program())
}

// wrote saves a mail by its form and returns its page's path.
func (p *person) wrote(fields ...string) string {
	p.T.Helper()
	a := p.Must(303, p.send("/mails", append([]string{"name", "Autumn", "subject", "News", "body", "Hello **you**"}, fields...)...))
	return "/mails/" + path.Base(a.Header.Get("Location"))
}

// TestMails writes a mail, looks at it, changes it, tests it and sends it to those whom the page names before.
func TestMails(t *testing.T) {
	t.Parallel()
	s := newPostSite(t)
	require.Contains(t, s.owner.page("/mails"), "No campaigns yet")
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": s.program, "name": "Press"})).String("id")
	s.Partner(s.program, M{"group_id": group})
	s.Partner(s.program)
	mail := s.owner.wrote("lists", "audience.group_ids", "audience.group_ids", group)
	page := s.owner.page(mail)
	require.Contains(t, page, "All active partners of Press")
	require.Contains(t, s.owner.page(mail+"/letter"), "<strong>you</strong>")
	require.Contains(t, page, s.owner.Email)
	require.Contains(t, s.owner.page(mail+"/edit"), "Hello **you**")

	require.Equal(t, "The email is saved.", s.owner.done(s.owner.send(mail, "subject", "Good news", "lists", "audience.group_ids")))
	page = s.owner.page(mail + "/send")
	require.Contains(t, page, "Send “Good news” to 2 partners?")
	require.Contains(t, page, "All active partners: 2 partners.")
	require.Equal(t, "A test is on its way to "+s.owner.Email+".", s.owner.done(s.owner.send(mail+"/test")))
	viewer := s.person(s.Org, team.Viewer)
	viewer.says(403, "Your role cannot do this", viewer.send(mail+"/send"))
	status := func() string {
		return s.Must(200, s.Get("/v1/campaigns"+strings.TrimPrefix(mail, "/mails")+"?program_id="+s.program)).String("status")
	}
	require.Equal(t, "The email is sent to 2 partners in 10 minutes.", s.owner.done(s.owner.send(mail+"/send")))
	require.Equal(t, "scheduled", status())
	require.Contains(t, s.owner.page(mail), "It waits to be sent")
	s.Clock.Advance(9 * time.Minute)
	apitest.RunJob(t, s.Server, "send-campaigns")
	require.Equal(t, "scheduled", status())
	viewer.says(403, "Your role cannot do this", viewer.send(mail+"/hold"))
	require.Equal(t, "The email is not sent.", s.owner.done(s.owner.send(mail+"/hold")))
	s.Clock.Advance(time.Hour)
	apitest.RunJob(t, s.Server, "send-campaigns")
	require.Equal(t, "draft", status(), "undone")
	s.owner.done(s.owner.send(mail + "/send"))
	s.owner.says(409, "only a draft or a paused campaign can be sent", s.owner.send(mail+"/send"))
	require.Equal(t, "The email is on its way to 2 partners.", s.owner.done(s.owner.send(mail+"/send", "do", "now")))
	require.Equal(t, "sending", status())
	s.owner.says(409, "only a draft, a scheduled or a paused campaign", s.owner.send(mail+"/hold"))
	s.owner.says(409, "only a draft or a paused campaign can be sent", s.owner.send(mail+"/send", "do", "now"))
	require.Equal(t, "The email is paused. Sent messages cannot be recalled.", s.owner.done(s.owner.send(mail+"/pause")))
	require.Equal(t, "The email is deleted.", s.owner.done(s.owner.send(mail+"/delete")))
	require.NotContains(t, s.owner.page("/mails"), "Good news")
}

// TestLetter previews a mail as a chosen partner gets it, saved or typed, and sends a test with the partner's values.
// The mail is sandboxed, and the frame's policy allows no script.
func TestLetter(t *testing.T) {
	t.Parallel()
	s := newPostSite(t)
	require.Contains(t, s.owner.page("/mails/preview"), "Goes to 0 partners.")
	a := s.Partner(s.program, M{"first_name": "Ada", "email": "ada@example.com"})
	s.Partner(s.program, M{"first_name": "<b>Bob", "email": "bob@example.com"})
	mail := s.owner.wrote("subject", "For {{first_name}}", "body", "Dear {{first_name}}")
	require.Contains(t, s.owner.page(mail), `src="`+s.at+mail+`/letter"`)
	page := s.owner.page(mail + "?partner=bob@example.com")
	_, frame, _ := strings.Cut(page, `src="`+s.at)
	frame, _, _ = strings.Cut(frame, `"`)
	shown := s.owner.page(frame)
	for _, want := range []string{"Goes to 2 partners.", "bob@example.com", "For &lt;b&gt;Bob", `<iframe title="The email" sandbox srcdoc="`} {
		require.Contains(t, shown, want)
	}
	s.owner.says(400, "No partner found", s.owner.ask("GET", s.at+mail+"?partner=nobody", nil))

	draft := func(path string, fields ...string) string {
		return string(s.owner.send(path, append([]string{"name", "", "subject", "Hi {{name}}", "body", "x"}, fields...)...).Raw)
	}
	for range 2 { // the form has one key
		require.Contains(t, draft("/mails/preview", "partner", "bob@example.com", "once", "k"), "Hi &lt;b&gt;Bob")
	}
	require.Contains(t, draft("/mails/preview", "chosen", "on", "partner_id", a), "Goes to 1 partner.")
	require.Contains(t, draft("/mails/preview", "to", "some", "audience.statuses", "suspended"), "Goes to 0 partners.")
	require.Contains(t, draft("/mails/preview", "to", "everyone", "audience.statuses", "suspended"), "Goes to 2 partners.")
	require.Contains(t, draft(mail+"/letter", "body", "Typed"), "Typed")
	require.Contains(t, draft("/mails/preview", "body", "{{nam}}"), "unknown placeholder {{nam}}")
	s.Must(400, s.owner.send("/mails/preview", "subject", "x", "body", "x", "partner", "nobody"))

	policy := s.Must(200, s.owner.ask("GET", s.at+mail+"/letter", nil)).Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "script-src 'self';")
	require.Contains(t, policy, "frame-ancestors 'self'")
	refused := s.Must(400, s.owner.send("/mails", "name", "x", "subject", "Hi {{nam}}", "body", "x"))
	require.Contains(t, string(refused.Raw), "unknown placeholder {{nam}}")
	require.Contains(t, string(refused.Raw), `aria-invalid="true"`)

	s.owner.done(s.owner.send(mail+"/test", "partner_id", a))
	var values, program string
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT placeholders->>'first_name', program_id FROM mails WHERE purpose = 'campaign_test'").Scan(&values, &program))
	require.Equal(t, []string{"Ada", s.program}, []string{values, program})
}

// TestMailToTicked writes to the selected partners, and to all partners when none is selected.
func TestMailToTicked(t *testing.T) {
	t.Parallel()
	s := newPostSite(t)
	a, b := s.Partner(s.program), s.Partner(s.program)
	s.Partner(s.program)
	s.owner.says(400, "Select at least one row first.", s.owner.send("/partners/bulk", "do", "mail"))
	form := s.Must(303, s.owner.send("/partners/bulk", "do", "mail", "id", a, "id", b)).Header.Get("Location")
	page := s.owner.page(form)
	require.Contains(t, page, "Only to the 2 chosen partners")
	require.Contains(t, page, `name="partner_id" value="`+a+`"`)
	mail := s.owner.wrote("chosen", "on", "partner_id", a, "partner_id", b)
	require.Contains(t, s.owner.page(mail), "All active partners among 2 chosen ones")
	require.Contains(t, s.owner.page(mail+"/edit"), "Only to the 2 chosen partners")
	s.owner.done(s.owner.send(mail, "chosen", "on", "subject", "Still to them"))
	require.Contains(t, s.owner.page(mail+"/send"), "All active partners among 2 chosen ones: 2 partners.")
	s.owner.done(s.owner.send(mail, "subject", "To everybody"))
	require.Contains(t, s.owner.page(mail+"/send"), "All active partners: 3 partners.")
	refused := s.Must(400, s.owner.send("/mails", "name", "x", "subject", "", "body", "x", "chosen", "on", "partner_id", a))
	require.Contains(t, string(refused.Raw), "Only to the chosen partner")
	require.Contains(t, string(refused.Raw), `name="partner_id" value="`+a+`"`)
}

// TestMailToSome: a part of the partners that nothing narrows is refused, and not sent to everyone.
func TestMailToSome(t *testing.T) {
	t.Parallel()
	s := newPostSite(t)
	s.owner.says(400, "Choose at least one group, tag or state", s.owner.send("/mails", "to", "some", "name", "News",
		"subject", "News", "body", "Hello", "lists", "audience.group_ids", "lists", "audience.tag_ids"))
	require.Contains(t, s.owner.page("/mails"), "No campaigns yet")
}

// TestFailedMails shows what could not be delivered, and sends it again.
func TestFailedMails(t *testing.T) {
	t.Parallel()
	s := newPostSite(t)
	require.Contains(t, s.owner.page("/mails/failed"), "All emails were delivered.")
	_, err := s.Pool.Exec(t.Context(),
		`INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, attempts, error, created_at)
		VALUES ('mail_failed', $1, 'payout_paid', 'x', 'gone@example.com', 'Your payout was sent', 'x', 'failed', 6, 'no such mailbox', $2)`,
		s.Org, s.Clock.Now())
	require.NoError(t, err)
	require.Contains(t, s.owner.page(""), s.at+"/mails/failed")
	require.Contains(t, s.owner.page("/mails"), s.at+"/mails/failed")
	viewer := s.person(s.Org, team.Viewer)
	require.NotContains(t, viewer.page("/mails/failed"), "Send again")
	s.Must(403, viewer.send("/mails/failed/mail_failed/retry"))
	page := s.owner.page("/mails/failed")
	for _, text := range []string{"gone@example.com", "no such mailbox", "Payout paid", "/mails/failed/mail_failed/retry"} {
		require.Contains(t, page, text)
	}
	require.Contains(t, s.owner.page("/mails/failed.csv"), "gone@example.com")
	require.Contains(t, s.owner.done(s.owner.send("/mails/failed/mail_failed/retry")), "The email is sent again.")
	require.NotContains(t, s.owner.page("/mails/failed"), "gone@example.com")
	s.owner.says(409, "only a failed mail can be sent again", s.owner.send("/mails/failed/mail_failed/retry"))
}

// TestMailForm finds refusals beside their fields, and schedules a mail.
func TestMailForm(t *testing.T) {
	t.Parallel()
	s := newPostSite(t)
	wrong := s.Must(400, s.owner.send("/mails", "name", "Autumn", "subject", "", "body", "Kept text"))
	require.Contains(t, string(wrong.Raw), `aria-invalid="true"`)
	require.Contains(t, string(wrong.Raw), "Kept text")
	past := s.owner.send("/mails", "name", "x", "subject", "x", "body", "x", "scheduled_at", "2020-01-01T10:00")
	s.owner.says(400, "must be in the future", past)
	require.Contains(t, string(past.Raw), `value="2020-01-01T10:00"`)
	mail := s.owner.wrote("scheduled_at", "2027-01-01T10:00")
	require.Contains(t, s.owner.page(mail), "Scheduled")
	require.Contains(t, s.owner.page(mail+"/edit"), `value="2027-01-01T10:00"`)
	list := s.Must(200, s.Get("/v1/campaigns?program_id="+s.program)).Data()
	require.Equal(t, "2027-01-01T10:00:00.000Z", list[0]["scheduled_at"])
	require.Contains(t, s.owner.page("/mails.csv"), "Autumn")
	s.Must(200, s.Post("/v1/programs/"+s.program, M{"time_zone": "Australia/Sydney"}))
	require.Contains(t, s.owner.page(mail), "1 Jan 2027, 21:00 (Australia/Sydney)")
	edit := s.owner.page(mail + "/edit")
	require.Contains(t, edit, `value="2027-01-01T21:00"`)
	require.Contains(t, edit, "Time in Australia/Sydney.")
	s.owner.done(s.owner.send(mail, "scheduled_at", "2027-07-01T09:30"))
	list = s.Must(200, s.Get("/v1/campaigns?program_id="+s.program)).Data()
	require.Equal(t, "2027-06-30T23:30:00.000Z", list[0]["scheduled_at"])
	nobody := s.owner.wrote("audience.statuses", "suspended")
	s.owner.says(409, "No partner matches", s.owner.send(nobody+"/send"))
	later := s.owner.wrote("audience.statuses", "suspended", "scheduled_at", "2027-07-01T09:30")
	s.owner.says(409, "No partner matches", s.owner.send(later+"/send", "do", "now"))
	require.Contains(t, s.owner.page(later), "Scheduled", "it is sent at its time, as before")
}

// TestSequences starts a sequence, holds it and lets it go on.
func TestSequences(t *testing.T) {
	t.Parallel()
	s := newPostSite(t)
	require.Equal(t, "The sequence is active.", s.owner.done(s.owner.send("/mails/sequences", "name", "Welcome",
		"trigger", "approved", "steps[0].delay_days", "0", "steps[0].subject", "Hello", "steps[0].body", "Hi.",
		"steps[1].delay_days", "7", "steps[1].subject", "Still there?", "steps[1].body", "Hi again.", "steps[2].delay_days", "0")))
	sequence := s.Must(200, s.Get("/v1/sequences?program_id="+s.program)).Data()[0]
	require.Equal(t, json.Number("2"), sequence["steps"])
	form := "/mails/sequences/" + sequence["id"].(string)
	require.Contains(t, s.owner.page("/mails"), form+"/pause")
	s.owner.done(s.owner.send(form + "/pause"))
	require.Contains(t, s.owner.page("/mails"), form+"/resume")
	s.owner.done(s.owner.send(form + "/resume"))
	s.owner.done(s.owner.send(form + "/delete"))
	require.NotContains(t, s.owner.page("/mails"), "Welcome")
	wrong := s.Must(400, s.owner.send("/mails/sequences", "name", "Welcome", "trigger", "approved",
		"steps[0].delay_days", "soon", "steps[0].subject", "Hello", "steps[0].body", "Hi."))
	require.Contains(t, string(wrong.Raw), `aria-invalid="true"`)
}

// TestResourcesPage puts something on the shelf, changes it and takes it away.
func TestResourcesPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.Contains(t, s.owner.page("/resources"), "No resources yet")
	s.owner.done(s.owner.send("/resources", "title", "Brand guide", "url", "https://shop.example/brand", "folder", "",
		"boxes", "published", "published", "on"))
	resource := s.Must(200, s.Get("/v1/resources?program_id="+s.program)).Data()[0]
	require.Equal(t, []any{"Brand guide", true, nil}, []any{resource["title"], resource["published"], resource["folder"]})
	form := "/resources/" + resource["id"].(string)
	require.Contains(t, s.owner.page("/resources"), form)
	wrong := s.Must(400, s.owner.send(form, "title", "Brand guide", "url", "nowhere"))
	require.Contains(t, string(wrong.Raw), `aria-invalid="true"`)
	s.owner.done(s.owner.send(form, "title", "Logos", "boxes", "published"))
	changed := s.Must(200, s.Get("/v1"+form))
	require.Equal(t, []any{"Logos", false}, []any{changed.Body["title"], changed.Body["published"]})
	require.Contains(t, s.owner.page(form), "Logos")
	require.Contains(t, s.owner.page("/resources.csv"), "Logos")
	viewer := s.person(s.Org, team.Viewer)
	viewer.says(403, "Your role cannot do this", viewer.send(form+"/delete"))
	s.owner.done(s.owner.send(form + "/delete"))
	require.NotContains(t, s.owner.page("/resources"), "Logos")
}

// TestMailToAll writes to all partners in a browser, looks at the mail, and sends it after the page has said to
// how many.
func TestMailToAll(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	d.press("Emails")
	d.Reads("Campaigns")
	d.press("Write an email")
	d.Reads("To whom")
	for _, field := range []struct{ name, text string }{ // placeholders go into the last field
		{"#name", "Autumn"}, {"#subject", "Good news"}, {"#body", "Hello **all of you**, "},
	} {
		d.Do(chromedp.SendKeys(chromedp.CSS(field.name), field.text))
	}
	d.Do(chromedp.Click(chromedp.CSS(".inserts summary")))
	browsertest.Eval[any](d.Tab, `document.querySelector('[data-insert="{{program}}"]').click()`) // the preview moves the page
	require.Equal(t, "Hello **all of you**, {{program}}", browsertest.Eval[string](d.Tab, "document.querySelector('#body').value"))
	length := browsertest.Eval[int](d.Tab, "history.length")
	letter := `document.querySelector('[name="letter"]').contentDocument.querySelector('iframe')?.srcdoc ?? ''`
	wait.Until(t, func() bool {
		return strings.Contains(browsertest.Eval[string](d.Tab, letter), "<strong>all of you</strong>, ")
	}, "the preview follows the text")
	require.Equal(t, length, browsertest.Eval[int](d.Tab, "history.length"), "and not the history")
	d.press("Save")
	d.Reads("Nothing is sent yet.")
	d.press("Send a test to myself")
	d.Reads("A test is on its way to " + d.owner.Email)
	campaign := d.fixture.Must(200, d.fixture.Get("/v1/campaigns?program_id="+d.program)).Data()[0]["id"].(string)
	d.Accessible(d.owner.full("/mails"), d.owner.full("/mails/failed"), d.owner.full("/mails/"+campaign), d.owner.full("/mails/"+campaign+"/edit"),
		d.owner.full("/mails/"+campaign+"/send"), d.owner.full("/mails/sequences/new"), d.owner.full("/resources"))
	d.visit("/mails")
	d.press("Autumn")
	d.Reads("Preview")
	d.press("Change")
	d.press("Review and send")
	d.Reads("Send “Good news” to")
	d.press("Send in 10 minutes")
	d.Reads("in 10 minutes.")
	d.press("Undo")
	d.Reads("The email is not sent.")
	d.visit("/mails/" + campaign + "/send")
	d.press("Send now")
	d.Reads("The email is on its way to")
	require.Equal(t, "sending", d.fixture.Must(200, d.fixture.Get("/v1/campaigns/"+campaign+"?program_id="+d.program)).String("status"))
	d.Silent()
}

// TestPreviewWithoutScript: a button updates the preview, and the page stays.
func TestPreviewWithoutScript(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	d.Scripts(false)
	d.visit("/mails/new")
	d.Do(chromedp.SendKeys(chromedp.CSS("#body"), "Hello **you**"))
	d.press("Update preview")
	d.Scripts(true)
	wait.Until(t, func() bool {
		return strings.Contains(browsertest.Eval[string](d.Tab,
			`document.querySelector('[name="letter"]').contentDocument.querySelector('iframe')?.srcdoc ?? ''`), "<strong>you</strong>")
	}, "the frame has the mail")
	require.Equal(t, "Hello **you**", browsertest.Eval[string](d.Tab, "document.querySelector('#body').value"))
	d.Silent()
}
