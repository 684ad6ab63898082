package console

import (
	"strconv"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/opt"
)

// RateType is the rate type of the stored rule.
func (d *ruleData) RateType() string { return string(opt.Value(d.Flow.RateType)) }

// Delay is the approval delay of the stored rule in days; "" for none.
func (d *ruleData) Delay() string {
	if d.Flow.ApprovalDelayDays == nil {
		return ""
	}
	return strconv.FormatInt(*d.Flow.ApprovalDelayDays, 10)
}

// RateTypes are the options of a rate's type.
func (*ruleData) RateTypes() []site.Option {
	return []site.Option{
		{Value: string(api.RateTypePercent), Label: "A percentage"},
		{Value: string(api.RateTypeFixed), Label: "A fixed amount"},
	}
}

// Triggers are the options of a rule's trigger.
func (*ruleData) Triggers() []site.Option {
	return []site.Option{
		{Value: string(api.FlowTriggerNewPayment), Label: "A customer pays"},
		{Value: string(api.FlowTriggerNewSignup), Label: "A customer signs up"},
	}
}

// Actions are the options of a rule's action.
func (*ruleData) Actions() []site.Option {
	return []site.Option{
		{Value: string(api.FlowActionGenerateCommission), Label: "Pay a commission"},
		{Value: string(api.FlowActionSwitchGroup), Label: "Move the partner into a group"},
	}
}

// Approvals are the options of the approval mode.
func (*ruleData) Approvals() []site.Option {
	return []site.Option{
		{Value: string(api.FlowApprovalModeImmediate), Label: "At once"},
		{Value: string(api.FlowApprovalModeAfterDays), Label: "After some days"},
		{Value: string(api.FlowApprovalModeManual), Label: "By hand"},
	}
}

// States are those of a rule.
func (*ruleData) States() []site.Option {
	return []site.Option{
		{Value: string(api.FlowStatusActive), Label: "On"}, {Value: string(api.FlowStatusInactive), Label: "Off"},
	}
}

// GroupsOr returns the groups as options, after one for no group.
func (d *ruleData) GroupsOr(none string) []site.Option { return noneFirst(none, d.Groups) }

// noneFirst puts an empty option before the others.
func noneFirst(label string, options []site.Option) []site.Option {
	return append([]site.Option{{Label: label}}, options...)
}

// Line is a line of a case.
func (d *ruleData) Line(c ruleCase, kind, name, label string) site.Input {
	value := map[string]string{"label": c.Label, "rate_type": c.RateType, "rate": c.Rate}[name]
	return site.Input{
		Name: c.At + name, ID: c.At + name, Label: label, Type: kind, Value: value, Error: d.Faults[c.At+name], Auto: "off",
		Most: 255, Optional: name == "label",
	}
}

// Another returns the select of fields for a new condition of a case.
func (d *ruleData) Another(c ruleCase) site.Input {
	return site.Input{
		Name: c.At + "new", ID: c.At + "new", Label: "Add a condition", Type: "select", Options: d.Fields,
	}
}
