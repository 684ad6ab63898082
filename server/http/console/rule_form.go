package console

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/money/rules"
	"rail/server/opt"
)

// The form of a rule is posted until it is saved: buttons add or remove an exception or a condition, or rehearse the
// rule, and the page comes back with the typed values.

// ruleData holds the data of the form of a rule.
type ruleData struct {
	ruleForm

	Title     string
	Faults    site.Faults
	Rehearsal *api.FlowRehearsal
	Words     ruleWords
	choices   map[string][]site.Option // of conditions, by the field
}

// newRule shows the recipes, or the form of a new rule.
func newRule(v *visit) error {
	form := blankRule(v.program.Currency)
	if v.QueryParam("form") != "" {
		return v.showRule(&ruleData{ruleForm: form})
	}
	products, err := v.productChoices()
	if err != nil {
		return err
	}
	for i, p := range products {
		products[i].Value = p.Value + "\t" + p.Label
	}
	return v.show(sheet{"rule-new", "/rules", "New rule", products})
}

// oneRule shows the form of a stored rule.
func oneRule(v *visit) error {
	f, err := v.flow(v.PathValue("id"))
	if err != nil {
		return err
	}
	choices, err := v.ruleChoices(string(f.Trigger))
	if err != nil {
		return err
	}
	d := &ruleData{ruleForm: storedRule{*f, v.program.Currency, choices}.form(), Title: f.Name, choices: choices}
	return v.showRule(d)
}

// editRule changes the form as a button asks, or rehearses the rule, and shows the page again.
func (v *visit) editRule(form ruleForm, button string) error {
	do, at, _ := strings.Cut(button, ":")
	form.edit(do, at, v.value(at+"new"))
	d := &ruleData{ruleForm: form}
	if do == "rehearse" {
		if err := v.rehearse(d); err != nil {
			return v.refuseRule(form, err)
		}
	}
	return v.showRule(d)
}

// showRule shows the form.
func (v *visit) showRule(d *ruleData) (err error) {
	switch {
	case d.Title != "":
	case d.ID == "":
		d.Title = "New rule"
	default:
		f, err := v.flow(d.ID)
		if err != nil {
			return err
		}
		d.Title = f.Name
	}
	if d.choices == nil {
		if d.choices, err = v.ruleChoices(d.Trigger); err != nil {
			return err
		}
	}
	if d.Words, err = v.ruleInWords(d.ruleForm); err != nil {
		return err
	}
	return v.show(sheet{"rule", "/rules", d.Title, d})
}

// ruleChoices returns what conditions of a trigger can choose from, by the field.
func (v *visit) ruleChoices(trigger string) (map[string][]site.Option, error) {
	groups, tags, err := v.choices()
	if err != nil {
		return nil, err
	}
	coupons, err := v.couponChoices()
	if err != nil {
		return nil, err
	}
	products, err := v.productChoices()
	if err != nil {
		return nil, err
	}
	out := map[string][]site.Option{
		"partner.group_id": groups, "partner.tag_ids": tags, "customer.coupon_id": coupons, productField: products,
	}
	for _, f := range rules.FieldsIn(rules.Trigger(trigger)) {
		for _, value := range f.Choices {
			out[f.Name] = append(out[f.Name], site.Option{Value: value, Label: site.Words(value, vocabulary)})
		}
	}
	return out, nil
}

// edit adds or removes an exception or a condition, and renumbers the fields.
func (f *ruleForm) edit(do, at, field string) {
	switch {
	case do == "case" && len(f.Cases) < maxCases:
		f.Cases = append(f.Cases, ruleCase{RateType: f.RateType})
	case do == "drop":
		f.Cases = slices.DeleteFunc(f.Cases, func(c ruleCase) bool { return c.At == at })
	}
	for i := range f.Cases {
		c := &f.Cases[i]
		switch added, ok := ruleField(field, f.Trigger); {
		case do == "row" && c.At == at && ok && len(c.Rows) < maxRows:
			c.Rows = append(c.Rows, ruleRow{Field: added})
		case do == "drop":
			c.Rows = slices.DeleteFunc(c.Rows, func(r ruleRow) bool { return r.At == at })
		}
		c.At = fmt.Sprintf("b%d.", i)
		for j := range c.Rows {
			c.Rows[j].At = fmt.Sprintf("%sc%d.", c.At, j)
		}
	}
}

// rehearse computes what the sales of the last 30 days would have paid under the rule as it is typed.
func (v *visit) rehearse(d *ruleData) error {
	flow, err := v.typedFlow(d.ruleForm)
	if err != nil {
		return err
	}
	if d.Name == "" { // a rehearsal needs no name
		flow.Name = nil
	}
	d.Rehearsal = &api.FlowRehearsal{}
	return v.send("rehearseFlows", api.FlowRehearsalRequest{
		ProgramID: v.program.ID, FlowID: opt.OrNil(d.ID), Flow: flow,
	}, d.Rehearsal)
}

// typedFlow returns the rule of a form, with the partner whose name, email or handle was typed.
func (v *visit) typedFlow(form ruleForm) (api.FlowUpdate, error) {
	flow, err := form.update()
	if err != nil || !form.partnerIsTyped() {
		return flow, err
	}
	p, err := v.whichPartner(form.Partner)
	if err == nil {
		flow.PartnerID = orNull(p.ID)
	}
	return flow, err
}

// refuseRule shows the form again with the fault at its field.
func (v *visit) refuseRule(form ruleForm, err error) error {
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
		field = form.place(field)
	case !slices.Contains(ruleFields, field):
		field = ""
	}
	shown := *p
	shown.Param = field
	v.fault = &shown
	return v.showRule(&ruleData{
		ruleForm: form, Faults: site.Faults{field: cmp.Or(site.FaultsOf(p)[""], p.Message)},
	})
}

// ruleFields are the fields outside of exceptions that a refusal can name.
var ruleFields = []string{
	"name", "trigger", "action", "target_group_id", "rate_type", "group_id", "approval_mode", "approval_delay_days",
	"priority", "status", "description",
}

var branchParam = regexp.MustCompile(`^branches\[(\d+)\](?:\.(\w+))?(?:\[(\d+)\](?:\.any\[(\d+)\])?)?`)

// place returns the field of the form for a parameter of a branch.
func (f ruleForm) place(param string) string {
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
	if branch >= len(f.Cases) {
		return ""
	}
	for j, r := range f.Cases[branch].Rows {
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

// SomeFault reports whether one of the fields has a fault.
func (d *ruleData) SomeFault(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return d.Faults[n] != "" })
}

// fieldGroup is a group of fields that conditions can read, on one object.
type fieldGroup struct {
	Label   string
	Options []site.Option
}

// FieldGroups returns the fields that conditions can read. A field without a choice is left out.
func (d *ruleData) FieldGroups() []fieldGroup {
	groups := []fieldGroup{{Label: "Payment"}, {Label: "Customer"}, {Label: "Partner"}}
	at := map[string]int{"sale": 0, "customer": 1, "partner": 2}
	add := func(name, label string) {
		object, _, _ := strings.Cut(name, ".")
		g := &groups[at[object]]
		g.Options = append(g.Options, site.Option{Value: name, Label: label})
	}
	for _, f := range rules.FieldsIn(rules.Trigger(d.Trigger)) {
		if f.Kind != "choice" || len(d.choices[f.Name]) > 0 {
			add(f.Name, f.Words)
		}
	}
	if d.pays() {
		add(saleMetadata, metadataWords[saleMetadata])
	}
	add(customerMetadata, metadataWords[customerMetadata])
	return slices.DeleteFunc(groups, func(g fieldGroup) bool { return len(g.Options) == 0 })
}

// metadataWords are the fields of metadata in words.
var metadataWords = map[string]string{
	saleMetadata: "a value of the payment’s metadata", customerMetadata: "a value of the customer’s metadata",
}

// pays reports whether the rule is about payments, and not sign-ups.
func (f ruleForm) pays() bool { return f.Trigger != string(api.FlowTriggerNewSignup) }

// Applies reports whether a part of the form applies, which is shown for the values of a field: "action=switch_group".
func (d *ruleData) Applies(when string) bool {
	name, values, _ := strings.Cut(when, "=")
	value := map[string]string{
		"action": d.Action, "trigger": d.Trigger, "whom": d.Whom, "approval_mode": d.Approval, "rate_type": d.RateType,
	}[name]
	return slices.Contains(strings.Split(values, " "), value)
}

// Line is an input of the rule.
func (d *ruleData) Line(kind, name, label, value string) site.Input {
	return site.Input{
		Name: name, ID: name, Label: label, Type: kind, Value: value, Error: d.Faults[name], Auto: "off", Most: mostOf(name),
	}
}

// mostOf returns how many characters a field takes; several values of a condition are typed with commas.
func mostOf(name string) int {
	switch {
	case name == "description":
		return most["textarea"]
	case strings.HasSuffix(name, ".value"):
		return 2000
	}
	return most["text"]
}

// choose is an input with options.
func (d *ruleData) choose(name, label, value string, options ...string) site.Input {
	in := d.Line("select", name, label, value)
	for i := 0; i+1 < len(options); i += 2 {
		in.Options = append(in.Options, site.Option{Value: options[i], Label: options[i+1]})
	}
	return in
}

// Inputs returns the choices of the sentence by name.
func (d *ruleData) Inputs() map[string]site.Input {
	groups := func(name, label, value string) site.Input {
		in := d.Line("select", name, label, value)
		in.Options = append([]site.Option{{Label: "Choose a group"}}, d.choices["partner.group_id"]...)
		return in
	}
	return map[string]site.Input{
		"trigger": d.choose("trigger", "Trigger", d.Trigger,
			string(api.FlowTriggerNewPayment), "a customer pays", string(api.FlowTriggerNewSignup), "a customer signs up"),
		"action": d.choose("action", "Action", d.Action,
			string(api.FlowActionGenerateCommission), "give", string(api.FlowActionSwitchGroup), "move"),
		"whom": d.choose("whom", "For whom", d.Whom,
			forEveryone, "every partner", forGroup, "partners in", forPartner, "the partner"),
		"group_id":        groups("group_id", "Group", d.GroupID),
		"target_group_id": groups("target_group_id", "Into the group", d.TargetGroupID),
		"rate_type":       d.rateTypes("rate_type", d.RateType), "rate": d.Line("text", "rate", "Rate", d.Rate),
		"approval_mode": d.choose("approval_mode", "Approval", d.Approval,
			string(api.FlowApprovalModeImmediate), "at once", string(api.FlowApprovalModeAfterDays), "after",
			string(api.FlowApprovalModeManual), "by hand"),
		"status": d.choose("status", "State", d.Status,
			string(api.FlowStatusActive), "On", string(api.FlowStatusInactive), "Off"),
	}
}

// rateTypes is the choice between a percentage and an amount. A sign-up has no amount to take a percentage of.
func (d *ruleData) rateTypes(name, value string) site.Input {
	each := "for each sign-up"
	if d.pays() {
		each = "for each payment"
	}
	in := d.choose(name, "Type of rate", value, string(api.RateTypePercent), "% of each payment",
		string(api.RateTypeFixed), d.currency+" "+each)
	if !d.pays() {
		in.Options = in.Options[1:]
	}
	return in
}

// CaseInputs returns the inputs of an exception by name.
func (d *ruleData) CaseInputs(c ruleCase) map[string]site.Input {
	label := d.Line("text", c.At+"label", "Name", c.Label).Maybe()
	return map[string]site.Input{
		"label":     label,
		"rate":      d.Line("text", c.At+"rate", "Rate", c.Rate),
		"rate_type": d.rateTypes(c.At+"rate_type", c.RateType),
	}
}

// Says returns the field of a condition in words.
func (r ruleRow) Says() string { return cmp.Or(metadataWords[r.Field.Name], r.Field.Words) }

// First reports whether a condition is the first of its exception.
func (r ruleRow) First() bool { return strings.HasSuffix(r.At, "c0.") }

// RowInputs returns the inputs of a condition by name. An input that its field lacks has no type.
func (d *ruleData) RowInputs(r ruleRow) map[string]site.Input {
	out := map[string]site.Input{"join": d.choose(r.At+"join", "Match", r.Join, "and", "and", "or", "or")}
	about := r.Says()
	if r.Field.Kind == "metadata" {
		out["key"] = d.Line("text", r.At+"key", "Key", r.Key)
	}
	if r.Field.Kind != "bool" {
		out["op"] = d.Line("select", r.At+"op", "Comparison of "+about, r.Op).Of(r.ops())
	}
	value := d.Line("text", r.At+"value", "Value of "+about, r.Value)
	switch r.Field.Kind {
	case "bool":
		out["is"] = d.choose(r.At+"value", "Is it "+about, r.Value, yes, "it is", no, "it is not")
		return out
	case "choice":
		value = d.Line("boxes", r.At+"values", "Which", "").Of(site.Choose(d.choices[r.Field.Name], r.Values...))
		value.Error = d.Faults[r.At+"value"]
	case "money":
		value.Type, value.Currency = "money", d.currency
	case "number", "date":
		value.Type = r.Field.Kind
	}
	if products := d.choices[productField]; r.Field.Name == productField && len(products) > 0 {
		out["products"] = d.Line("boxes", r.At+"values", "Products", "").Of(site.Choose(products, r.Values...))
		value.Label, value.Optional = "Other product ids", true
	}
	out["value"] = value
	return out
}

// ops returns the operators of the row's field. A choice has "one of" and "none of", which include single values, and
// so have products where some are known.
func (r ruleRow) ops() []site.Option {
	f := r.Field
	if f.Kind == "metadata" {
		f, _ = rules.FieldNamed(customerMetadata+"key", rules.NewPayment)
	}
	several := f.Kind == "choice" || f.Name == productField
	var out []site.Option
	for _, op := range f.Operators {
		switch {
		case op.Name == "exists":
			out = append(out,
				site.Option{Value: "exists", Label: "is known"}, site.Option{Value: "absent", Label: "is not known"})
		case several && (op.Name == "eq" || op.Name == "neq"):
		default:
			out = append(out, site.Option{Value: op.Name, Label: op.Words})
		}
	}
	return out
}

// productChoices returns the products of recent sales by their names.
func (v *visit) productChoices() ([]site.Option, error) {
	names, err := v.products()
	var out []site.Option
	for _, id := range slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(names[a], names[b]), cmp.Compare(a, b))
	}) {
		out = append(out, site.Option{Value: id, Label: names[id]})
	}
	return out, err
}
