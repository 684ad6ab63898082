package portal

import (
	"bytes"
	"embed"
	"html/template"
	"reflect"
	"strconv"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/currency"
	"rail/server/http/static"
	"rail/server/money/payout"
	"rail/server/opt"
)

//go:embed templates assets
var files embed.FS

// pages are the templates, each with the frame around it.
var pages = parse("overview", "links", "customers", "commissions", "payouts", "resources", "settings", "postback",
	"note")

// parse reads each page's template into a copy of the frame: every page defines the
// same block, and in one set the last would win. A mistake ends the start.
func parse(names ...string) map[string]*template.Template {
	empty := template.New("frame.html").Funcs(functions)
	frame := template.Must(empty.ParseFS(files, "templates/frame.html", "templates/parts.html"))
	out := map[string]*template.Template{}
	for _, name := range names {
		out[name] = template.Must(template.Must(frame.Clone()).ParseFS(files, "templates/"+name+".html"))
	}
	return out
}

// functions are what templates can call. Times are in UTC, like the API's.
var functions = template.FuncMap{
	"money":  money,
	"day":    func(t clock.Time) string { return t.UTC().Format("2 Jan 2006") },
	"moment": func(t clock.Time) string { return t.UTC().Format("2 Jan 2006, 15:04") },
	"iso":    func(t clock.Time) string { return t.String() },
	"words":  func(v any) string { return words(reflect.Indirect(reflect.ValueOf(v)).String()) },
	"count":  func(n int64) string { return grouped(currency.Decimal(n, "JPY")) },
	"size":   size,
	"method": methodLabel,
	"input":  newInput,
	"detail": func(f formState, d detail) input {
		i := newInput(f, d.Name, d.Label, d.Hint, "text", "off", d.Most)
		i.ID, i.Optional = "payout_"+d.Name, d.Optional
		return i
	},
}

// input is one line of a form as it is shown.
type input struct {
	Name, ID, Label, Hint, Value, Error, Type, Auto string
	Most                                            int
	Optional                                        bool
}

// newInput fills a line with what was typed and its fault.
func newInput(f formState, name, label, hint, kind, auto string, most int) input {
	return input{
		Name: name, ID: name, Label: label, Hint: hint, Value: f.Values[name], Error: f.Errors[name], Type: kind,
		Auto: auto, Most: most,
	}
}

// size is that of a file.
func size(bytes int64) string {
	switch {
	case bytes >= 1_000_000:
		return grouped(strconv.FormatInt(bytes/1_000_000, 10)) + " MB"
	case bytes >= 1000:
		return strconv.FormatInt(bytes/1000, 10) + " kB"
	}
	return strconv.FormatInt(bytes, 10) + " bytes"
}

// frame is what every page gets.
type frame struct {
	Title, Nav, Program, Who, FormToken, Done string
	SignedIn                                  bool
	Data                                      any
}

// section is an entry of the menu.
type section struct{ Path, Name string }

// Sections is the menu.
func (frame) Sections() []section {
	return []section{
		{"/portal", "Overview"}, {"/portal/links", "Links"}, {"/portal/customers", "Customers"},
		{"/portal/commissions", "Commissions"}, {"/portal/payouts", "Payouts"}, {"/portal/resources", "Resources"},
		{"/portal/postback", "Postback"}, {"/portal/settings", "Settings"},
	}
}

// Side is the word beside the program's name, unless the name says it.
func (f frame) Side() string {
	if !f.SignedIn || strings.HasSuffix(strings.ToLower(f.Program), "partners") {
		return ""
	}
	return "Partners"
}

// notices are the words for what a form has done.
var notices = map[string]string{
	"profile": "Your profile is saved.", "payout": "Your payout method is saved.",
	"notifications": "Your notifications are saved.", "postback": "Your postback is saved.",
	"deleted": "The postback is deleted.", "tested": "A test was sent. Its outcome is in the list of deliveries.",
}

// show writes a page of the portal.
func (v *visit) show(status int, name, nav, title string, data any) error {
	return v.render(status, name, frame{
		Title: title, Nav: nav, Program: v.program.Name, Who: payout.NameOf(v.partner), FormToken: formToken(v.token),
		Done: notices[v.QueryParam("done")], SignedIn: true, Data: data,
	})
}

// note writes a page that only says something. It names nobody, as nobody
// may be signed in.
func (v *visit) note(status int, title, text string) error {
	return v.render(status, "note", frame{Title: title, Program: v.portal.Service, Data: text})
}

// render makes the whole page before anything of it leaves.
// A template that fails halfway then leaves an error page, not half a page with 200.
func (v *visit) render(status int, name string, f frame) error {
	var b bytes.Buffer
	if err := pages[name].ExecuteTemplate(&b, "frame.html", f); err != nil {
		return err
	}
	return v.HTMLBlob(status, b.Bytes())
}

// assets are the files that the pages load, by path.
var assets = map[string]*static.Text{
	"/portal/assets/portal.css": asset("portal.css", "text/css; charset=utf-8"),
	"/portal/assets/portal.js":  asset("portal.js", "text/javascript; charset=utf-8"),
}

// asset is a file that browsers keep for five minutes: its path has no version, and
// pages must not have an old style for long after an update.
func asset(name, kind string) *static.Text {
	return static.New(kind, "public, max-age=300", func() ([]byte, error) { return files.ReadFile("assets/" + name) })
}

// money is an amount for people, with its currency.
func money(minor int64, code string) string {
	return grouped(currency.Decimal(minor, code)) + " " + code
}

// grouped puts commas between thousands.
// The minus sign is U+2212, which is as wide as a digit.
func grouped(decimal string) string {
	whole, rest, _ := strings.Cut(decimal, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "−", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return sign + whole + rest
}

// words is a value of an enum for people.
// A value that vocabulary lacks is shown as it is, with spaces for underscores, so that
// a new state of the API needs no change here.
func words(v string) string {
	if known, ok := vocabulary[v]; ok {
		return known
	}
	s := strings.ReplaceAll(v, "_", " ")
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// vocabulary has the values whose own name would not be understood.
var vocabulary = map[string]string{
	"referral": "Referral", "reward": "Bonus", "clawback": "Taken back", "not_eligible": "Not payable yet",
	"retrying": "Trying again", "api": "The program", "manual": "The program", "sale_refunded": "The sale was refunded",
	"below_minimum": "Below the minimum", "no_payout_method": "No payout method", "tax_form_missing": "Tax form missing",
	"partner_not_active": "Not active", "risk_review": "In review",
}

// mask shows that there is a customer, and not who.
func mask(texts ...*string) string {
	for _, t := range texts {
		for _, r := range opt.Value(t) {
			return string(r) + "•••"
		}
	}
	return "•••"
}

// month is the name of a month that a report's row begins.
// It returns the key itself if it is no date.
func month(key string) string {
	t, err := time.Parse(time.DateOnly, key)
	if err != nil {
		return key
	}
	return t.Format("January 2006")
}
