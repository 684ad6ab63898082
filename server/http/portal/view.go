package portal

import (
	"embed"
	"html/template"
	"net/http"
	"regexp"
	"strings"

	"rail/server/http/site"
	"rail/server/money/payout"
	"rail/server/opt"
)

//go:embed templates
var files embed.FS

// pages are the templates, each with the frame around it.
var pages = site.Source{
	Files: files, Folder: "templates", Vocabulary: vocabulary,
	Functions: template.FuncMap{"method": methodLabel, "detail": detailInput},
}.Parse()

// detailInput is the line for a detail of a payout method.
func detailInput(f site.Form, d detail) site.Input {
	i := site.NewInput(f, d.Name, d.Label, d.Hint, "text", "off", d.Most)
	i.ID, i.Optional = "payout_"+d.Name, d.Optional
	return i
}

// frame holds the data of every page.
type frame struct {
	site.Layout
	Lost bool // the page links to the portal
	Data any
}

// tabs are the pages in the menu.
var tabs = []site.Link{
	{Path: "/portal", Name: "Overview", Icon: "house"},
	{Path: "/portal/links", Name: "Links", Icon: "link"},
	{Path: "/portal/customers", Name: "Customers", Icon: "users"},
	{Path: "/portal/commissions", Name: "Commissions", Icon: "coins"},
	{Path: "/portal/payouts", Name: "Payouts", Icon: "wallet"},
	{Path: "/portal/resources", Name: "Resources", Icon: "folder"},
	{Path: "/portal/settings", Name: "Settings", Icon: "settings"},
}

// layout returns the header of a signed-in partner's page. nav is the path of the menu's entry.
func (v *visit) layout(title, nav string) (site.Layout, error) {
	l := site.Layout{
		Title:     title,
		Name:      v.program.Name,
		Branding:  v.branding,
		Account:   site.Account{Name: payout.NameOf(v.partner), SignOut: "/portal/sign-out"},
		FormToken: v.FormToken(),
		Flash:     v.Locale.T(notices[v.QueryParam("done")]),
		Framed:    v.frame != "",
	}
	if !v.session.Visitor && v.frame == "" {
		l.Languages, l.Speak = v.LanguageChoices(), "/portal/language"
	}
	if part := side(l.Name); part != "" {
		l.Part = v.Locale.T(part)
	}
	for _, t := range tabs {
		t.Name, t.Current = v.Locale.T(t.Name), t.Path == nav
		l.Tabs = append(l.Tabs, t)
	}
	var err error
	l.Switch, err = v.places()
	return l, err
}

// notices are the flash messages by the value of done.
var notices = map[string]string{
	"profile": "Your profile is saved.", "payout": "Your payout method is saved.",
	"notifications": "Your notifications are saved.", "postback": "Your postback is saved.",
	"leaderboard": "Your choice is saved.",
	"link":        "Your link is created.", "renamed": "Your link is renamed.",
	"away":    "The link is archived. It still counts where you published it.",
	"deleted": "The postback is deleted.", "tested": "A test was sent. See the result in the list of deliveries.",
}

// side returns the word beside a program's name, "" if the name ends with it.
func side(program string) string {
	if strings.HasSuffix(strings.ToLower(program), "partners") {
		return ""
	}
	return "Partners"
}

// signedOutPages matches the paths of pages that can be shown again in another language, outside of frames.
var signedOutPages = regexp.MustCompile(`^/portal($|/)(|sign-in/.*|[a-z]+)$`)

// signedOutLayout returns the header of a page without a partner.
func (v *visit) signedOutLayout(title string) site.Layout {
	l := site.Layout{Title: v.Locale.Said(title), Name: v.portal.Service, FormToken: v.FormToken()}
	if v.partner.ID == "" && v.Request().Method == http.MethodGet && signedOutPages.MatchString(v.Request().URL.Path) {
		l.Languages = v.Languages()
	}
	return l
}

// show writes a page of the portal.
func (v *visit) show(status int, name, nav, title string, data any) error {
	l, err := v.layout(v.Locale.T(title), nav)
	if err != nil {
		return err
	}
	return pages.Write(v, v.Locale, status, name, frame{Layout: l, Data: data})
}

// note writes a page with a title and a text. It has no name, since the visitor can be signed out.
func (v *visit) note(status int, title, text string) error {
	return pages.Write(v, v.Locale, status, "note", frame{
		Layout: v.signedOutLayout(title), Lost: status == http.StatusNotFound, Data: v.Locale.Said(text),
	})
}

// faults returns the faults of a form's fields in the reader's language.
func (v *visit) faults(err error, fields ...string) site.Faults {
	wrong := site.FaultsOf(err, fields...)
	for field, text := range wrong {
		wrong[field] = v.Locale.Said(text)
	}
	return wrong
}

// vocabulary has texts for values whose names are unclear.
var vocabulary = map[string]string{
	"referral": "Referral", "reward": "Bonus", "clawback": "Taken back", "not_eligible": "Not payable yet",
	"retrying": "Trying again", "api": "The program", "manual": "The program", "agent": "AI assistant", "sale_refunded": "The sale was refunded",
	"below_minimum": "Below the minimum", "no_payout_method": "No payout method", "tax_form_missing": "Tax form missing",
	"too_few_customers":  "More paying customers needed",
	"partner_not_active": "Not active", "risk_review": "In review",
	"cancelled": "Canceled", "mobile": "Phone", "desktop": "Computer", "tablet": "Tablet", "bot": "Robot",
}

// mask hides a customer's name except for its first letter.
func mask(texts ...*string) string {
	for _, t := range texts {
		for _, r := range opt.Value(t) {
			return string(r) + "•••"
		}
	}
	return "•••"
}
