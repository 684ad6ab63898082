package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/apitest"
)

func TestFlowDefaults(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	flow := s.Must(201, s.Post("/v1/flows", `{"program_id":"`+program+`","name":"Rule","rate_type":"percent","rate_value":0}`))
	require.EqualValues(t, 0, flow.Int("rate_value"))
	require.EqualValues(t, 100, flow.Int("priority"))
	delete(flow.Body, "rate_value")
	delete(flow.Body, "priority")
	require.Equal(t, M{
		"id": flow.String("id"), "object": "flow", "program_id": program, "name": "Rule", "description": nil, "group_id": nil, "partner_id": nil, "trigger": "new_payment",
		"action": "generate_commission", "target_group_id": nil, "rate_type": "percent", "approval_mode": "immediate", "approval_delay_days": nil, "status": "active",
		"branches": []any{}, "created_at": "2026-09-01T12:00:00.000Z", "updated_at": "2026-09-01T12:00:00.000Z",
	}, flow.Body)
	require.Empty(t, s.EventTypes(program), "the catalogue has no rule.created")
}

func TestFlowRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	partner, elsewhere := s.Partner(program), s.Partner(other)
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "G"})).String("id")
	far := s.Must(201, s.Post("/v1/groups", M{"program_id": other, "name": "G"})).String("id")
	branch := M{"conditions": []any{}, "rate_type": "percent", "rate_value": 1}
	leaf := M{"field": "sale.is_first_sale", "operator": "eq", "value": true}
	with := func(name string, v any) []any {
		b := M{}
		for k, x := range branch {
			b[k] = x
		}
		b[name] = v
		return []any{b}
	}
	bad := []struct {
		body        M
		status      int
		code, param string
	}{
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
		{M{"group_id": group, "partner_id": partner}, 400, "parameters_exclusive", "partner_id"},
		{M{"group_id": far}, 400, "invalid_reference", "group_id"},
		{M{"partner_id": elsewhere}, 400, "invalid_reference", "partner_id"},
		{M{"group_id": "grp_none"}, 404, "resource_not_found", "group_id"},
		{M{"target_group_id": group}, 400, "parameter_invalid", "target_group_id"},
		{M{"action": "switch_group"}, 400, "parameter_missing", "target_group_id"},
		{M{"action": "switch_group", "target_group_id": group}, 400, "parameter_invalid", "rate_type"},
		{M{"action": "switch_group", "target_group_id": far, "rate_type": nil, "rate_value": nil}, 400, "invalid_reference", "target_group_id"},
		{M{"branches": slices.Repeat([]any{branch}, 21)}, 400, "parameter_invalid", "branches"},
		{M{"branches": with("rate_value", 50001)}, 400, "parameter_invalid", "branches[0].rate_value"},
		{M{"branches": with("id", "flb_none")}, 400, "invalid_reference", "branches[0].id"},
		{M{"branches": with("priority", 1)}, 400, "parameter_unknown", "branches[0].priority"},
		{M{"branches": with("conditions", []any{M{"any": []any{}}})}, 400, "invalid_condition", "branches[0].conditions[0].any"},
		{M{"branches": with("conditions", []any{M{"any": []any{M{"all": []any{M{"any": []any{leaf}}}}}}})}, 400, "invalid_condition", "branches[0].conditions[0].any[0].all[0]"},
		{M{"branches": with("conditions", append(slices.Repeat([]any{leaf}, 19), M{"all": []any{leaf, leaf}}))}, 400, "invalid_condition", "branches[0].conditions[19].all[1]"},
		{M{"branches": with("conditions", []any{M{"field": "sale.profit", "operator": "eq", "value": 1}})}, 400, "invalid_condition", "branches[0].conditions[0].field"},
		{M{"branches": with("conditions", []any{M{"field": "sale.product_id", "operator": "gt", "value": "x"}})}, 400, "invalid_condition", "branches[0].conditions[0].operator"},
		{M{"branches": with("conditions", []any{M{"field": "sale.interval", "operator": "eq", "value": "hour"}})}, 400, "invalid_condition", "branches[0].conditions[0].value"},
	}
	body := func(more M) M {
		b := M{"program_id": program, "name": "Rule", "rate_type": "percent", "rate_value": 1000}
		for k, v := range more {
			b[k] = v
		}
		return b
	}
	before := len(s.Events(program))
	for _, c := range bad {
		s.Refused(c.status, c.code, c.param, s.Post("/v1/flows", body(c.body)))
	}
	s.Refused(404, "resource_not_found", "program_id", s.Post("/v1/flows", body(M{"program_id": "prg_none"})))
	s.Refused(400, "parameter_missing", "rate_type", s.Post("/v1/flows", M{"program_id": program, "name": "x"}))
	s.Refused(400, "parameter_missing", "rate_value", s.Post("/v1/flows", M{"program_id": program, "name": "x", "rate_type": "fixed"}))
	signup := body(M{"trigger": "new_signup", "rate_type": "fixed", "branches": []any{M{"conditions": []any{leaf}, "rate_type": "fixed", "rate_value": 1}}})
	s.Refused(400, "invalid_condition", "branches[0].conditions[0].field", s.Post("/v1/flows", signup))
	require.EqualValues(t, 0, s.Get("/v1/flows?program_id="+program).Int("total_count"))

	stored := s.Must(201, s.Post("/v1/flows", body(nil)))
	path := "/v1/flows/" + stored.String("id")
	for _, c := range bad {
		if c.body["action"] == "switch_group" && c.param == "rate_type" {
			continue // an update drops the rates that lose their meaning
		}
		s.Refused(c.status, c.code, c.param, s.Post(path, c.body))
	}
	s.Refused(400, "parameter_unknown", "currency", s.Post(path, M{"currency": "USD"}))
	require.Equal(t, stored.Body, s.Get(path).Body)
	require.Len(t, s.Events(program), before)
	stranger := apitest.On(t, s.DSN, s.Clock)
	stranger.Refused(404, "resource_not_found", "", stranger.Post(path, M{"name": "x"}))
	stranger.Refused(404, "resource_not_found", "", stranger.Delete(path))
}

// TestFlowUpdate: what is absent stays, branches are replaced, and each change
// is told as what it is (decisions, 136).
func TestFlowUpdate(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	condition := `[{"value":true,"operator":"eq","field":"sale.is_first_sale"}]`
	flow := s.Must(201, s.Post("/v1/flows", `{"program_id":"`+program+`","name":"Rule","description":"D","rate_type":"percent","rate_value":1000,"branches":[
		{"label":"a","conditions":`+condition+`,"rate_type":"percent","rate_value":1},{"conditions":[],"rate_type":"fixed","rate_value":2}]}`))
	path := "/v1/flows/" + flow.String("id")
	require.Contains(t, string(flow.Raw), `"conditions":`+condition, "echoed as given")
	a, b := flow.Body["branches"].([]any)[0].(M), flow.Body["branches"].([]any)[1].(M)
	require.Nil(t, b["label"])
	before := len(s.Events(program))

	s.Clock.Advance(time.Hour)
	var whole map[string]json.RawMessage // keeps the conditions' own text
	require.NoError(t, json.Unmarshal(flow.Raw, &whole))
	for _, k := range []string{"id", "object", "program_id", "created_at", "updated_at"} {
		delete(whole, k)
	}
	require.Equal(t, flow.Body, s.Must(200, s.Post(path, whole)).Body, "the whole flow unchanged")
	require.Equal(t, flow.Body, s.Must(200, s.Post(path, M{})).Body)
	require.Len(t, s.Events(program), before)

	changed := s.Must(200, s.Post(path, M{"branches": []any{M{"conditions": []any{}, "rate_type": "percent", "rate_value": 3}, M{
		"id": b["id"], "label": "kept", "conditions": []any{}, "rate_type": "fixed", "rate_value": 4,
	}}}))
	branches := changed.Body["branches"].([]any)
	require.Len(t, branches, 2)
	require.Equal(t, b["id"], branches[1].(M)["id"])
	require.Equal(t, "kept", branches[1].(M)["label"])
	require.NotContains(t, []any{a["id"], b["id"]}, branches[0].(M)["id"], "a new one")
	require.Equal(t, "D", changed.String("description"))
	require.Equal(t, "2026-09-01T13:00:00.000Z", changed.String("updated_at"))
	kept := M{"id": b["id"], "conditions": []any{}, "rate_type": "fixed", "rate_value": 4}
	s.Refused(400, "invalid_reference", "branches[0].id", s.Post(path, M{"branches": []any{M{"id": a["id"], "conditions": []any{}, "rate_type": "fixed", "rate_value": 4}}}))
	s.Refused(400, "invalid_reference", "branches[1].id", s.Post(path, M{"branches": []any{kept, kept}}))

	s.Must(200, s.Post(path, M{"rate_value": 1500, "priority": 5, "status": "inactive", "description": nil, "branches": []any{}}))
	s.Must(200, s.Post(path, M{"status": "active"}))
	s.Must(200, s.Delete(path))
	told := newEvents(s, program, before)
	var types []string
	for _, e := range told {
		types = append(types, e.String("type"))
	}
	require.Equal(t, []string{"rule.updated", "rule.updated", "rule.status_changed", "rule.status_changed", "rule.deleted"}, types)
	require.JSONEq(t, `{"rate_type":"percent","rate_value":1000,"priority":100,"status":"active"}`, jsonOf(t, told[1].Body["data"].(M)["before"]))
	require.JSONEq(t, `{"rate_type":"percent","rate_value":1500,"priority":5,"status":"inactive"}`, jsonOf(t, told[1].Body["data"].(M)["after"]))
	require.Equal(t, M{"rule_id": flow.String("id"), "name": "Rule", "status": "inactive"}, told[2].Body["data"])
	require.Equal(t, M{"rule_id": flow.String("id"), "name": "Rule"}, told[4].Body["data"])
}

// TestFlowCeiling: 500 flows a program, active or not (decisions, 137).
func TestFlowCeiling(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	id := s.Flow(program, M{"status": "inactive"})
	var columns string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name = 'flows' AND is_generated = 'NEVER' AND column_name <> 'id'`).Scan(&columns))
	_, err := s.Pool.Exec(t.Context(), "INSERT INTO flows (id, "+columns+") SELECT 'flw_copy' || n, "+columns+" FROM flows, generate_series(1, 499) n WHERE id = $1", id)
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
	pagedBothWays(t, s, base, []string{early, own, grouped, wideOld, wideNew, late})
	pagedBothWays(t, s, base+"&status=active", []string{own, grouped, wideOld, wideNew, late})
	pagedBothWays(t, s, base+"&status=inactive", []string{early})
	pagedBothWays(t, s, base+"&partner_id="+partner, []string{own, late})
	pagedBothWays(t, s, base+"&group_id="+group, []string{grouped})
	list := s.Must(200, s.Get(base+"&expand=group,partner")).Data()
	require.Equal(t, partner, list[1]["partner"].(M)["id"])
	require.Equal(t, group, list[2]["group"].(M)["id"])
	require.Nil(t, list[2]["partner"])
	s.Refused(400, "parameter_invalid", "status", s.Get(base+"&status=on"))
	s.Refused(400, "invalid_expand", "expand[]", s.Get(base+"&expand=branches"))
}
