package console

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/locale/currency"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/problem"
)

// ruleForm is a rule as its form has it. Fields of an exception begin with its place, such as b0.rate, and those of a
// condition with both places, such as b0.c1.value.
type ruleForm struct {
	ID                 string // of the stored rule; "" for a new one
	Name, Description  string
	Trigger, Action    string
	Whom               string // everyone, group or partner
	GroupID            string
	Partner, PartnerID string // as typed, and the id of NamedPartner
	NamedPartner       string
	TargetGroupID      string
	RateType, Rate     string
	Approval, Delay    string
	Priority, Status   string
	Cases              []ruleCase
	currency           string
}

// ruleCase is an exception in the form: a branch of the flow.
type ruleCase struct {
	At, ID, Label, RateType, Rate string
	Rows                          []ruleRow
}

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

// The partners of a rule.
const (
	forEveryone = "everyone"
	forGroup    = "group"
	forPartner  = "partner"
)

// maxCases and maxRows bound the form, as the API bounds branches and conditions.
const (
	maxCases = 20
	maxRows  = 20
)

// changeRule saves the posted rule. Every other button shows the page again.
func changeRule(v *visit) error {
	form := readRule(v.Form, v.PathValue("id"), v.program.Currency)
	if do := v.value("do"); do != "" && do != "save" {
		return v.editRule(form, do)
	}
	flow, err := v.typedFlow(form)
	switch {
	case err != nil:
	case form.ID == "":
		err = v.send("createFlow", created(flow, v.program.ID), nil)
	default:
		err = v.send("updateFlow", flow, nil, form.ID)
	}
	if err != nil {
		return v.refuseRule(form, err)
	}
	return v.done(v.at("/rules"), "The rule is saved.")
}

// readRule reads the form of a rule, or of a recipe for one.
func readRule(posted site.Posted, id, code string) ruleForm {
	read := func(name string) string { return cleaned(url.Values(posted).Get(name)) }
	if recipe := read("recipe"); recipe != "" {
		return recipeRule(recipe, code, read)
	}
	f := ruleForm{
		ID: id, Name: read("name"), Description: read("description"),
		Trigger: read("trigger"), Action: read("action"),
		Whom: read("whom"), GroupID: read("group_id"),
		Partner: read("partner"), PartnerID: read("partner_id"), NamedPartner: read("named_partner"),
		TargetGroupID: read("target_group_id"), RateType: read("rate_type"), Rate: read("rate"),
		Approval: read("approval_mode"), Delay: read("approval_delay_days"),
		Priority: read("priority"), Status: read("status"),
		currency: code,
	}
	switch {
	case f.Whom != "":
	case f.Partner != "":
		f.Whom = forPartner
	case f.GroupID != "":
		f.Whom = forGroup
	default:
		f.Whom = forEveryone
	}
	for i := range maxCases {
		at := fmt.Sprintf("b%d.", i)
		if !posted.Has(at + "rate") {
			break
		}
		f.Cases = append(f.Cases, ruleCase{
			At: at, ID: read(at + "id"), Label: read(at + "label"), RateType: read(at + "rate_type"), Rate: read(at + "rate"),
			Rows: readRows(posted, at, f.Trigger, read),
		})
	}
	return f
}

// readRows reads the conditions of an exception.
func readRows(posted site.Posted, at, trigger string, read func(string) string) []ruleRow {
	var out []ruleRow
	for j := range maxRows {
		r := ruleRow{At: fmt.Sprintf("%sc%d.", at, j)}
		if r.Kept = read(r.At + "kept"); r.Kept != "" {
			r.InWords = read(r.At + "words")
			out = append(out, r)
			continue
		}
		name := read(r.At + "field")
		if name == "" {
			break
		}
		field, ok := ruleField(name, trigger)
		if !ok { // the API refuses a field that the trigger lacks
			field = rules.FieldWords{Name: name, Words: name, Kind: "text"}
		}
		r.Field, r.Join, r.Key, r.Op = field, read(r.At+"join"), read(r.At+"key"), read(r.At+"op")
		r.Value, r.Values = read(r.At+"value"), posted.Values(r.At+"values")
		out = append(out, r)
	}
	return out
}

// Fields of metadata: the key follows.
const (
	saleMetadata     = "sale.metadata."
	customerMetadata = "customer.metadata."
)

// ruleField returns the field that a condition of a trigger reads.
func ruleField(name, trigger string) (rules.FieldWords, bool) {
	if name == saleMetadata || name == customerMetadata {
		return rules.FieldWords{Name: name, Kind: "metadata"}, true
	}
	return rules.FieldNamed(name, rules.Trigger(trigger))
}

// partnerIsTyped reports whether the rule is for a partner whose id the form does not have.
func (f ruleForm) partnerIsTyped() bool {
	return f.Whom == forPartner && (f.PartnerID == "" || f.Partner != f.NamedPartner)
}

// update returns the rule as a change of a flow. It refuses a text that is not what its field takes. Fields that do
// not apply are null.
func (f ruleForm) update() (out api.FlowUpdate, err error) {
	out = api.FlowUpdate{
		Name: &f.Name, Description: orNull(f.Description),
		Trigger: new(api.FlowTrigger(f.Trigger)), Action: new(api.FlowAction(f.Action)),
		ApprovalMode: new(api.FlowApprovalMode(f.Approval)), Status: new(api.FlowStatus(f.Status)),
		GroupID: orNull(""), PartnerID: orNull(""), TargetGroupID: orNull(""),
		RateType: orNull(""), RateValue: nullable.NewNullNullable[int64](),
		ApprovalDelayDays: nullable.NewNullNullable[int64](),
	}
	switch f.Whom {
	case forGroup:
		if out.GroupID = orNull(f.GroupID); f.GroupID == "" {
			return out, problem.On("group_id", problem.ParameterMissing, "Choose a group.")
		}
	case forPartner:
		if out.PartnerID = orNull(f.PartnerID); f.Partner == "" {
			return out, problem.On("partner", problem.ParameterMissing, "Enter a partner.")
		}
	}
	if f.moves() {
		out.TargetGroupID = orNull(f.TargetGroupID)
	} else if err = f.setRate(&out); err != nil {
		return out, err
	}
	if out.Priority, err = number("priority", f.Priority); err != nil {
		return out, err
	}
	if out.Priority == nil && f.ID != "" {
		return out, problem.On("priority", problem.ParameterMissing, "Enter a number from 0 to 1000.")
	}
	if f.Approval == string(api.FlowApprovalModeAfterDays) {
		days, err := number("approval_delay_days", f.Delay)
		if err != nil {
			return out, err
		}
		if days != nil {
			out.ApprovalDelayDays = nullable.NewNullableWithValue(*days)
		}
	}
	out.Branches, err = f.branches()
	return out, err
}

// moves reports whether the rule moves the partner into a group instead of paying.
func (f ruleForm) moves() bool { return f.Action == string(api.FlowActionSwitchGroup) }

// setRate sets the rate of a rule that pays.
func (f ruleForm) setRate(out *api.FlowUpdate) error {
	rate, err := typedAmount("rate_value", f.RateType, f.Rate, f.currency)
	out.RateType, out.RateValue = orNull(f.RateType), nullable.NewNullableWithValue(rate)
	return err
}

// created returns a change as a new flow of a program.
func created(f api.FlowUpdate, program string) api.FlowCreate {
	return api.FlowCreate{
		ProgramID:         program,
		Name:              opt.Value(f.Name),
		Description:       valueOrNil(f.Description),
		Trigger:           f.Trigger,
		Action:            f.Action,
		GroupID:           valueOrNil(f.GroupID),
		PartnerID:         valueOrNil(f.PartnerID),
		TargetGroupID:     valueOrNil(f.TargetGroupID),
		RateType:          (*api.RateType)(valueOrNil(f.RateType)),
		RateValue:         valueOrNil(f.RateValue),
		ApprovalMode:      f.ApprovalMode,
		ApprovalDelayDays: valueOrNil(f.ApprovalDelayDays),
		Priority:          f.Priority,
		Status:            f.Status,
		Branches:          f.Branches,
	}
}

// valueOrNil returns the value of a member; nil if it is null or absent.
func valueOrNil[T any](n nullable.Nullable[T]) *T {
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

// branches returns the exceptions as branches. An exception of a rule that pays nothing has no rate.
func (f ruleForm) branches() ([]api.FlowBranchInput, error) {
	out := make([]api.FlowBranchInput, len(f.Cases))
	for i, c := range f.Cases {
		if f.moves() {
			c.RateType, c.Rate = string(api.RateTypePercent), "0"
		}
		rate, err := typedAmount(fmt.Sprintf("branches[%d].rate_value", i), c.RateType, c.Rate, f.currency)
		if err != nil {
			return nil, err
		}
		conditions, err := f.conditions(c.Rows)
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

// typedAmount reads a typed rate: a percentage as basis points, or an amount in minor units of a currency. param names
// it in a refusal.
func typedAmount(param, rateType, text, code string) (int64, error) {
	text = strings.TrimSpace(strings.TrimSuffix(text, "%"))
	if rateType != string(api.RateTypePercent) {
		if minor, ok := currency.Minor(text, code); ok {
			return minor, nil
		}
		return 0, problem.Invalid(param, "Enter an amount, such as %s.", currency.Decimal(1000, code))
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

// either is a group of conditions of which any is enough.
type either struct {
	Any []json.RawMessage `json:"any"`
}

// conditions returns the rows as the API takes them: conditions joined by "or" are a group.
func (f ruleForm) conditions(rows []ruleRow) (json.RawMessage, error) {
	var groups []either
	for i, r := range rows {
		item, err := f.condition(r)
		if err != nil {
			return nil, err
		}
		if i > 0 && r.Join == "or" {
			last := &groups[len(groups)-1]
			last.Any = append(last.Any, item)
			continue
		}
		groups = append(groups, either{[]json.RawMessage{item}})
	}
	items := make([]json.RawMessage, len(groups))
	for i, group := range groups {
		items[i] = group.Any[0]
		if len(group.Any) == 1 {
			continue
		}
		var err error
		if items[i], err = json.Marshal(group); err != nil {
			return nil, err
		}
	}
	return json.Marshal(items)
}

// condition returns one row as the API takes it.
func (f ruleForm) condition(r ruleRow) (json.RawMessage, error) {
	if r.Kept != "" {
		if json.Valid([]byte(r.Kept)) {
			return json.RawMessage(r.Kept), nil
		}
		return json.Marshal(r.Kept) // refused by the API
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
		for _, id := range r.Values { // ticked products; other fields have none
			list = append(list, id)
		}
		for text := range strings.SplitSeq(r.Value, ",") {
			if text = strings.TrimSpace(text); text != "" {
				list = append(list, r.read(text, f.currency))
			}
		}
		out.Value = list
	default:
		out.Value = r.read(r.Value, f.currency)
	}
	return json.Marshal(out)
}

// yes and no are the values of a boolean field.
const yes, no = "true", "false"

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
func (r ruleRow) read(text, code string) any {
	switch r.Field.Kind {
	case "money":
		if minor, ok := currency.Minor(text, code); ok {
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
