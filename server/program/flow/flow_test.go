package flow

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/problem"
	"rail/server/work"
)

// described is New in the form of API requests.
type described struct {
	ProgramID         string        `json:"-"`
	Name              string        `json:"-"`
	Description       *string       `json:"description"`
	GroupID           *string       `json:"group_id"`
	PartnerID         *string       `json:"partner_id"`
	TargetGroupID     *string       `json:"target_group_id"`
	Trigger           *string       `json:"trigger"`
	Action            *string       `json:"action"`
	ApprovalMode      *string       `json:"approval_mode"`
	Status            *string       `json:"status"`
	RateType          *string       `json:"rate_type"`
	RateValue         *int64        `json:"rate_value"`
	ApprovalDelayDays *int64        `json:"approval_delay_days"`
	Priority          *int64        `json:"priority"`
	Branches          []branchInput `json:"branches"`
}

type branchInput struct {
	ID         *string         `json:"id"`
	Label      *string         `json:"label"`
	Conditions json.RawMessage `json:"conditions"`
	RateType   string          `json:"rate_type"`
	RateValue  int64           `json:"rate_value"`
}

func create(t *testing.T, body string) (db.Flow, error) {
	t.Helper()
	var d described
	require.NoError(t, json.Unmarshal([]byte(body), &d))
	n := New{
		"prg_1", "Rule", d.Description, d.GroupID, d.PartnerID, d.TargetGroupID, d.Trigger, d.Action, d.ApprovalMode,
		d.Status, d.RateType, d.RateValue, d.ApprovalDelayDays, d.Priority, nil,
	}
	for _, b := range d.Branches {
		n.Branches = append(n.Branches, BranchInput(b))
	}
	return newFlow(&work.Unit{OrgID: "org_1"}, n)
}

func branchesOf(t *testing.T, f db.Flow) (out []Branch) {
	t.Helper()
	require.NoError(t, json.Unmarshal(f.Branches, &out))
	return out
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
		_, err := create(t, body)
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

// Conditions are stored byte for byte.
func TestFlowBranchesKeepConditions(t *testing.T) {
	t.Parallel()
	text := `[ {"field":"sale.product_name" , "value":"<A&B> \u00e9","operator":"eq"} ]`
	flow, err := create(t,
		`{"rate_type":"fixed","rate_value":1,"branches":[{"label":"a \"b\"","conditions":`+text+
			`,"rate_type":"percent","rate_value":5}]}`)
	require.NoError(t, err)
	out := branchesOf(t, flow)
	require.Equal(t, text, string(out[0].Conditions))
	require.Equal(t, `a "b"`, *out[0].Label)
	require.Regexp(t, `^flb_`, out[0].ID)
}

func TestFlowChange(t *testing.T) {
	t.Parallel()
	before, err := create(t,
		`{"rate_type":"percent","rate_value":1000,"approval_mode":"after_days","approval_delay_days":3,
		"branches":[{"conditions":[],"rate_type":"percent","rate_value":5},{"conditions":[],"rate_type":"percent","rate_value":6}]}`)
	require.NoError(t, err)
	stored := branchesOf(t, before)

	same, err := changed(before, Change{})
	require.NoError(t, err)
	require.Equal(t, before, same)

	keep := stored[1].ID
	input := BranchInput{ID: &keep, Conditions: json.RawMessage(`[]`), RateType: "percent", RateValue: 6}
	updated, err := changed(before, Change{
		Branches: []BranchInput{input, {Conditions: json.RawMessage(`[]`), RateType: "fixed", RateValue: 7}},
	})
	require.NoError(t, err)
	after := branchesOf(t, updated)
	require.Len(t, after, 2)
	require.Equal(t, stored[1], after[0])
	require.NotContains(t, []string{stored[0].ID, keep}, after[1].ID)

	_, err = changed(before, Change{Branches: []BranchInput{input, input}})
	require.Equal(t, "invalid_reference branches[1].id", codeAndParam(err))
	_, err = changed(before, Change{Trigger: new("new_signup")})
	require.Equal(t, "parameter_invalid rate_type", codeAndParam(err))

	manual, err := changed(before, Change{ApprovalMode: new("manual")})
	require.NoError(t, err)
	require.Nil(t, manual.ApprovalDelayDays)
	_, err = changed(before, Change{RateType: nullable.NewNullNullable[string]()})
	require.Equal(t, "parameter_missing rate_type", codeAndParam(err))
	none, err := changed(before, Change{Branches: []BranchInput{}})
	require.NoError(t, err)
	require.Equal(t, "[]", string(none.Branches))
}
