package console

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/money/rules"
	"rail/server/opt"
)

// The form of a rule is posted until it is saved: buttons add or remove a case or a condition, or rehearse the rule,
// and the page comes back with the typed values. Fields of a case begin with its place, such as b0.rate, and those of
// a condition with both places, such as b0.c1.value.

// ruleData holds the data of the form of a rule.
type ruleData struct {
	ID, Name  string // of the stored rule; "" for a new one
	Partner   string // the email of its partner
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

// Fields of metadata: the key follows.
const (
	saleMetadata     = "sale.metadata."
	customerMetadata = "customer.metadata."
)

// ruleRow is one condition in the form. Rows that begin with "or" belong to the row before: with it, any of
// them is enough.
type ruleRow struct {
	At, Join      string
	Field         rules.FieldWords
	Key           string // of metadata
	Op            string
	Value         string
	Values        []string // those ticked of a choice
	Kept, InWords string   // a condition that the form cannot edit, as JSON and in words
}

// maxValue is how many characters a field takes: several values are typed with commas.
const maxValue = 2000

// yes and no are the values of a boolean field.
const yes, no = "true", "false"

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

// choose fills the choices of the form.
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
	title := "New rule"
	if d.ID != "" {
		title = d.Name
	}
	return v.show(sheet{"rule", "/rules", title, d})
}

// changeRule saves the rule, rehearses it, or changes the form, as the button asks.
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
	flow, err := v.typedFlow(d)
	switch {
	case err != nil:
	case do == "rehearse":
		err = v.rehearse(d, flow)
	case d.ID != "":
		err = v.send("updateFlow", flow, nil, d.ID)
	default:
		err = v.send("createFlow", flow.create(v.program.ID), nil)
	}
	if err != nil {
		return v.ruleRefused(d, err)
	}
	if do == "rehearse" {
		return v.showRule(d)
	}
	return v.done(v.at("/rules"), "The rule is saved.")
}

// edit adds or removes a case or a condition, and renumbers the fields.
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

// rehearse computes what the sales of the last 30 days would have paid under the rule as it is typed.
func (v *visit) rehearse(d *ruleData, flow flowUpdate) error {
	if *flow.Name == "" { // a rehearsal needs no name
		flow.Name = nil
	}
	request := struct {
		api.FlowRehearsalRequest

		Flow flowUpdate `json:"flow"`
	}{api.FlowRehearsalRequest{ProgramID: v.program.ID, FlowID: opt.OrNil(d.ID)}, flow}
	d.Rehearsal = &api.FlowRehearsal{}
	err := v.send("rehearseFlows", request, d.Rehearsal)
	if err != nil {
		d.Rehearsal = nil
	}
	return err
}

// ruleRefused shows the form again with the fault at its field.
func (v *visit) ruleRefused(d *ruleData, err error) error {
	p, ok := formRefusal(err)
	if !ok {
		return err
	}
	field := strings.TrimPrefix(p.Param, "flow.")
	switch {
	case field == "rate_value":
		field = "rate"
	case field == "partner_id" || field == "partner":
		field = "partner"
	case strings.HasPrefix(field, "branches["):
		field = d.place(field)
	case !slices.Contains(ruleFields, field):
		field = ""
	}
	d.Faults = site.Faults{field: cmp.Or(site.FaultsOf(p)[""], p.Message)}
	shown := *p
	shown.Param = field
	v.fault = &shown
	return v.showRule(d)
}

// ruleFields are the fields outside of cases that a refusal can name.
var ruleFields = []string{
	"name", "trigger", "action", "target_group_id", "rate_type", "group_id", "approval_mode", "approval_delay_days",
	"priority", "status", "description",
}

var branchParam = regexp.MustCompile(`^branches\[(\d+)\](?:\.(\w+))?(?:\[(\d+)\](?:\.any\[(\d+)\])?)?`)

// place returns the field of the form for a parameter of a branch.
func (d *ruleData) place(param string) string {
	found := branchParam.FindStringSubmatch(param)
	if found == nil {
		return ""
	}
	at := "b" + found[1] + "."
	switch {
	case found[2] == "rate_value":
		return at + "rate"
	case found[2] != "conditions" || found[3] == "":
		return at + "label"
	}
	branch, _ := strconv.Atoi(found[1])
	item, _ := strconv.Atoi(found[3])
	inner, _ := strconv.Atoi(found[4])
	if branch >= len(d.Cases) {
		return ""
	}
	for j, r := range d.Cases[branch].Rows {
		if r.Join != "or" || j == 0 {
			item--
		}
		if item < 0 {
			return fmt.Sprintf("%sc%d.value", at, j+inner)
		}
	}
	return at + "label"
}

// Fault is the refusal's message if it concerns no field.
func (d *ruleData) Fault() string { return d.Faults[""] }
