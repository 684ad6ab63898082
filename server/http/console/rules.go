package console

import (
	"cmp"
	"unicode"
	"unicode/utf8"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/money/rules"
	"rail/server/opt"
)

var ruleRoutes = map[string]route{
	"GET /console/p/{program}/rules":              {Do: flows},
	"GET /console/p/{program}/rules/new":          {Do: newRule},
	"POST /console/p/{program}/rules/new":         {Do: changeRule},
	"POST /console/p/{program}/rules/words":       {Do: describeTyped},
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
	Answers  bool // it decides about the payment that was tried, none of its exceptions
}

// caseWords is a branch in words: its conditions and its rate.
type caseWords struct {
	ID, Label, When, Pays string
	Answers               bool // it decides about the payment that was tried
}

// title returns the exception's name, or else its conditions.
func (c caseWords) title() string {
	text := cmp.Or(c.Label, c.When, "always")
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// flowsData holds the data of the page of rules.
type flowsData struct {
	Rules []rule
	Try   try
}

// flows shows the rules in words, in order of priority, and tries a payment.
func flows(v *visit) error {
	list, err := v.flows()
	if err != nil {
		return err
	}
	name := v.ruleNames(list)
	data := flowsData{Rules: make([]rule, len(list))}
	before := overlapsOf(list)
	for i, f := range list {
		if data.Rules[i], err = v.describeRule(f, name); err != nil {
			return err
		}
		data.Rules[i].Overlaps = before[f.ID]
	}
	if name.err != nil {
		return name.err
	}
	if data.Try, err = v.tryPayment(data.Rules); err != nil {
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
func (v *visit) describeRule(f api.Flow, name *names) (rule, error) {
	out := rule{Flow: f, Whom: "every partner"}
	if f.GroupID != nil {
		out.Whom = "partners in " + name.of(*f.GroupID)
	}
	if f.PartnerID != nil {
		out.Whom = name.of(*f.PartnerID)
	}
	trigger := rules.Trigger(f.Trigger)
	pays := func(rateType api.RateType, value int64) string {
		return rules.Rate{RateType: rules.RateType(rateType), RateValue: value}.Words(trigger, v.program.Currency)
	}
	switch {
	case f.TargetGroupID != nil:
		out.Says = "moves the partner into " + name.of(*f.TargetGroupID)
	case f.RateType != nil:
		out.Says = pays(*f.RateType, opt.Value(f.RateValue))
	}
	speaker := rules.Speaker{Trigger: trigger, Currency: v.program.Currency, Name: name.of, Product: name.product}
	for _, b := range f.Branches {
		when, err := speaker.Conditions(b.Conditions)
		if err != nil {
			return out, err
		}
		one := caseWords{ID: b.ID, Label: opt.Value(b.Label), When: when, Pays: pays(b.RateType, b.RateValue)}
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
			out[id] = append(out[id], "The rule “"+names[o.Earlier]+"” takes precedence for some of these partners.")
		}
	}
	return out
}

// switchRule turns a rule off, or on again.
func switchRule(v *visit) error {
	notice := "The rule is off."
	if v.value("status") == string(api.FlowStatusActive) {
		notice = "The rule is on."
	}
	body := api.FlowUpdate{Status: new(api.FlowStatus(v.value("status")))}
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
