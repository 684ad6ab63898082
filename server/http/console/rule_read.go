package console

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/server/locale/currency"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/problem"
)

// flowUpdate is an update that always has branches: a rule whose last case was removed sends an empty list.
type flowUpdate struct {
	api.FlowUpdate

	Branches []api.FlowBranchInput `json:"branches"`
}

// create returns the rule as a new one of a program.
func (f flowUpdate) create(program string) api.FlowCreate {
	return api.FlowCreate{
		ProgramID: program, Name: opt.Value(f.Name), Description: given(f.Description), Trigger: f.Trigger,
		Action: f.Action, GroupID: given(f.GroupID), PartnerID: given(f.PartnerID), TargetGroupID: given(f.TargetGroupID),
		RateType: (*api.RateType)(given(f.RateType)), RateValue: given(f.RateValue), ApprovalMode: f.ApprovalMode,
		ApprovalDelayDays: given(f.ApprovalDelayDays), Priority: f.Priority, Status: f.Status, Branches: f.Branches,
	}
}

// given returns the value of a member; nil if it is null or absent.
func given[T any](n nullable.Nullable[T]) *T {
	if v, err := n.Get(); err == nil {
		return &v
	}
	return nil
}

// orNull returns a text as a member; null if it is empty.
func orNull(text string) nullable.Nullable[string] {
	if text == "" {
		return nullable.NewNullNullable[string]()
	}
	return nullable.NewNullableWithValue(text)
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
		if !v.Form.Has(at + "rate") {
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

// newRow is an empty condition on a field.
func (d *ruleData) newRow(field string) []ruleRow {
	if field == saleMetadata || field == customerMetadata {
		return []ruleRow{{Field: rules.FieldWords{Name: field, Kind: "metadata"}}}
	}
	f, ok := rules.FieldNamed(field, d.trigger)
	if !ok {
		return nil
	}
	return []ruleRow{{Field: f}}
}

// typedRows reads the conditions of a case from the form.
func (d *ruleData) typedRows(v *visit, at string) []ruleRow {
	var out []ruleRow
	for j := range maxRows {
		r := ruleRow{At: fmt.Sprintf("%sc%d.", at, j)}
		if r.Kept = v.value(r.At + "kept"); r.Kept != "" {
			r.InWords = v.value(r.At + "words")
			out = append(out, r)
			continue
		}
		made := d.newRow(v.value(r.At + "field"))
		if made == nil {
			break
		}
		r.Field, r.Join, r.Key, r.Op = made[0].Field, v.value(r.At+"join"), v.value(r.At+"key"), v.value(r.At+"op")
		r.Value, r.Values = v.value(r.At+"value"), v.values(r.At+"values")
		out = append(out, r)
	}
	return out
}

// typedFlow returns the typed rule as a request. It refuses a text that is not what its field takes.
func (v *visit) typedFlow(d *ruleData) (f flowUpdate, err error) {
	f.Name, f.Description = new(v.value("name")), orNull(v.value("description"))
	f.Trigger, f.Action = new(api.FlowTrigger(v.value("trigger"))), new(api.FlowAction(v.value("action")))
	f.ApprovalMode, f.Status = new(api.FlowApprovalMode(v.value("approval_mode"))), new(api.FlowStatus(v.value("status")))
	f.GroupID, f.PartnerID, f.TargetGroupID = orNull(v.value("group_id")), orNull(""), orNull("")
	f.RateType, f.RateValue = orNull(""), nullable.NewNullNullable[int64]()
	f.ApprovalDelayDays = nullable.NewNullNullable[int64]()
	if d.Partner != "" {
		p, err := v.whichPartner(d.Partner)
		if err != nil {
			return f, err
		}
		f.PartnerID = orNull(p.ID)
	}
	if *f.Action == api.FlowActionSwitchGroup {
		f.TargetGroupID = orNull(v.value("target_group_id"))
	} else {
		rate, err := d.rate("rate_value", v.value("rate_type"), d.Rate)
		if err != nil {
			return f, err
		}
		f.RateType, f.RateValue = orNull(v.value("rate_type")), nullable.NewNullableWithValue(rate)
	}
	if f.Priority, err = number("priority", v.value("priority")); err != nil {
		return f, err
	}
	if f.Priority == nil && d.ID != "" {
		return f, problem.Missing("priority")
	}
	if *f.ApprovalMode == api.FlowApprovalModeAfterDays {
		days, err := number("approval_delay_days", v.value("approval_delay_days"))
		if err != nil {
			return f, err
		}
		if days != nil {
			f.ApprovalDelayDays = nullable.NewNullableWithValue(*days)
		}
	}
	f.Branches, err = d.branches()
	return f, err
}

// branches returns the typed cases as branches.
func (d *ruleData) branches() ([]api.FlowBranchInput, error) {
	out := make([]api.FlowBranchInput, len(d.Cases))
	for i, c := range d.Cases {
		rate, err := d.rate(fmt.Sprintf("branches[%d].rate_value", i), c.RateType, c.Rate)
		if err != nil {
			return nil, err
		}
		conditions, err := json.Marshal(d.conditions(c.Rows))
		if err != nil {
			return nil, err
		}
		out[i] = api.FlowBranchInput{
			ID: opt.OrNil(c.ID), Label: opt.OrNil(c.Label), RateType: api.RateType(c.RateType), RateValue: rate,
			Conditions: conditions,
		}
	}
	return out, nil
}

var percentForm = regexp.MustCompile(`^\d{1,4}([.,]\d{1,2})?$`)

// rate reads a typed rate: a percentage as basis points, or an amount in minor units. param names it in a refusal.
func (d *ruleData) rate(param, rateType, text string) (int64, error) {
	text = strings.TrimSpace(strings.TrimSuffix(text, "%"))
	if rateType != string(api.RateTypePercent) {
		if minor, ok := currency.Minor(text, d.currency); ok {
			return minor, nil
		}
		return 0, problem.Invalid(param, "Enter an amount, such as %s.", currency.Decimal(1000, d.currency))
	}
	share, ok := new(big.Rat).SetString(strings.Replace(text, ",", ".", 1))
	if !ok || !percentForm.MatchString(text) {
		return 0, problem.Invalid(param, "Enter a percentage, such as 20 or 12.5.")
	}
	return new(big.Rat).Mul(share, big.NewRat(100, 1)).Num().Int64(), nil
}

// number reads a typed number; nil for an empty text.
func number(param, text string) (*int64, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // an empty field is not an error
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, problem.Invalid(param, "Enter a whole number.")
	}
	return &n, nil
}

// condition compares a field of a sale, customer or partner with a value.
type condition struct {
	Field    string `json:"field"`
	Operator string `json:"operator"`
	Value    any    `json:"value"`
}

// conditions returns the rows as the API takes them: conditions joined by "or" are a group.
func (d *ruleData) conditions(rows []ruleRow) []any {
	var groups [][]any
	for i, r := range rows {
		item := d.condition(r)
		if i > 0 && r.Join == "or" {
			groups[len(groups)-1] = append(groups[len(groups)-1], item)
			continue
		}
		groups = append(groups, []any{item})
	}
	items := make([]any, len(groups))
	for i, group := range groups {
		items[i] = group[0]
		if len(group) > 1 {
			items[i] = map[string]any{"any": group}
		}
	}
	return items
}

// condition returns one row as the API takes it.
func (d *ruleData) condition(r ruleRow) any {
	if r.Kept != "" {
		if json.Valid([]byte(r.Kept)) {
			return json.RawMessage(r.Kept)
		}
		return r.Kept // refused by the API
	}
	out := condition{Field: r.name(), Operator: r.Op}
	switch {
	case r.Field.Kind == "bool":
		out.Operator, out.Value = "eq", r.Value == yes
	case r.Op == "exists", r.Op == "absent":
		out.Operator, out.Value = "exists", r.Op == "exists"
	case r.Field.Kind == "choice":
		out.Value = r.Values
	case r.Op == "in" || r.Op == "not_in":
		list := []any{}
		for text := range strings.SplitSeq(r.Value, ",") {
			if text = strings.TrimSpace(text); text != "" {
				list = append(list, d.read(r, text))
			}
		}
		out.Value = list
	default:
		out.Value = d.read(r, r.Value)
	}
	return out
}

// name is the field's name; that of metadata has its key.
func (r ruleRow) name() string {
	if r.Field.Kind == "metadata" {
		return r.Field.Name + r.Key
	}
	return r.Field.Name
}

// ordered are the operators that compare numbers.
var ordered = []string{"gt", "gte", "lt", "lte"}

// read reads one value that was typed. What cannot be read stays text, which the API refuses.
func (d *ruleData) read(r ruleRow, text string) any {
	switch r.Field.Kind {
	case "money":
		if minor, ok := currency.Minor(text, d.currency); ok {
			return minor
		}
	case "number":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case "metadata":
		if n := json.Number(text); slices.Contains(ordered, r.Op) && json.Valid([]byte(n)) {
			return n
		}
	}
	return text
}
