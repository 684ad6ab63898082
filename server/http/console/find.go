package console

import (
	"net/http"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/opt"
	"rail/server/problem"
)

var findRoutes = map[string]route{"GET /console/p/{program}/find/partners": {do: lookUpPartners}}

// maxFound is how many partners a search field offers.
const maxFound = 10

// lookUpPartners offers partners to a search field while somebody types. Each is offered by its
// email, which is that of nobody else in the program.
func lookUpPartners(v *visit) error {
	list, err := v.partnersLike(cleaned(v.QueryParam("q")))
	if err != nil {
		return err
	}
	found := make([]site.Found, len(list))
	for i, p := range list {
		found[i] = site.Found{Value: p.Email, Label: called(p)}
	}
	return v.JSON(http.StatusOK, found)
}

// partnersLike are the latest partners whose name, email or handle begins with a text.
func (v *visit) partnersLike(text string) ([]api.Partner, error) {
	if text == "" {
		return nil, nil
	}
	reply, err := v.console.api.ListPartnersWithResponse(v.ctx(), &api.ListPartnersParams{
		ProgramID: v.program.ID, Search: &text, Limit: new(int64(maxFound)),
	})
	if err != nil {
		return nil, err
	}
	return reply.JSON200.Data, nil
}

// whichPartner returns the partner whom the field partner names: by the whole email, name or handle, or as the
// only one who is found. It refuses the field otherwise, and says whom it could mean.
func (v *visit) whichPartner(text string) (p api.Partner, err error) {
	if text == "" {
		return p, problem.Missing("partner")
	}
	list, err := v.partnersLike(text)
	if err != nil {
		return p, err
	}
	var like []string
	for _, p := range list {
		if strings.EqualFold(p.Email, text) || strings.EqualFold(p.Handle, text) || len(list) == 1 {
			return p, nil
		}
		like = append(like, p.Email)
	}
	if len(like) == 0 {
		return p, problem.Invalid("partner", "Nobody is found by %q.", text)
	}
	return p, problem.Invalid("partner", "Several are found: %s. Take one of these.", strings.Join(like, ", "))
}

// askedPartner is the partner whom the filter of a list names, if any. A text that names nobody is a fault of
// the filter; the list is then as without it.
func (v *visit) askedPartner() (*string, error) {
	text := cleaned(v.QueryParam("partner"))
	if text == "" {
		return nil, nil //nolint:nilnil // no filter is not an error
	}
	p, err := v.whichPartner(text)
	if fault, ok := refused(err); ok {
		v.fault = fault
		return nil, nil //nolint:nilnil // the page says so
	}
	return &p.ID, err
}

// Partner is a search field for a partner.
func (f frame) Partner(name, label, stored string) site.Input {
	return f.Line("lookup", name, label, stored).From(f.at("/find/partners")).Says("A name or an email.")
}

// called is the name under which people know a partner, as reports label it.
func called(p api.Partner) string {
	person := strings.TrimSpace(opt.Value(p.FirstName) + " " + opt.Value(p.LastName))
	for _, name := range []string{opt.Value(p.DisplayName), person, opt.Value(p.CompanyName)} {
		if name != "" {
			return name
		}
	}
	return p.Handle
}
