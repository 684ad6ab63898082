package console

import (
	"cmp"
	"crypto/rand"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/locale/currency"
	"rail/server/opt"
	"rail/server/postgres/shortage"
)

//go:embed templates
var files embed.FS

// pages are the templates of all pages, each with the frame around it.
var pages = site.Source{
	Files: files, Folder: "templates", Vocabulary: vocabulary,
	Functions: template.FuncMap{
		"partnerName": nameOf, "groupName": groupName, "inc": func(n int) int { return n + 1 },
		"deref": opt.Value[string], "browserName": browserName, "boxes": func(names ...string) []string { return names },
		"lines": func(texts []string) string { return strings.Join(texts, "\n") },
	},
}.Parse()

// frame is the part that all pages share.
type frame struct {
	*visit
	Title  string
	Layout site.Layout
	Data   any
}

// sheet describes a page.
type sheet struct {
	Template, Section, Title string
	Data                     any
}

// show writes a page. After a refused form, the page has the typed values.
func (v *visit) show(p sheet) error {
	status := http.StatusOK
	if v.fault != nil {
		status = v.fault.Status()
	}
	layout := v.layout(p.Title, p.Section)
	layout.Flash, layout.Undo = v.TakeUndo()
	layout.Refresh = v.refresh
	return pages.Write(v, v.Locale, status, p.Template, frame{visit: v, Title: p.Title, Layout: layout, Data: p.Data})
}

// note writes a page with a title and a text.
func (v *visit) note(status int, title, text string) error {
	return pages.Write(v, v.Locale, status, "note",
		frame{visit: v, Title: title, Layout: v.layout(title, ""), Data: text})
}

// NoHits replaces the results of a search.
func (f frame) NoHits() site.Nothing {
	return site.Nothing{
		Title: "Nothing found",
		Text: "Partners are found by a part of a name, an email or a handle; customers by their whole email or id; " +
			"sales by the id of the charge.",
	}
}

// NoPartners replaces the list of partners.
func (f frame) NoPartners() site.Nothing {
	n := site.Nothing{Title: "No partners yet", Text: "Share your join page, or add the first partner yourself."}
	if f.Can("partners:write") {
		n.Link = site.Link{Path: f.at("/partners/new"), Name: "Add the first one"}
	}
	return n
}

// Nothing replaces a list without rows. An empty path is no link.
func (f frame) Nothing(title, text, name, path string) site.Nothing {
	n := site.Nothing{Title: title, Text: text}
	if path != "" {
		n.Link = site.Link{Path: f.at(path), Name: name}
	}
	return n
}

// NoRows replaces a list of a kind of objects, such as "sales". Without filters, it has a text and a link to a page.
func (f frame) NoRows(filters site.Filters, kind, text, name, path string) site.Nothing {
	if len(filters.Chips) > 0 {
		return site.Nothing{
			Title: "No " + kind + " match these filters",
			Link:  site.Link{Path: "?", Name: "Show all " + kind},
		}
	}
	return f.Nothing("No "+kind+" yet", text, name, path)
}

// NoTraffic replaces the top partners.
func (f frame) NoTraffic() site.Nothing {
	return f.Nothing("No visitors yet", "Partners appear here with their first click.", "Invite a partner", "/partners/new")
}

// part writes a part of a page, for a script that replaces it.
func (v *visit) part(name string, data any) error {
	v.Response().Header().Set("Cache-Control", "no-store")
	return pages.Write(v, v.Locale, http.StatusOK, name, data)
}

// Docs is where the documentation of the API is.
func (f frame) Docs() string { return f.console.Docs }

// layout returns the header and the menu of a page. section is the path of the menu's entry. A shortage of the
// database's disk or memory, for which nothing can be saved, is on every page.
func (v *visit) layout(title, section string) site.Layout {
	l := site.Layout{Title: title, Service: v.console.Service, Script: site.ConsolePath}
	if v.Token != "" {
		programs, err := v.programs()
		if err != nil { // a page is shown without its menu
			v.Err = err
		}
		l.Name, l.Home = cmp.Or(v.program.Name, v.session.Org.Name, v.console.Service), "/console"
		l.Account = site.Account{Name: v.session.User.Name, Path: "/console/account", SignOut: "/console/sign-out"}
		l.FormToken, l.Switcher = v.FormToken(), v.switcher(programs)
		if base := v.menuProgram(programs); base != "" {
			l.Menu, l.Search = v.menu(base, section), "/console/p/"+base+"/find"
		}
	}
	if why := cmp.Or(v.console.Shortage.Problem(shortage.Disk), v.console.Shortage.Problem(shortage.Memory)); why != "" {
		l.Alert = "Nothing can be saved: " + why + ". Contact the operator of this server."
	}
	return l
}

// Program is the page's program; its ID is "" if there is none.
func (f frame) Program() db.Program { return f.program }

// SendsEmail reports whether the server can send email.
func (f frame) SendsEmail() bool { return f.console.People.Mail.Ready() }

// Once returns an idempotency key for one form.
func (f frame) Once() string { return rand.Text() }

// At is the address of a page of the program.
func (f frame) At(path string) string { return f.at(path) }

// Here is the address of the page itself.
func (f frame) Here() string { return f.Request().URL.Path }

// Query is the page's own query with one parameter changed, for links that keep the filters.
func (f frame) Query(name, value string) string {
	q := url.Values{}
	for key, texts := range f.QueryParams() {
		if key != "after" && key != "before" {
			q[key] = texts
		}
	}
	if value == "" {
		q.Del(name)
	} else {
		q.Set(name, value)
	}
	return "?" + q.Encode()
}

// Asked returns a parameter of the page's address.
func (f frame) Asked(name string) string { return cleaned(f.QueryParam(name)) }

// Fault returns the refusal's message if it concerns none of the fields; "" for none.
func (f frame) Fault(fields ...string) string {
	if f.fault == nil {
		return ""
	}
	return site.FaultsOf(f.fault, fields...)[""]
}

// FaultOf returns the fault of a field.
func (f frame) FaultOf(field string) string {
	if f.fault == nil {
		return ""
	}
	return site.FaultsOf(f.fault, field)[field]
}

// For returns the frame for one of the page's forms, without the values typed into another form. The path is below
// the program, or below /console.
func (f frame) For(path string) frame {
	if here := f.Request().URL.Path; f.Form == nil || here == path || here == f.at(path) {
		return f
	}
	other := *f.visit
	other.Form, other.fault = nil, nil
	f.visit = &other
	return f
}

// Faulty reports whether the form was refused.
func (f frame) Faulty() bool { return f.fault != nil }

// Typed returns the posted value of a field, or the stored one.
func (f frame) Typed(field string, stored any) string {
	if f.Form != nil && f.Form.Has(field) {
		return f.value(field)
	}
	return text(stored)
}

// Line returns an input with the typed or stored value and its fault. A password is never shown again.
func (f frame) Line(kind, name, label string, stored any) site.Input {
	in := site.Input{
		Name: name, ID: name, Label: label, Value: f.Typed(name, stored), Error: f.FaultOf(name), Type: kind,
		Auto: "off", Most: most[kind],
	}
	if kind == "password" {
		in.Value = ""
	}
	return in
}

// most is the maximum length of an input by its type.
var most = map[string]int{"email": 320, "password": 200, "text": 255, "url": 2048, "textarea": 4000}

// Select returns a select of an enum's values.
func (f frame) Select(name, label string, stored any, values ...string) site.Input {
	in := f.Line("select", name, label, stored)
	for _, v := range values {
		in.Options = append(in.Options, site.Option{Value: v, Label: site.Words(v, vocabulary)})
	}
	return in
}

// Radios returns an input with the roles.
func (f frame) Radios(name, label, stored string) site.Input {
	return f.Line("radios", name, label, stored).Of(roles)
}

// Boxes returns an input with several checkboxes.
func (f frame) Boxes(name, label string, stored []string, options []site.Option) site.Input {
	in := f.Line("boxes", name, label, nil)
	if f.Form != nil {
		stored = f.values(name)
	}
	in.Options = site.Choose(options, stored...)
	return in
}

// Amount returns an input for money in the program's currency.
func (f frame) Amount(name, label string, minor any) site.Input {
	in := f.Line("money", name, label, nil).In(f.program.Currency)
	if f.Form != nil {
		return in
	}
	switch m := minor.(type) {
	case int64:
		in.Value = currency.Decimal(m, f.program.Currency)
	case *int64:
		if m != nil {
			in.Value = currency.Decimal(*m, f.program.Currency)
		}
	}
	return in
}

// Tick returns a single checkbox.
func (f frame) Tick(name, label string, stored bool) site.Input {
	in := f.Line("check", name, label, nil)
	if f.Form == nil && stored {
		in.Value = "on"
	}
	return in
}

// menuProgram returns the id of the program whose pages the menu has: the page's, or the first one; "" for none.
func (v *visit) menuProgram(programs []api.Program) string {
	if v.program.ID != "" || len(programs) == 0 {
		return v.program.ID
	}
	return programs[len(programs)-1].ID
}

// menu returns the menu of the pages of a program. section is the path of the page's entry.
func (v *visit) menu(program, section string) site.Menu {
	m := site.Menu{Label: "Menu"}
	for _, g := range entries {
		group := site.Group{Name: g.name}
		for _, e := range g.entries {
			if e.path == "/setup" && v.hidesSetup(program) || e.path == "/imports" && !v.movesIn() {
				continue
			}
			group.Links = append(group.Links, site.Link{
				Path:    "/console/p/" + program + e.path,
				Name:    e.name,
				Icon:    e.icon,
				Current: v.program.ID != "" && e.path == section,
			})
		}
		m.Groups = append(m.Groups, group)
	}
	return m
}

// switcher returns the menu of the organization's programs.
func (v *visit) switcher(programs []api.Program) site.Switcher {
	s := site.Switcher{Label: v.session.Org.Name, More: []site.Link{
		{Path: "/console/new", Name: newProgramTitle, Icon: "plus"},
		{Path: "/console/team", Name: peopleTitle, Icon: "users"},
	}}
	for _, p := range slices.Backward(programs) { // the list begins with the newest
		s.Links = append(s.Links, site.Link{Path: "/console/p/" + p.ID, Name: p.Name, Current: p.ID == v.program.ID})
	}
	return s
}
