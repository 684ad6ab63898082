package console

import (
	"crypto/rand"
	"net/url"
	"slices"
	"strings"

	"rail/server/http/site"
	"rail/server/team"
)

var savedRoutes = map[string]route{
	"POST /console/p/{program}/views":        {Do: saveView},
	"POST /console/p/{program}/views/delete": {Do: dropView},
}

// savedPages are the lists whose filters can be saved.
var savedPages = []string{"/partners", "/applications", "/customers", "/sales", "/commissions", "/payouts/all"}

// savedFilters adds the person's saved filters to those of a list.
func (v *visit) savedFilters(f *site.Filters) {
	page := strings.TrimPrefix(f.Path, v.at(""))
	if !slices.Contains(savedPages, page) {
		return
	}
	form := func(more ...site.Hidden) []site.Hidden {
		return append([]site.Hidden{
			{Name: "form_token", Value: v.FormToken()}, {Name: "once", Value: rand.Text()}, {Name: "page", Value: page},
		}, more...)
	}
	query := filterQuery(v.QueryParams())
	found := false
	for _, view := range v.session.User.Views {
		if view.Program != v.program.ID || view.Page != page {
			continue
		}
		found = found || view.Query == query
		f.Saved = append(f.Saved, site.Saved{
			Name:    view.Name,
			Path:    f.Path + "?" + view.Query,
			Current: view.Query == query,
			Drop:    v.at("/views/delete"),
			Hidden:  form(site.Hidden{Name: "name", Value: view.Name}),
		})
	}
	if query != "" && !found {
		f.Save = &site.Save{Action: v.at("/views"), Hidden: form(site.Hidden{Name: "query", Value: query})}
	}
}

// filterQuery returns the parameters of an address that are not empty, without the place in the list.
func filterQuery(query url.Values) string {
	out := url.Values{}
	for name, texts := range query {
		for _, text := range texts {
			if text != "" && name != "after" && name != "before" && name != "done" {
				out.Add(name, text)
			}
		}
	}
	return out.Encode()
}

// typedView returns the posted filters.
func (v *visit) typedView() (team.View, error) {
	view := team.View{Program: v.program.ID, Page: v.value("page"), Name: v.value("name")}
	query, err := url.ParseQuery(v.value("query"))
	if err != nil || !slices.Contains(savedPages, view.Page) {
		return view, site.NotFound()
	}
	view.Query = filterQuery(query)
	return view, nil
}

// saveView saves the filters of a list.
func saveView(v *visit) error {
	view, err := v.typedView()
	if err != nil {
		return err
	}
	err = v.console.People.SaveView(v.Ctx(), v.unit(), view)
	if p, ok := refused(err); ok {
		return v.done(v.at(view.Page), p.Message)
	}
	if err != nil {
		return err
	}
	return v.done(v.at(view.Page)+"?"+view.Query, "The filters are saved.")
}

// dropView deletes saved filters.
func dropView(v *visit) error {
	view, err := v.typedView()
	if err != nil {
		return err
	}
	if err := v.console.People.DropView(v.Ctx(), v.unit(), view); err != nil {
		return err
	}
	return v.done(v.at(view.Page), "The saved filters are deleted.")
}
