package console

import (
	"net/http"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/ident"
	"rail/server/opt"
)

var searchRoutes = map[string]route{"GET /console/p/{program}/find": {Do: search}}

// maxHits is the number of results of each kind.
const maxHits = 6

// minFurther is the length from which a text finds pages by other words than their names.
const minFurther = 3

// hit is a result of a search.
type hit struct {
	Text string `json:"text"`
	More string `json:"more,omitempty"`
	Path string `json:"path"`
	Icon string `json:"icon"`
}

// hits are the results of one kind.
type hits struct {
	Name string `json:"name"`
	Hits []hit  `json:"hits"`
}

// searchData holds the data of the search page.
type searchData struct {
	Query  site.Input
	Groups []hits
}

// search finds pages, actions, partners, customers and sales of the program. The page's script requests JSON.
func search(v *visit) error {
	text := cleaned(v.QueryParam("q"))
	groups, err := v.found(text)
	if err != nil {
		return err
	}
	if strings.Contains(v.Request().Header.Get("Accept"), "application/json") {
		return v.JSON(http.StatusOK, groups)
	}
	query := site.Input{
		Name: "q", ID: "query", Label: "Partner, customer, charge id, page or action", Type: "search", Value: text,
		Auto: "off", Most: most["text"],
	}
	return v.show(sheet{"find", "/find", "Search", searchData{query, groups}})
}

// found returns the results for a text, those of each kind in a group.
func (v *visit) found(text string) ([]hits, error) {
	out := []hits{}
	if text == "" || len(text) > most["text"] {
		return out, nil
	}
	for _, kind := range []struct {
		name string
		find func(string) ([]hit, error)
	}{
		{"Pages and actions", v.foundPages},
		{"Partners", v.foundPartners},
		{"Customers", v.foundCustomers},
		{"Sales", v.foundSales},
		{"Ids", v.foundID},
	} {
		found, err := kind.find(text)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			out = append(out, hits{kind.name, found})
		}
	}
	return out, nil
}

// shortcut is a page found by its name. further are words that find it too.
type shortcut struct{ path, name, icon, further string }

// actions are those of the program; the menu has all other pages.
var actions = []shortcut{
	{"/partners/new", "Add a partner", "user-plus", "invite create"},
	{"/rules/new", "New rule", "badge-percent", "commission rate flow create"},
	{"/payouts/run", "Run payouts", "wallet", "pay partners batch"},
	{"/commissions/new", "Add a commission", "hand-coins", "manual bonus create"},
	{"/mails/new", "Write to partners", "mail", "campaign email newsletter create"},
	{"/mails/sequences/new", "New email sequence", "mail", "automation drip create"},
	{"/integrations/connect", "Connect a payment processor", "plug", "stripe paddle chargebee polar lemonsqueezy"},
	{"/keys", "Create an API key", "key-round", "developer token secret"},
	{"/webhooks", "Add a webhook endpoint", "webhook", "developer events"},
	{"/payouts/rails", "Rails", "wallet", "payouts paypal connect automatic limits"},
	{"/payouts/attention", "Payouts that need attention", "circle-alert", "needs unclaimed returned failed"},
	{"/payouts/totals", "Yearly totals", "wallet", "payouts year tax"},
	{"/payouts/all", "All payouts", "wallet", "list"},
	{"/test-purchase", "Test purchase", "shopping-bag", "rehearsal try sale"},
	{"/imports", "Imports", "import", "move rewardful tolt csv"},
	{"/imports/new", "New import", "import", "move rewardful tolt csv"},
	{"/integrations/events", "Event log", "plug", "processor events inbox stripe payments"},
	{"/mails/failed", "Failed emails", "mail-warning", "delivery bounced"},
}

// organizationActions are those of pages outside of programs.
var organizationActions = []shortcut{
	{"/console/team", "Team", "users", "invite colleague user role"},
	{"/console/new", newProgramTitle, "plus", "create"},
	{"/console/account", "Your account", "user", "password second factor sessions"},
}

// foundPages returns the pages and actions whose words begin with the text's words.
func (v *visit) foundPages(text string) (out []hit, _ error) {
	add := func(path, name, icon, further string) {
		if len(text) < minFurther {
			further = ""
		}
		if len(out) < maxHits && wordsBegin(name+" "+further, text) {
			out = append(out, hit{Text: name, Path: path, Icon: icon})
		}
	}
	for _, g := range entries {
		for _, e := range g.entries {
			add(v.at(e.path), e.name, e.icon, g.name)
		}
	}
	for _, a := range actions {
		add(v.at(a.path), a.name, a.icon, a.further)
	}
	for _, a := range organizationActions {
		add(a.path, a.name, a.icon, a.further)
	}
	return out, nil
}

// wordsBegin reports whether every word of the text begins a word of a name.
func wordsBegin(name, text string) bool {
	names := strings.Fields(strings.ToLower(name))
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		begins := false
		for _, n := range names {
			begins = begins || strings.HasPrefix(n, word)
		}
		if !begins {
			return false
		}
	}
	return true
}

func (v *visit) foundPartners(text string) ([]hit, error) {
	list, err := v.partnersLike(text)
	if err != nil {
		return nil, err
	}
	out := make([]hit, 0, maxHits)
	for _, p := range list[:min(len(list), maxHits)] {
		out = append(out, hit{Text: nameOf(p), More: p.Email, Path: v.at("/partners/" + p.ID), Icon: "user"})
	}
	return out, nil
}

// foundCustomers returns the customers with an email, an id at a payment processor or an id of the merchant.
func (v *visit) foundCustomers(text string) ([]hit, error) {
	if strings.ContainsAny(text, " \n\t") {
		return nil, nil
	}
	params := api.ListCustomersParams{ProgramID: v.program.ID, Limit: new(int64(maxHits))}
	searches := []api.ListCustomersParams{params, params}
	searches[0].ExternalCustomerID, searches[1].Identifier = &text, &text
	if strings.Contains(text, "@") {
		params.Email = &text
		searches = []api.ListCustomersParams{params}
	}
	out := make([]hit, 0, maxHits)
	for _, one := range searches {
		reply, err := v.console.api.ListCustomersWithResponse(v.Ctx(), &one)
		if err != nil {
			return nil, err
		}
		for _, c := range reply.JSON200.Data {
			name := person(c)
			out = append(out, hit{
				Text: name, More: differing(opt.Value(c.Email), name), Path: v.at("/customers/" + c.ID), Icon: "shopping-bag",
			})
		}
		if len(out) > 0 {
			break
		}
	}
	return out, nil
}

// differing returns a text unless it is the other.
func differing(text, other string) string {
	if text == other {
		return ""
	}
	return text
}

// foundSales returns the sale of a charge of a payment processor.
func (v *visit) foundSales(text string) ([]hit, error) {
	if strings.ContainsAny(text, " \n\t") {
		return nil, nil
	}
	reply, err := v.console.api.ListSalesWithResponse(v.Ctx(), &api.ListSalesParams{
		ProgramID: v.program.ID, ExternalChargeID: &text, Limit: new(int64(maxHits)),
	})
	if err != nil {
		return nil, err
	}
	out := make([]hit, 0, maxHits)
	for _, s := range reply.JSON200.Data {
		out = append(out, hit{
			Text: v.Locale.Money(s.AmountMinor, s.Currency), More: v.Locale.Day(s.OccurredAt.Time),
			Path: v.at("/sales/" + s.ID), Icon: "receipt",
		})
	}
	return out, nil
}

// idPages are the pages of objects by the prefixes of their ids.
var idPages = map[ident.Prefix]string{
	ident.Partner: "/partners/", ident.Customer: "/customers/", ident.Sale: "/sales/", ident.Commission: "/commissions/",
	ident.Payout: "/payouts/", ident.Batch: "/payouts/batches/", ident.Flow: "/rules/", ident.RiskFlag: "/risk/",
	ident.Endpoint: "/webhooks/", ident.InboxEvent: "/integrations/events/", ident.Campaign: "/mails/",
	ident.Import: "/imports/",
}

// foundID returns the page of an object's id. The object may not exist.
func (v *visit) foundID(text string) ([]hit, error) {
	for prefix, page := range idPages {
		if ident.Has(text, prefix) {
			return []hit{{Text: text, Path: v.at(page + text), Icon: "arrow-right"}}, nil
		}
	}
	return nil, nil
}
