package console

import (
	"errors"
	"net/http"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/locale/currency"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/problem"
)

var ruleRoutes = map[string]route{
	"GET /console/p/{program}/rules":              {Do: flows},
	"GET /console/p/{program}/rules/new":          {Do: newRule},
	"POST /console/p/{program}/rules/new":         {Do: changeRule},
	"GET /console/p/{program}/rules/{id}":         {Do: oneRule},
	"POST /console/p/{program}/rules/{id}":        {Do: changeRule},
	"POST /console/p/{program}/rules/{id}/state":  {Do: switchRule},
	"POST /console/p/{program}/rules/{id}/delete": {Do: deleteRule},
}

// rule is a flow in the list.
type rule struct {
	api.Flow
	Whom     string // whose sales it is for
	Says     string // what it pays, or does
	Cases    []caseWords
	Overlaps []string
}

// caseWords is a branch in words: its conditions and its rate.
type caseWords struct{ Label, When, Pays string }

// flowsData holds the data of the page of rules.
type flowsData struct {
	Rules           []rule
	Partner, Amount site.Input
	Customer        site.Input
	Answer          string // of the preview
}

// flows shows the rules in words, in order of priority, and the preview of a sale.
func flows(v *visit) error {
	list, err := v.flows()
	if err != nil {
		return err
	}
	name := v.ruleNames(list)
	data := flowsData{Rules: make([]rule, len(list))}
	before := overlapsOf(list)
	for i, f := range list {
		if data.Rules[i], err = v.describeRule(f, name.of); err != nil {
			return err
		}
		data.Rules[i].Overlaps = before[f.ID]
	}
	if name.err != nil {
		return name.err
	}
	if err := v.preview(&data); err != nil {
		return err
	}
	return v.show(sheet{"rules", "/rules", "Rules", data})
}

// maxFlowPages is the largest number of pages of a program's flows.
const maxFlowPages = 5

// flows are all flows of the program, in their order.
func (v *visit) flows() ([]api.Flow, error) {
	var out []api.Flow
	params := &api.ListFlowsParams{
		ProgramID: v.program.ID, Limit: new(int64(100)),
		Expand: []api.FlowExpand{api.FlowExpandGroup, api.FlowExpandPartner},
	}
	for range maxFlowPages {
		reply, err := v.console.api.ListFlowsWithResponse(v.Ctx(), params)
		if err != nil {
			return nil, err
		}
		out = append(out, reply.JSON200.Data...)
		if !reply.JSON200.HasMore {
			break
		}
		params.StartingAfter = &out[len(out)-1].ID
	}
	return out, nil
}

// ruleNames returns the names of objects in rules, of which the list has the partners and groups expanded.
func (v *visit) ruleNames(list []api.Flow) *names {
	n := &names{visit: v, expanded: map[string]string{}}
	for _, f := range list {
		if p, err := f.Partner.Get(); err == nil {
			n.expanded[p.ID] = nameOf(p)
		}
		if g, err := f.Group.Get(); err == nil {
			n.expanded[g.ID] = g.Name
		}
	}
	return n
}

// describeRule describes a flow in words.
func (v *visit) describeRule(f api.Flow, name func(string) string) (rule, error) {
	out := rule{Flow: f, Whom: "every partner"}
	if f.GroupID != nil {
		out.Whom = "partners in " + name(*f.GroupID)
	}
	if f.PartnerID != nil {
		out.Whom = name(*f.PartnerID)
	}
	trigger := rules.Trigger(f.Trigger)
	pays := func(rateType api.RateType, value int64) string {
		return rules.Rate{RateType: rules.RateType(rateType), RateValue: value}.Words(trigger, v.program.Currency)
	}
	switch {
	case f.TargetGroupID != nil:
		out.Says = "moves the partner into " + name(*f.TargetGroupID)
	case f.RateType != nil:
		out.Says = pays(*f.RateType, opt.Value(f.RateValue))
	}
	speaker := rules.Speaker{Trigger: trigger, Currency: v.program.Currency, Name: name}
	for _, b := range f.Branches {
		when, err := speaker.Conditions(b.Conditions)
		if err != nil {
			return out, err
		}
		one := caseWords{Label: opt.Value(b.Label), When: when, Pays: pays(b.RateType, b.RateValue)}
		if f.TargetGroupID != nil {
			one.Pays = ""
		}
		out.Cases = append(out.Cases, one)
	}
	return out, nil
}

// overlapsOf returns, for each active flow, the earlier flows that are used instead of it.
func overlapsOf(list []api.Flow) map[string][]string {
	var active []rules.Flow
	names := map[string]string{}
	for _, f := range list {
		names[f.ID] = f.Name
		if f.Status == api.FlowStatusActive {
			active = append(active, rules.Flow{
				ID: f.ID, GroupID: f.GroupID, PartnerID: f.PartnerID, Trigger: db.FlowTrigger(f.Trigger),
				Action: db.FlowAction(f.Action), Priority: f.Priority, CreatedAt: f.CreatedAt,
			})
		}
	}
	out := map[string][]string{}
	for id, overlaps := range rules.Overlaps(active) {
		for _, o := range overlaps {
			if o.Whole {
				out[id] = []string{"Never used: the rule “" + names[o.Earlier] + "” is used for all of these partners."}
				break
			}
			out[id] = append(out[id], "For some of these partners, the rule “"+names[o.Earlier]+"” is used instead.")
		}
	}
	return out
}

// preview computes the commission of the sale in the address, if there is one.
func (v *visit) preview(data *flowsData) error {
	asked := v.query("partner", "customer", "amount")
	input := func(name, label, kind string) site.Input {
		return site.Input{
			Name: name, ID: name, Label: label, Type: kind, Value: asked.Get(name), Auto: "off", Most: 255,
		}
	}
	data.Partner = input("partner", "Sale to a new customer of", "lookup").From(v.at("/find/partners")).Maybe().
		Says("A partner’s name, email or handle.")
	data.Customer = input("customer", "Or to an existing customer", "text").Maybe().Says("By email.")
	data.Amount = input("amount", "Amount", "money").In(v.program.Currency)
	if len(asked) == 0 {
		return nil
	}
	body := api.FlowPreviewRequest{ProgramID: v.program.ID, Currency: v.program.Currency}
	var ok bool
	if body.AmountMinor, ok = currency.Minor(asked.Get("amount"), v.program.Currency); !ok || body.AmountMinor < 1 {
		data.Amount.Error = "Enter an amount, such as 100.00."
		return nil
	}
	if found, err := v.payer(data, &body); !found || err != nil {
		return err
	}
	reply, err := v.console.api.PreviewFlowsWithResponse(v.Ctx(), body)
	if p, ok := refused(err); ok {
		data.Amount.Error = p.Message
		return nil
	}
	if err != nil {
		return err
	}
	data.Answer = reply.JSON200.Explanation
	return nil
}

// payer reads the customer or the partner of the preview, and puts a fault at the field if there is none.
func (v *visit) payer(data *flowsData, body *api.FlowPreviewRequest) (bool, error) {
	if email := data.Customer.Value; email != "" {
		reply, err := v.console.api.ListCustomersWithResponse(v.Ctx(),
			&api.ListCustomersParams{ProgramID: v.program.ID, Email: &email, Limit: new(int64(1))})
		if err != nil {
			return false, err
		}
		if len(reply.JSON200.Data) == 0 {
			data.Customer.Error = "No customer has this email."
			return false, nil
		}
		body.CustomerID = &reply.JSON200.Data[0].ID
		return true, nil
	}
	p, err := v.whichPartner(data.Partner.Value)
	if fault, ok := refused(err); ok {
		data.Partner.Error = fault.Message
		return false, nil
	}
	body.PartnerID = &p.ID
	return true, err
}

// switchRule turns a rule off, or on again.
func switchRule(v *visit) error {
	notice := "The rule is off."
	if v.value("status") == string(api.FlowStatusActive) {
		notice = "The rule is on."
	}
	body := map[string]any{"status": v.value("status")}
	if err := v.send("updateFlow", body, nil, v.PathValue("id")); err != nil {
		return v.again(err, flows)
	}
	return v.done(v.at("/rules"), notice)
}

// deleteRule removes a rule.
func deleteRule(v *visit) error {
	if err := v.send("deleteFlow", nil, nil, v.PathValue("id")); err != nil {
		return v.again(err, flows)
	}
	return v.done(v.at("/rules"), "The rule is deleted.")
}

// flow reads a flow of the page's program.
func (v *visit) flow(id string) (*api.Flow, error) {
	reply, err := v.console.api.RetrieveFlowWithResponse(v.Ctx(), id, &api.RetrieveFlowParams{
		ProgramID: &v.program.ID, Expand: []api.FlowExpand{api.FlowExpandGroup, api.FlowExpandPartner},
	})
	if err != nil {
		return nil, err
	}
	return reply.JSON200, nil
}

// formRefusal reports whether an error is a refusal that a form can show.
func formRefusal(err error) (*problem.Error, bool) {
	p, ok := refused(err)
	if !ok || errors.Is(err, site.ErrForged) || p.Status() == http.StatusForbidden ||
		p.Status() == http.StatusNotFound && p.Param == "" {
		return nil, false
	}
	return p, true
}
