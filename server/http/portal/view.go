package portal

import (
	"embed"
	"html/template"
	"net/http"
	"strings"

	"rail/server/http/site"
	"rail/server/http/site/look"
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
	Title, Nav, Program, Who, FormToken, Done string
	SignedIn, Framed, Home                    bool
	Look                                      look.Look
	Data                                      any
}

// section is an entry of the menu.
type section struct{ Path, Name string }

// Sections is the menu.
func (frame) Sections() []section {
	return []section{
		{"/portal", "Overview"}, {"/portal/links", "Links"}, {"/portal/customers", "Customers"},
		{"/portal/commissions", "Commissions"}, {"/portal/payouts", "Payouts"}, {"/portal/resources", "Resources"},
		{"/portal/settings", "Settings"},
	}
}

// Side is the word beside the program's name, unless the name ends with it.
func (f frame) Side() string {
	if !f.SignedIn || strings.HasSuffix(strings.ToLower(f.Program), "partners") {
		return ""
	}
	return "Partners"
}

// notices are the flash messages by the value of done.
var notices = map[string]string{
	"profile": "Your profile is saved.", "payout": "Your payout method is saved.",
	"notifications": "Your notifications are saved.", "postback": "Your postback is saved.",
	"link": "Your link is created.", "renamed": "Your link is renamed.",
	"away":    "The link is archived. It still counts where you published it.",
	"deleted": "The postback is deleted.", "tested": "A test was sent. See the result in the list of deliveries.",
}

// show writes a page of the portal.
func (v *visit) show(status int, name, nav, title string, data any) error {
	return pages.Write(v, v.locale, status, name, frame{
		Title: v.locale.T(title), Nav: nav, Program: v.program.Name, Who: payout.NameOf(v.partner),
		FormToken: guard.Token(v.token), Done: v.locale.T(notices[v.QueryParam("done")]), SignedIn: true,
		Framed: v.frame != "", Look: v.look, Data: data,
	})
}

// note writes a page with a title and a text. It has no name, since the visitor can be signed out.
func (v *visit) note(status int, title, text string) error {
	return pages.Write(v, v.locale, status, "note", frame{
		Home:  status == http.StatusNotFound,
		Title: v.locale.Said(title), Program: v.portal.Service, Data: v.locale.Said(text),
	})
}

// faults returns the faults of a form's fields in the reader's language.
func (v *visit) faults(err error, fields ...string) site.Faults {
	wrong := site.FaultsOf(err, fields...)
	for field, text := range wrong {
		wrong[field] = v.locale.Said(text)
	}
	return wrong
}

// vocabulary has texts for values whose names are unclear.
var vocabulary = map[string]string{
	"referral": "Referral", "reward": "Bonus", "clawback": "Taken back", "not_eligible": "Not payable yet",
	"retrying": "Trying again", "api": "The program", "manual": "The program", "sale_refunded": "The sale was refunded",
	"below_minimum": "Below the minimum", "no_payout_method": "No payout method", "tax_form_missing": "Tax form missing",
	"partner_not_active": "Not active", "risk_review": "In review",
	"mobile": "Phone", "desktop": "Computer", "tablet": "Tablet", "bot": "Robot",
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
