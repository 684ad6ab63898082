package console

import (
	"net/http"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/opt"
	"rail/server/problem"
)

var findRoutes = map[string]route{"GET /console/p/{program}/find/partners": {Do: lookUpPartners}}

// maxFound is the number of partners that a search field suggests.
const maxFound = 10

// lookUpPartners suggests partners to a search field, by their emails, which are unique within a program.
func lookUpPartners(v *visit) error {
	list, err := v.partnersLike(cleaned(v.QueryParam("q")))
	if err != nil {
		return err
	}
	found := make([]site.Found, len(list))
	for i, p := range list {
		found[i] = site.Found{Value: p.Email, Label: nameOf(p)}
	}
	return v.JSON(http.StatusOK, found)
}

// partnersLike are the latest partners whose name, email or handle begins with a text.
func (v *visit) partnersLike(text string) ([]api.Partner, error) {
	if text == "" {
		return nil, nil
	}
	reply, err := v.console.api.ListPartnersWithResponse(v.Ctx(), &api.ListPartnersParams{
		ProgramID: v.program.ID, Search: &text, Limit: new(int64(maxFound)),
	})
	if err != nil {
		return nil, err
	}
	return reply.JSON200.Data, nil
}

// whichPartner returns the partner that the field partner names by email or handle, or the only match of a part of a
// name. A whole email matches its partner only. Otherwise it refuses the field and lists the matches.
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
		if strings.EqualFold(p.Email, text) || strings.EqualFold(p.Handle, text) || len(list) == 1 && !wholeEmail(text) {
			return p, nil
		}
		if !wholeEmail(text) {
			like = append(like, p.Email)
		}
	}
	if len(like) == 0 {
		return p, problem.Invalid("partner", "No partner found for %q.", text)
	}
	return p, problem.Invalid("partner", "Several partners match: %s. Choose one.", strings.Join(like, ", "))
}

// wholeEmail reports whether a text looks like a complete email address.
func wholeEmail(text string) bool {
	_, domain, ok := strings.Cut(text, "@")
	return ok && strings.Contains(domain, ".")
}

// askedPartner returns the partner of a list's filter, if any. An unknown partner is shown as a fault of the filter,
// and the list is not filtered.
func (v *visit) askedPartner() (*string, error) {
	text := cleaned(v.QueryParam("partner"))
	if text == "" {
		return nil, nil //nolint:nilnil // no filter is not an error
	}
	p, err := v.whichPartner(text)
	if fault, ok := refused(err); ok {
		v.fault = fault
		return nil, nil //nolint:nilnil // the page shows the fault
	}
	return &p.ID, err
}

// Partner is a search field for a partner.
func (f frame) Partner(name, label, stored string) site.Input {
	return f.Line("lookup", name, label, stored).From(f.at("/find/partners")).Says("A name or an email.")
}

// nameOf returns the display name of a partner, as reports label it.
func nameOf(p api.Partner) string {
	person := strings.TrimSpace(opt.Value(p.FirstName) + " " + opt.Value(p.LastName))
	for _, name := range []string{opt.Value(p.DisplayName), person, opt.Value(p.CompanyName)} {
		if name != "" {
			return name
		}
	}
	return p.Handle
}
