package flow_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestFlowDefaults(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	flow := s.Must(201,
		s.Post("/v1/flows", `{"program_id":"`+program+`","name":"Rule","rate_type":"percent","rate_value":0}`))
	require.EqualValues(t, 0, flow.Int("rate_value"))
	require.EqualValues(t, 100, flow.Int("priority"))
	delete(flow.Body, "rate_value")
	delete(flow.Body, "priority")
	require.Equal(t, M{
		"id": flow.String("id"), "object": "flow", "program_id": program, "name": "Rule", "description": nil, "group_id": nil,
		"partner_id": nil, "trigger": "new_payment",
		"action": "generate_commission", "target_group_id": nil, "rate_type": "percent", "approval_mode": "immediate",
		"approval_delay_days": nil, "status": "active",
		"branches": []any{}, "created_at": "2026-09-01T12:00:00.000Z", "updated_at": "2026-09-01T12:00:00.000Z",
		"warnings": []any{},
	}, flow.Body)
	require.Empty(t, s.EventTypes(program), "the catalogue has no rule.created")
}

// badFlow is a body that is refused both as a new flow and as a change of a flow.
type badFlow struct {
	body        M
	status      int
	code, param string
}

var badFlows = []badFlow{
	{M{"name": ""}, 400, "parameter_invalid", "name"},
	{M{"name": strings.Repeat("x", 121)}, 400, "parameter_invalid", "name"},
	{M{"rate_type": "share"}, 400, "parameter_invalid", "rate_type"},
	{M{"rate_value": 50001}, 400, "parameter_invalid", "rate_value"},
	{M{"rate_value": -1}, 400, "parameter_invalid", "rate_value"},
	{M{"rate_type": "fixed", "rate_value": 100000000}, 400, "parameter_invalid", "rate_value"},
	{M{"trigger": "new_signup"}, 400, "parameter_invalid", "rate_type"},
	{M{"trigger": "new_refund"}, 400, "parameter_invalid", "trigger"},
	{M{"priority": -1}, 400, "parameter_invalid", "priority"},
	{M{"priority": 1001}, 400, "parameter_invalid", "priority"},
	{M{"status": "paused"}, 400, "parameter_invalid", "status"},
	{M{"approval_mode": "after_days"}, 400, "parameter_missing", "approval_delay_days"},
	{M{"approval_mode": "after_days", "approval_delay_days": 0}, 400, "parameter_invalid", "approval_delay_days"},
	{M{"approval_mode": "after_days", "approval_delay_days": 1000}, 400, "parameter_invalid", "approval_delay_days"},
	{M{"approval_delay_days": 5}, 400, "parameter_invalid", "approval_delay_days"},
	{M{"approval_mode": "manual", "approval_delay_days": 5}, 400, "parameter_invalid", "approval_delay_days"},
}

// flowFixture is a program with the objects that its flows can refer to, and objects of another program.
type flowFixture struct {
	*apitest.Server
	program, partner, group      string
	foreignPartner, foreignGroup string
}

func newFlowFixture(t *testing.T) flowFixture {
	t.Helper()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	w := flowFixture{Server: s, program: program, partner: s.Partner(program), foreignPartner: s.Partner(other)}
	w.group = s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "G"})).String("id")
	w.foreignGroup = s.Must(201, s.Post("/v1/groups", M{"program_id": other, "name": "G"})).String("id")
	return w
}

func (w flowFixture) badReferences() []badFlow {
	return []badFlow{
		{M{"group_id": w.group, "partner_id": w.partner}, 400, "parameters_exclusive", "partner_id"},
		{M{"group_id": w.foreignGroup}, 400, "invalid_reference", "group_id"},
		{M{"partner_id": w.foreignPartner}, 400, "invalid_reference", "partner_id"},
		{M{"group_id": "grp_none"}, 404, "resource_not_found", "group_id"},
		{M{"target_group_id": w.group}, 400, "parameter_invalid", "target_group_id"},
		{M{"action": "switch_group"}, 400, "parameter_missing", "target_group_id"},
		{M{"action": "switch_group", "target_group_id": w.group}, 400, "parameter_invalid", "rate_type"},
		{
			M{"action": "switch_group", "target_group_id": w.foreignGroup, "rate_type": nil, "rate_value": nil}, 400,
			"invalid_reference", "target_group_id",
		},
	}
}

var firstSale = apitest.Condition("sale.is_first_sale", "eq", true)

// branchWith is a list of one branch, which is valid except for the member.
func branchWith(member string, v any) []any {
	b := apitest.Branch(1)
	b[member] = v
	return []any{b}
}

var badBranches = []badFlow{
	{M{"branches": slices.Repeat([]any{apitest.Branch(1)}, 21)}, 400, "parameter_invalid", "branches"},
	{M{"branches": branchWith("rate_value", 50001)}, 400, "parameter_invalid", "branches[0].rate_value"},
	{M{"branches": branchWith("id", "flb_none")}, 400, "invalid_reference", "branches[0].id"},
	{M{"branches": branchWith("priority", 1)}, 400, "parameter_unknown", "branches[0].priority"},
	{
		M{"branches": branchWith("conditions", []any{M{"any": []any{}}})}, 400, "invalid_condition",
		"branches[0].conditions[0].any",
	},
	{
		M{"branches": branchWith("conditions", []any{M{"any": []any{M{"all": []any{M{"any": []any{firstSale}}}}}}})}, 400,
		"invalid_condition", "branches[0].conditions[0].any[0].all[0]",
	},
	{
		M{
			"branches": branchWith("conditions", append(slices.Repeat([]any{firstSale}, 19), M{
				"all": []any{firstSale, firstSale},
			})),
		},
		400, "invalid_condition", "branches[0].conditions[19].all[1]",
	},
	{
		M{"branches": branchWith("conditions", []any{M{"field": "sale.profit", "operator": "eq", "value": 1}})}, 400,
		"invalid_condition", "branches[0].conditions[0].field",
	},
	{
		M{"branches": branchWith("conditions", []any{M{"field": "sale.product_id", "operator": "gt", "value": "x"}})}, 400,
		"invalid_condition", "branches[0].conditions[0].operator",
	},
	{
		M{"branches": branchWith("conditions", []any{M{"field": "sale.interval", "operator": "eq", "value": "hour"}})}, 400,
		"invalid_condition", "branches[0].conditions[0].value",
	},
}

// flow is a body that creates a flow.
func (w flowFixture) flow(more M) M {
	b := M{"program_id": w.program, "name": "Rule", "rate_type": "percent", "rate_value": 1000}
	maps.Copy(b, more)
	return b
}

func TestFlowRefusals(t *testing.T) {
	t.Parallel()
	w := newFlowFixture(t)
	bad := slices.Concat(badFlows, w.badReferences(), badBranches)
	before := len(w.Events(w.program))
	w.refusedAsNew(bad)
	require.EqualValues(t, 0, w.Get("/v1/flows?program_id="+w.program).Int("total_count"))

	stored := w.Must(201, w.Post("/v1/flows", w.flow(nil)))
	path := "/v1/flows/" + stored.String("id")
	w.refusedAsChange(path, bad)
	delete(stored.Body, "warnings")
	require.Equal(t, stored.Body, w.Get(path).Body)
	require.Len(t, w.Events(w.program), before)
	stranger := apitest.On(t, w.DSN, w.Clock)
	stranger.Refused(404, "resource_not_found", "", stranger.Post(path, M{"name": "x"}))
	stranger.Refused(404, "resource_not_found", "", stranger.Delete(path))
}

func (w flowFixture) refusedAsNew(bad []badFlow) {
	w.T.Helper()
	for _, c := range bad {
		w.Refused(c.status, c.code, c.param, w.Post("/v1/flows", w.flow(c.body)))
	}
	w.Refused(404, "resource_not_found", "program_id", w.Post("/v1/flows", w.flow(M{"program_id": "prg_none"})))
	w.Refused(400, "parameter_missing", "rate_type", w.Post("/v1/flows", M{"program_id": w.program, "name": "x"}))
	w.Refused(400, "parameter_missing", "rate_value", w.Post("/v1/flows", M{
		"program_id": w.program, "name": "x", "rate_type": "fixed",
	}))
	signup := w.flow(M{
		"trigger": "new_signup", "rate_type": "fixed",
		"branches": []any{M{"conditions": []any{firstSale}, "rate_type": "fixed", "rate_value": 1}},
	})
	w.Refused(400, "invalid_condition", "branches[0].conditions[0].field", w.Post("/v1/flows", signup))
}

func (w flowFixture) refusedAsChange(path string, bad []badFlow) {
	w.T.Helper()
	for _, c := range bad {
		if c.body["action"] == "switch_group" && c.param == "rate_type" {
			continue // an update drops the rates that lose their meaning
		}
		w.Refused(c.status, c.code, c.param, w.Post(path, c.body))
	}
	w.Refused(400, "parameter_unknown", "currency", w.Post(path, M{"currency": "USD"}))
}

// TestFlowUpdate: absent members do not change, branches are replaced, and the type of the recorded
// event matches the change (decisions, 136).
func TestFlowUpdate(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	condition := `[{"value":true,"operator":"eq","field":"sale.is_first_sale"}]`
	flow := s.Must(201,
		s.Post("/v1/flows",
			`{"program_id":"`+program+`","name":"Rule","description":"D","rate_type":"percent","rate_value":1000,"branches":[
		{"label":"a","conditions":`+condition+
				`,"rate_type":"percent","rate_value":1},{"conditions":[],"rate_type":"fixed","rate_value":2}]}`))
	path := "/v1/flows/" + flow.String("id")
	require.Contains(t, string(flow.Raw), `"conditions":`+condition, "echoed as given")
	a, b := flow.Body["branches"].([]any)[0].(M), flow.Body["branches"].([]any)[1].(M)
	require.Nil(t, b["label"])
	before := len(s.Events(program))

	s.Clock.Advance(time.Hour)
	var whole map[string]json.RawMessage // keeps the conditions' own text
	require.NoError(t, json.Unmarshal(flow.Raw, &whole))
	for _, k := range []string{"id", "object", "program_id", "created_at", "updated_at", "warnings"} {
		delete(whole, k)
	}
	require.Equal(t, flow.Body, s.Must(200, s.Post(path, whole)).Body, "the whole flow unchanged")
	require.Equal(t, flow.Body, s.Must(200, s.Post(path, M{})).Body)
	require.Len(t, s.Events(program), before)

	changed := s.Must(200,
		s.Post(path, M{"branches": []any{M{"conditions": []any{}, "rate_type": "percent", "rate_value": 3}, M{
			"id": b["id"], "label": "kept", "conditions": []any{}, "rate_type": "fixed", "rate_value": 4,
		}}}))
	branches := changed.Body["branches"].([]any)
	require.Len(t, branches, 2)
	require.Equal(t, b["id"], branches[1].(M)["id"])
	require.Equal(t, "kept", branches[1].(M)["label"])
	require.NotContains(t, []any{a["id"], b["id"]}, branches[0].(M)["id"], "a new one")
	require.Equal(t, "D", changed.String("description"))
	require.Equal(t, "2026-09-01T13:00:00.000Z", changed.String("updated_at"))
	branch := M{"id": b["id"], "conditions": []any{}, "rate_type": "fixed", "rate_value": 4}
	s.Refused(400, "invalid_reference", "branches[0].id", s.Post(path, M{
		"branches": []any{M{"id": a["id"], "conditions": []any{}, "rate_type": "fixed", "rate_value": 4}},
	}))
	s.Refused(400, "invalid_reference", "branches[1].id", s.Post(path, M{"branches": []any{branch, branch}}))

	s.Must(200, s.Post(path, M{
		"rate_value": 1500, "priority": 5, "status": "inactive", "description": nil, "branches": []any{},
	}))
	s.Must(200, s.Post(path, M{"status": "active"}))
	s.Must(200, s.Delete(path))
	recorded := s.Events(program)[before:]
	var types []string
	for _, e := range recorded {
		types = append(types, e.String("type"))
	}
	require.Equal(t,
		[]string{"rule.updated", "rule.updated", "rule.status_changed", "rule.status_changed", "rule.deleted"}, types)
	require.JSONEq(t, `{"rate_type":"percent","rate_value":1000,"priority":100,"status":"active"}`,
		apitest.JSONOf(t, recorded[1].Body["data"].(M)["before"]))
	require.JSONEq(t, `{"rate_type":"percent","rate_value":1500,"priority":5,"status":"inactive"}`,
		apitest.JSONOf(t, recorded[1].Body["data"].(M)["after"]))
	require.Equal(t, M{"rule_id": flow.String("id"), "name": "Rule", "status": "inactive"}, recorded[2].Body["data"])
	require.Equal(t, M{"rule_id": flow.String("id"), "name": "Rule"}, recorded[4].Body["data"])
}

// TestFlowCeiling: a program has at most 500 flows, active or not (decisions, 137).
func TestFlowCeiling(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	id := s.Flow(program, M{"status": "inactive"})
	var columns string
	require.NoError(t,
		s.Pool.QueryRow(t.Context(), `SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name = 'flows' AND is_generated = 'NEVER' AND column_name <> 'id'`).Scan(&columns))
	_, err := s.Pool.Exec(t.Context(),
		"INSERT INTO flows (id, "+columns+") SELECT 'flw_copy' || n, "+columns+
			" FROM flows, generate_series(1, 499) n WHERE id = $1", id)
	require.NoError(t, err)
	body := M{"program_id": program, "name": "x", "rate_type": "fixed", "rate_value": 1, "status": "inactive"}
	s.Refused(402, "flow_quota_exceeded", "", s.Post("/v1/flows", body))
	s.Must(200, s.Post("/v1/flows/"+id, M{"status": "active"}))
	s.Must(200, s.Delete("/v1/flows/flw_copy7"))
	s.Must(201, s.Post("/v1/flows", body))
}

func TestFlowListOrder(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "G"})).String("id")
	add := func(more M) string { s.Clock.Advance(time.Minute); return s.Flow(program, more) }
	wideOld, wideNew := add(nil), add(nil)
	grouped := add(M{"group_id": group})
	own := add(M{"partner_id": partner})
	late := add(M{"priority": 101, "partner_id": partner})
	early := add(M{"priority": 99, "status": "inactive"})
	base := "/v1/flows?program_id=" + program
	apitest.PagedBothWays(t, s, base, []string{early, own, grouped, wideOld, wideNew, late})
	apitest.PagedBothWays(t, s, base+"&status=active", []string{own, grouped, wideOld, wideNew, late})
	apitest.PagedBothWays(t, s, base+"&status=inactive", []string{early})
	apitest.PagedBothWays(t, s, base+"&partner_id="+partner, []string{own, late})
	apitest.PagedBothWays(t, s, base+"&group_id="+group, []string{grouped})
	list := s.Must(200, s.Get(base+"&expand=group,partner")).Data()
	require.Equal(t, partner, list[1]["partner"].(M)["id"])
	require.Equal(t, group, list[2]["group"].(M)["id"])
	require.Nil(t, list[2]["partner"])
	s.Refused(400, "parameter_invalid", "status", s.Get(base+"&status=on"))
	s.Refused(400, "invalid_expand", "expand[]", s.Get(base+"&expand=branches"))
}
