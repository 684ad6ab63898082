package handlers

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/problem"
	"rail/server/work"
)

func flowCreate(t *testing.T, body string) (db.Flow, error) {
	t.Helper()
	b := api.FlowCreate{ProgramID: "prg_1", Name: "Rule"}
	require.NoError(t, json.Unmarshal([]byte(body), &b))
	return newFlow(&work.Unit{OrgID: "org_1"}, &b)
}

func TestFlowRules(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`: "parameter_missing rate_type", `{"rate_type":"percent"}`: "parameter_missing rate_value",
		`{"rate_type":"percent","rate_value":50000}`:                                                                   "",
		`{"rate_type":"percent","rate_value":50001}`:                                                                   "parameter_invalid rate_value",
		`{"rate_type":"fixed","rate_value":99999999}`:                                                                  "",
		`{"rate_type":"percent","rate_value":1,"trigger":"new_signup"}`:                                                "parameter_invalid rate_type",
		`{"rate_type":"fixed","rate_value":1,"trigger":"new_signup"}`:                                                  "",
		`{"rate_type":"fixed","rate_value":1,"group_id":"grp_1","partner_id":"part_1"}`:                                "parameters_exclusive partner_id",
		`{"rate_type":"fixed","rate_value":1,"target_group_id":"grp_1"}`:                                               "parameter_invalid target_group_id",
		`{"action":"switch_group"}`:                                                                                    "parameter_missing target_group_id",
		`{"action":"switch_group","target_group_id":"grp_1"}`:                                                          "",
		`{"action":"switch_group","target_group_id":"grp_1","rate_type":"fixed"}`:                                      "parameter_invalid rate_type",
		`{"action":"switch_group","target_group_id":"grp_1","rate_value":1}`:                                           "parameter_invalid rate_value",
		`{"rate_type":"fixed","rate_value":1,"approval_mode":"after_days"}`:                                            "parameter_missing approval_delay_days",
		`{"rate_type":"fixed","rate_value":1,"approval_mode":"after_days","approval_delay_days":3}`:                    "",
		`{"rate_type":"fixed","rate_value":1,"approval_delay_days":3}`:                                                 "parameter_invalid approval_delay_days",
		`{"rate_type":"fixed","rate_value":1,"branches":[{"id":"flb_1","conditions":[]}]}`:                             "invalid_reference branches[0].id",
		`{"rate_type":"fixed","rate_value":1,"branches":[{"conditions":[{"field":"x"}]}]}`:                             "invalid_condition branches[0].conditions[0].field",
		`{"rate_type":"fixed","rate_value":1,"branches":[{"conditions":[{"any":[]}]}]}`:                                "invalid_condition branches[0].conditions[0].any",
		`{"rate_type":"fixed","rate_value":1,"branches":[{"conditions":{}}]}`:                                          "invalid_condition branches[0].conditions",
		`{"rate_type":"fixed","rate_value":1,"branches":[{"conditions":[],"rate_type":"percent","rate_value":60000}]}`: "parameter_invalid branches[0].rate_value",
	} {
		_, err := flowCreate(t, body)
		require.Equal(t, want, codeAndParam(err), body)
	}
}

func codeAndParam(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) {
		return ""
	}
	return string(p.Code) + " " + p.Param
}

// Stored conditions are the bytes that were given.
func TestFlowBranchesKeepConditions(t *testing.T) {
	t.Parallel()
	given := `[ {"field":"sale.product_name" , "value":"<A&B> \u00e9","operator":"eq"} ]`
	flow, err := flowCreate(t, `{"rate_type":"fixed","rate_value":1,"branches":[{"label":"a \"b\"","conditions":`+given+`,"rate_type":"percent","rate_value":5}]}`)
	require.NoError(t, err)
	out, err := toFlow(flow)
	require.NoError(t, err)
	require.Equal(t, given, string(out.Branches[0].Conditions))
	require.Equal(t, `a "b"`, *out.Branches[0].Label)
	require.Regexp(t, `^flb_`, out.Branches[0].ID)
}

func TestFlowChange(t *testing.T) {
	t.Parallel()
	before, err := flowCreate(t, `{"rate_type":"percent","rate_value":1000,"approval_mode":"after_days","approval_delay_days":3,
		"branches":[{"conditions":[],"rate_type":"percent","rate_value":5},{"conditions":[],"rate_type":"percent","rate_value":6}]}`)
	require.NoError(t, err)
	stored, err := toFlow(before)
	require.NoError(t, err)

	same, err := changedFlow(before, &api.FlowUpdate{})
	require.NoError(t, err)
	require.Equal(t, before, same)

	keep := stored.Branches[1].ID
	input := api.FlowBranchInput{ID: &keep, Conditions: json.RawMessage(`[]`), RateType: "percent", RateValue: 6}
	changed, err := changedFlow(before, &api.FlowUpdate{Branches: []api.FlowBranchInput{input, {Conditions: json.RawMessage(`[]`), RateType: "fixed", RateValue: 7}}})
	require.NoError(t, err)
	after, err := toFlow(changed)
	require.NoError(t, err)
	require.Len(t, after.Branches, 2)
	require.Equal(t, stored.Branches[1], after.Branches[0])
	require.NotContains(t, []string{stored.Branches[0].ID, keep}, after.Branches[1].ID)

	_, err = changedFlow(before, &api.FlowUpdate{Branches: []api.FlowBranchInput{input, input}})
	require.Equal(t, "invalid_reference branches[1].id", codeAndParam(err))
	_, err = changedFlow(before, &api.FlowUpdate{Trigger: new(api.FlowTriggerNewSignup)})
	require.Equal(t, "parameter_invalid rate_type", codeAndParam(err))

	manual, err := changedFlow(before, &api.FlowUpdate{ApprovalMode: new(api.FlowApprovalModeManual)})
	require.NoError(t, err)
	require.Nil(t, manual.ApprovalDelayDays)
	_, err = changedFlow(before, &api.FlowUpdate{RateType: nullable.NewNullNullable[string]()})
	require.Equal(t, "parameter_missing rate_type", codeAndParam(err))
	none, err := changedFlow(before, &api.FlowUpdate{Branches: []api.FlowBranchInput{}})
	require.NoError(t, err)
	require.Equal(t, "[]", string(none.Branches))
}
