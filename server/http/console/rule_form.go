package console

import (
	"fmt"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/money/rules"
	"rail/server/opt"
)

// The form of a rule is sent back and forth until it is saved: a button adds a case or a condition, takes
// one away, or rehearses the rule, and the page comes again with what was typed. Fields of a case begin with
// its place, such as b0.rate, and those of a condition with both, such as b0.c1.value.

// ruleData is what the form of a rule shows.
type ruleData struct {
	ID, Name  string // of the stored rule; "" for a new one
	Partner   string // the e-mail of its partner
	Flow      api.Flow
	Rate      string
	Cases     []ruleCase
	Faults    site.Faults
	Groups    []site.Option
	Fields    []site.Option // that a condition can read
	Rehearsal *api.FlowRehearsal
	choices   map[string][]site.Option // of conditions, by the field
	trigger   rules.Trigger
	currency  string
}

// ruleCase is a branch in the form.
type ruleCase struct {
	At, ID, Label, RateType, Rate string
	Rows                          []ruleRow
}

// newRule shows the form of a new rule.
func newRule(v *visit) error {
	return v.showRule(&ruleData{Flow: api.Flow{
		RateType: new(api.RateTypePercent), Priority: 100, Status: api.FlowStatusActive,
		Trigger: api.FlowTriggerNewPayment, Action: api.FlowActionGenerateCommission,
		ApprovalMode: api.FlowApprovalModeImmediate,
	}})
}

// oneRule shows the form of a stored rule.
func oneRule(v *visit) error {
	f, err := v.flow(v.PathValue("id"))
	if err != nil {
		return err
	}
	d := &ruleData{ID: f.ID, Name: f.Name, Flow: *f}
	if p, err := f.Partner.Get(); err == nil {
		d.Partner = p.Email
	}
	if err := v.choose(d); err != nil {
		return err
	}
	if f.RateType != nil {
		d.Rate = typedRate(string(*f.RateType), opt.Value(f.RateValue), d.currency)
	}
	for i, b := range f.Branches {
		c := ruleCase{
			At: fmt.Sprintf("b%d.", i), ID: b.ID, Label: opt.Value(b.Label), RateType: string(b.RateType),
			Rate: typedRate(string(b.RateType), b.RateValue, d.currency),
		}
		c.Rows = d.storedRows(c.At, b.Conditions)
		d.Cases = append(d.Cases, c)
	}
	return v.showRule(d)
}

// choose reads what the form offers to choose from.
func (v *visit) choose(d *ruleData) error {
	if d.choices != nil {
		return nil
	}
	groups, tags, err := v.choices()
	if err != nil {
		return err
	}
	coupons, err := v.couponChoices()
	if err != nil {
		return err
	}
	d.Groups, d.currency, d.trigger = groups, v.program.Currency, rules.Trigger(d.Flow.Trigger)
	d.choices = map[string][]site.Option{
		"partner.group_id": groups, "partner.tag_ids": tags, "customer.coupon_id": coupons,
	}
	for _, f := range rules.FieldsIn(d.trigger) {
		for _, value := range f.Choices {
			d.choices[f.Name] = append(d.choices[f.Name], site.Option{Value: value, Label: site.Words(value, vocabulary)})
		}
		if f.Kind != "choice" || len(d.choices[f.Name]) > 0 {
			d.Fields = append(d.Fields, site.Option{Value: f.Name, Label: f.Words})
		}
	}
	if d.trigger == rules.NewPayment {
		d.Fields = append(d.Fields, site.Option{Value: saleMetadata, Label: "a value of the payment’s metadata"})
	}
	d.Fields = append(d.Fields, site.Option{Value: customerMetadata, Label: "a value of the customer’s metadata"})
	return nil
}

// showRule shows the form.
func (v *visit) showRule(d *ruleData) error {
	if err := v.choose(d); err != nil {
		return err
	}
	title := "A new rule"
	if d.ID != "" {
		title = d.Name
	}
	return v.show(sheet{"rule", "/rules", title, d})
}

// changeRule does what the used button says: saves the rule, rehearses it, or changes the form.
func changeRule(v *visit) error {
	d, err := v.typedRule()
	if err != nil {
		return err
	}
	do, at, _ := strings.Cut(v.value("do"), ":")
	switch do {
	case "case", "row", "drop":
		d.edit(do, at, v.value(at+"new"))
		return v.showRule(d)
	}
	body, err := v.ruleBody(d)
	if err != nil {
		return v.ruleRefused(d, err)
	}
	if do == "rehearse" {
		return v.rehearse(d, body)
	}
	operation, ids := "createFlow", []string(nil)
	if d.ID != "" {
		operation, ids = "updateFlow", []string{d.ID}
	} else {
		body["program_id"] = v.program.ID
		dropNull(body)
	}
	if err := v.send(operation, body, nil, ids...); err != nil {
		return v.ruleRefused(d, err)
	}
	return v.done(v.at("/rules"), "The rule is saved.")
}

// typedRule reads the form. A stored rule must be of the page's program.
func (v *visit) typedRule() (*ruleData, error) {
	d := &ruleData{ID: v.PathValue("id"), Partner: v.value("partner"), Rate: v.value("rate"), Flow: api.Flow{
		Trigger: api.FlowTrigger(v.value("trigger")),
	}}
	if d.ID != "" {
		f, err := v.flow(d.ID)
		if err != nil {
			return nil, err
		}
		d.Name, d.Flow = f.Name, *f
		d.Flow.Trigger = api.FlowTrigger(v.value("trigger"))
	}
	if err := v.choose(d); err != nil {
		return nil, err
	}
	for i := range maxCases {
		at := fmt.Sprintf("b%d.", i)
		if !v.form.Has(at + "rate") {
			break
		}
		d.Cases = append(d.Cases, ruleCase{
			At: at, ID: v.value(at + "id"), Label: v.value(at + "label"), RateType: v.value(at + "rate_type"),
			Rate: v.value(at + "rate"), Rows: d.typedRows(v, at),
		})
	}
	return d, nil
}

// maxCases and maxRows bound the form, as the API bounds branches and conditions.
const (
	maxCases = 20
	maxRows  = 20
)

// edit adds a case, a condition, or takes one away, and gives every field its new place.
func (d *ruleData) edit(do, at, field string) {
	switch {
	case do == "case" && len(d.Cases) < maxCases:
		d.Cases = append(d.Cases, ruleCase{RateType: string(api.RateTypePercent)})
	case do == "drop" || do == "row":
		for i := range d.Cases {
			c := &d.Cases[i]
			if do == "drop" && c.At == at {
				d.Cases = append(d.Cases[:i], d.Cases[i+1:]...)
				break
			}
			if do == "row" && c.At == at && len(c.Rows) < maxRows {
				c.Rows = append(c.Rows, d.newRow(field)...)
			}
			for j := range c.Rows {
				if do == "drop" && c.Rows[j].At == at {
					c.Rows = append(c.Rows[:j], c.Rows[j+1:]...)
					break
				}
			}
		}
	}
	for i := range d.Cases {
		c := &d.Cases[i]
		c.At = fmt.Sprintf("b%d.", i)
		for j := range c.Rows {
			c.Rows[j].At = fmt.Sprintf("%sc%d.", c.At, j)
		}
	}
}

// rehearse shows what the last month's sales would have paid under the rule as it is typed.
func (v *visit) rehearse(d *ruleData, body map[string]any) error {
	ask := map[string]any{"program_id": v.program.ID, "flow": body}
	if d.ID != "" {
		ask["flow_id"] = d.ID
	}
	if body["name"] == "" {
		delete(body, "name")
	}
	var out api.FlowRehearsal
	if err := v.send("rehearseFlows", ask, &out); err != nil {
		return v.ruleRefused(d, err)
	}
	d.Rehearsal = &out
	return v.showRule(d)
}
