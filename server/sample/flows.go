package sample

import (
	"encoding/json"
	"fmt"

	"rail/server/ident"
	"rail/server/rules"
)

// flow describes a rule of the sample.
type flow struct {
	name, trigger, rate string
	value               int64
	group               int // index of the group; -1 for the whole program
	mode                string
	delay               any
	status              string
	priority            int64
	branches            []branch
}

type branch struct {
	ID         string          `json:"id"`
	Label      string          `json:"label"`
	Conditions json.RawMessage `json:"conditions"`
	RateType   string          `json:"rate_type"`
	RateValue  int64           `json:"rate_value"`
}

func firstYear(value int64) branch {
	return branch{Label: "First year", Conditions: json.RawMessage(`[{"field":"customer.months_since_conversion","operator":"lt","value":12}]`), RateType: "percent", RateValue: value}
}

var flows = []flow{
	{name: "VIP partners", trigger: "new_payment", rate: "percent", value: 2500, group: 2, mode: "immediate", status: "active", priority: 50, branches: []branch{firstYear(4000)}},
	{name: "Creators", trigger: "new_payment", rate: "percent", value: 2000, group: 1, mode: "after_days", delay: int64(7), status: "active", priority: 80, branches: []branch{
		{Label: "No commission on the storage add-on", Conditions: json.RawMessage(`[{"field":"sale.product_id","operator":"in","value":["storage"]}]`), RateType: "percent"},
		firstYear(3000),
	}},
	{name: "Everyone", trigger: "new_payment", rate: "percent", value: 1500, group: -1, mode: "immediate", status: "active", priority: 100, branches: []branch{
		{Label: "No commission on the storage add-on", Conditions: json.RawMessage(`[{"field":"sale.product_id","operator":"in","value":["storage"]}]`), RateType: "percent"},
		{
			Label:      "Annual plans and large teams",
			Conditions: json.RawMessage(`[{"field":"sale.is_first_sale","operator":"eq","value":true},{"any":[{"field":"sale.interval","operator":"eq","value":"year"},{"field":"sale.amount_minor","operator":"gte","value":50000}]}]`),
			RateType:   "percent", RateValue: 2500,
		},
	}},
	{name: "Welcome bounty", trigger: "new_signup", rate: "fixed", value: 200, group: 2, mode: "manual", status: "active", priority: 100},
	{name: "Black Friday (over)", trigger: "new_payment", rate: "percent", value: 5000, group: -1, mode: "immediate", status: "inactive", priority: 10},
}

// makeFlows writes the rules and keeps the active payment rules in the form in
// which package rules decides by them.
func (w *world) makeFlows() error {
	rows := w.table("flows", `id org_id program_id name group_id trigger action rate_type rate_value approval_mode approval_delay_days
		priority status branches created_at updated_at`)
	at := w.ago(yearDays + 39)
	for _, f := range flows {
		id := ident.NewSample(ident.Flow)
		for i := range f.branches {
			f.branches[i].ID = ident.NewSample(ident.Branch)
		}
		branches, err := json.Marshal(append([]branch{}, f.branches...))
		if err != nil {
			return err
		}
		var group *string
		if f.group >= 0 {
			group = &w.groups[f.group]
		}
		rows.add(id, w.org, w.program, f.name, group, f.trigger, "generate_commission", f.rate, f.value, f.mode, f.delay, f.priority, f.status, branches, at, at)
		if f.status == "active" {
			rule, err := f.rule(id, group)
			if err != nil {
				return err
			}
			w.flows = append(w.flows, rule)
		}
	}
	return nil
}

func (f flow) rule(id string, group *string) (rules.Flow, error) {
	r := rules.Flow{
		ID: id, GroupID: group, Trigger: rules.Trigger(f.trigger), Action: rules.GenerateCommission, RateType: rules.RateType(f.rate),
		RateValue: f.value, ApprovalMode: rules.ApprovalMode(f.mode), Priority: f.priority,
	}
	if days, ok := f.delay.(int64); ok {
		r.ApprovalDelayDays = &days
	}
	for _, b := range f.branches {
		conditions, bad := rules.ParseConditions(b.Conditions, r.Trigger)
		if bad != nil {
			return r, fmt.Errorf("%s: %w", f.name, bad)
		}
		r.Branches = append(r.Branches, rules.Branch{ID: b.ID, Conditions: conditions, RateType: rules.RateType(b.RateType), RateValue: b.RateValue})
	}
	return r, nil
}
