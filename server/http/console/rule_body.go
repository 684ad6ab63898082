package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/locale/currency"
)

// typedRate is a rate as it is typed: percent, or an amount of the currency.
func typedRate(rateType string, value int64, code string) string {
	if rateType == string(api.RateTypePercent) {
		return strconv.FormatFloat(float64(value)/100, 'f', -1, 64)
	}
	return currency.Decimal(value, code)
}

var percentForm = regexp.MustCompile(`^\d{1,4}([.,]\d{1,2})?$`)

// rateOf reads a rate that was typed. What cannot be read stays text, which the API refuses.
func rateOf(rateType, text, code string) any {
	text = strings.TrimSpace(strings.TrimSuffix(text, "%"))
	if rateType != string(api.RateTypePercent) {
		if minor, ok := currency.Minor(text, code); ok {
			return minor
		}
		return text
	}
	if !percentForm.MatchString(text) {
		return text
	}
	share, ok := new(big.Rat).SetString(strings.Replace(text, ",", ".", 1))
	if !ok {
		return text
	}
	return new(big.Rat).Mul(share, big.NewRat(100, 1)).Num().Int64()
}

// dropNull leaves out what a new rule does not have.
func dropNull(body map[string]any) {
	for name, value := range body {
		if value == nil {
			delete(body, name)
		}
	}
}

// ruleBody is the form as the body of an operation.
func (v *visit) ruleBody(d *ruleData) (map[string]any, error) {
	body := map[string]any{
		"name": v.value("name"), "description": orNull(v.value("description")), "trigger": v.value("trigger"),
		"action": v.value("action"), "group_id": orNull(v.value("group_id")), "partner_id": nil,
		"target_group_id": nil, "rate_type": nil, "rate_value": nil, "approval_mode": v.value("approval_mode"),
		"approval_delay_days": nil, "priority": number(v.value("priority")), "status": v.value("status"),
	}
	if d.Partner != "" {
		p, err := v.whichPartner(d.Partner)
		if err != nil {
			return nil, err
		}
		body["partner_id"] = p.ID
	}
	if v.value("action") == string(api.FlowActionSwitchGroup) {
		body["target_group_id"] = orNull(v.value("target_group_id"))
	} else {
		body["rate_type"], body["rate_value"] = v.value("rate_type"), rateOf(v.value("rate_type"), d.Rate, d.currency)
	}
	if v.value("approval_mode") == string(api.FlowApprovalModeAfterDays) {
		body["approval_delay_days"] = number(v.value("approval_delay_days"))
	}
	branches := make([]any, len(d.Cases))
	for i, c := range d.Cases {
		branch := map[string]any{
			"label": orNull(c.Label), "rate_type": c.RateType, "rate_value": rateOf(c.RateType, c.Rate, d.currency),
			"conditions": d.conditions(c.Rows),
		}
		if c.ID != "" {
			branch["id"] = c.ID
		}
		branches[i] = branch
	}
	body["branches"] = branches
	return body, nil
}

// orNull is null for an empty text.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// number is the number that was typed, or null, or else the text, which the API refuses.
func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return orNull(text)
}

// ruleRefused shows the form again with what is wrong at its fields.
func (v *visit) ruleRefused(d *ruleData, err error) error {
	p, ok := theirs(err)
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

// ruleFields are the fields of the form outside of cases that a refusal can be about.
var ruleFields = []string{
	"name", "trigger", "action", "target_group_id", "rate_type", "group_id", "approval_mode", "approval_delay_days",
	"priority", "status", "description",
}

var branchParam = regexp.MustCompile(`^branches\[(\d+)\](?:\.(\w+))?(?:\[(\d+)\](?:\.any\[(\d+)\])?)?`)

// place is the field of the form that a parameter of a branch is typed into.
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

// Fault is why the rule was refused, if that is no fault of a field.
func (d *ruleData) Fault() string { return d.Faults[""] }

// raw is JSON that the form only carries.
func raw(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}
