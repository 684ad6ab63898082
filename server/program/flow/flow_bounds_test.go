package flow_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// conditionsOf returns the branches of a flow whose conditions have the given size in bytes.
func conditionsOf(bytes int) string {
	var branches []string
	for bytes > 0 {
		size := min(bytes, 1000)
		if rest := bytes - size; rest > 0 && rest < 100 {
			size = bytes - 100
		}
		leaf := `[{"field":"sale.product_id","operator":"eq","value":"none"}]`
		conditions := leaf[:len(leaf)-1] + strings.Repeat(" ", size-len(leaf)) + "]"
		branches = append(branches,
			`{"label":"`+strings.Repeat("x", 255)+`","conditions":`+conditions+`,"rate_type":"percent","rate_value":100}`)
		bytes -= size
	}
	return "[" + strings.Join(branches, ",") + "]"
}

func largeFlow(program string, bytes int, more string) string {
	return fmt.Sprintf(`{"program_id":%q,"name":"Large","rate_type":"percent","rate_value":2000,"branches":%s%s}`, program,
		conditionsOf(bytes), more)
}

// TestFlowConditionsAreBounded: every request that saves a flow limits its conditions to 16 KiB,
// and those of a program's active flows to 256 KiB (decisions, 232).
func TestFlowConditionsAreBounded(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, most := s.Program(), 16<<10
	s.Refused(400, "flow_too_large", "branches", s.Post("/v1/flows", largeFlow(program, most+1, "")))
	s.Refused(400, "flow_too_large", "branches", s.Post("/v1/flows", largeFlow(program, most+1, `,"status":"inactive"`)))
	var ids []string
	for range 16 {
		ids = append(ids, s.Must(201, s.Post("/v1/flows", largeFlow(program, most, ""))).String("id"))
	}
	full := "/v1/flows/" + ids[0]
	s.Refused(400, "flow_too_large", "branches", s.Post(full, `{"branches":`+conditionsOf(most+1)+`}`))
	s.Refused(400, "flow_too_large", "branches", s.Post("/v1/flows", largeFlow(program, 100, "")))
	s.Must(201, s.Post("/v1/flows", largeFlow(s.Program(), most, ""))) // programs have separate limits
	s.Flow(program)                                                    // a flow without conditions uses no space
	idle := "/v1/flows/" + s.Must(201, s.Post("/v1/flows", largeFlow(program, most, `,"status":"inactive"`))).String("id")
	s.Refused(400, "flow_too_large", "branches", s.Post(idle, M{"status": "active"}))

	s.Must(200, s.Post(full, `{"name":"Renamed","branches":`+conditionsOf(most-200)+`}`))
	s.Refused(400, "flow_too_large", "branches", s.Post("/v1/flows", largeFlow(program, 201, "")))
	s.Must(201, s.Post("/v1/flows", largeFlow(program, 200, "")))
	s.Refused(400, "flow_too_large", "branches", s.Post(full, `{"branches":`+conditionsOf(most-199)+`}`))
	s.Must(200, s.Post(full, M{"status": "inactive"}))
	s.Must(200, s.Post(full, `{"branches":`+conditionsOf(most)+`}`))
	s.Refused(400, "flow_too_large", "branches", s.Post(full, M{"status": "active"}))
	s.Must(200, s.Delete("/v1/flows/"+ids[1]))
	s.Must(200, s.Post(idle, M{"status": "active"}))
}

// TestFlowBoundHoldsInRaces: two servers that save at the same time share the limit.
func TestFlowBoundHoldsInRaces(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	servers := []*apitest.Server{s, onSameOrg(t, s)}
	for range 12 {
		s.Must(201, s.Post("/v1/flows", largeFlow(program, 16<<10, "")))
	}
	small := s.Must(201, s.Post("/v1/flows", largeFlow(program, 100, ""))).String("id")
	statuses := make([]int, 10)
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() {
			at := servers[i%2]
			if i < 2 { // a flow that grows, on both servers
				statuses[i] = at.Post("/v1/flows/"+small, `{"branches":`+conditionsOf(16<<10)+`}`).Status
				return
			}
			statuses[i] = at.Post("/v1/flows", largeFlow(program, 16<<10, "")).Status
		})
	}
	all.Wait()
	var total int
	require.NoError(t,
		s.Pool.QueryRow(t.Context(), "SELECT sum(conditions_bytes) FROM flows WHERE program_id = $1 AND status = 'active'",
			program).Scan(&total))
	require.LessOrEqual(t, total, 256<<10)
	require.GreaterOrEqual(t, total, 240<<10, "%v", statuses)
	for _, status := range statuses {
		require.Contains(t, []int{200, 201, 400}, status)
	}
}

// onSameOrg is a second server with a key of the first server's organization.
func onSameOrg(t *testing.T, s *apitest.Server) *apitest.Server {
	t.Helper()
	second := apitest.On(t, s.DSN, s.Clock)
	second.Org, second.Key = s.Org, s.Key
	return second
}

// TestFlowsOverTheBounds: flows that were stored before the limits existed are read, evaluated and
// deleted, but cannot be saved again.
func TestFlowsOverTheBounds(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	large := s.Flow(program)
	value := `["` + strings.Repeat("x", 250) + `"` + strings.Repeat(`,"`+strings.Repeat("y", 250)+`"`, 98) + `,"wanted"]`
	leaves := `{"field":"sale.product_id","operator":"in","value":` + value + `}`
	_, err := s.Pool.Exec(t.Context(), `UPDATE flows SET branches = $2 WHERE id = $1`, large,
		`[{"id":"flb_1","label":null,"conditions":[{"any":[`+leaves+strings.Repeat(","+leaves, 19)+
			`]}],"rate_type":"percent","rate_value":700}]`)
	require.NoError(t, err)
	path := "/v1/flows/" + large
	require.Greater(t, len(s.Must(200, s.Get(path)).Raw), 256<<10)
	require.Greater(t, len(s.Must(200, s.Get("/v1/flows?program_id="+program)).Raw), 256<<10)
	require.EqualValues(t, 700, pays(s, program, customer, M{"product_id": "wanted"}))
	require.EqualValues(t, 2000, pays(s, program, customer, M{"product_id": "other"}))
	s.Refused(400, "flow_too_large", "branches", s.Post(path, M{"name": "New"}))
	s.Refused(400, "flow_too_large", "branches", s.Post("/v1/flows", largeFlow(program, 100, "")))
	require.EqualValues(t, 2000, s.Must(200, s.Post(path, `{"branches":`+conditionsOf(16<<10)+`}`)).Int("rate_value"),
		"a small one in its place")
	s.Must(201, s.Post("/v1/flows", largeFlow(program, 100, "")))
	s.Must(200, s.Delete(path))
}

// TestFlowsAreParsedOncePerVersion: a server parses the branches of a version only at the first
// sale that uses it.
func TestFlowsAreParsedOncePerVersion(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	s.Flow(program, M{"branches": []any{apitest.Branch(100, apitest.Condition("sale.product_id", "eq", "x"))}})
	w, tracer := s.Traced()
	sale := func() int {
		tracer.Take()
		w.Sale(program, customer)
		reads := 0
		for _, names := range tracer.Take() {
			reads += strings.Count(names, "FlowsForPartner")
		}
		return reads
	}
	sale()
	require.Equal(t, 1, sale(), "known")
	id := fmt.Sprint(w.Get("/v1/flows?program_id=" + program).Data()[0]["id"])
	w.Must(200, w.Post("/v1/flows/"+id, M{"name": "Other", "rate_value": 1500, "priority": 7}))
	require.Equal(t, 1, sale(), "what the branches say is the same")
	w.Must(200, w.Post("/v1/flows/"+id, M{
		"branches": []any{apitest.Branch(100, apitest.Condition("sale.product_id", "eq", apitest.Unique("product-")))},
	}))
	require.Equal(t, 2, sale(), "new branches")
	require.Equal(t, 1, sale())
	w.Must(201,
		w.Post("/v1/flows",
			M{"program_id": program, "name": "Later", "rate_type": "percent", "rate_value": 1, "priority": 1000,
				"branches": []any{apitest.Branch(100, apitest.Condition("sale.product_id", "eq", apitest.Unique("product-")))}}))
	require.Equal(t, 1, sale(), "a flow that cannot decide is not read")
}

// TestFlowChangesCountAtOnce: the next sale on any server uses a change, even if flows change many
// times at the same moment, and even if the server has parsed an earlier version.
func TestFlowChangesCountAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.Real(t)
	processes := apitest.Processes(t, s, 2)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	flow := s.Flow(program)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func() *apitest.Process { return processes[random.IntN(2)] }
	products := []string{"a", "b", "c"}
	for range 40 {
		rates, branches := map[string]int{}, []any{}
		for _, product := range products {
			if rate := random.IntN(5) * 100; rate > 0 { // few rates, so that versions repeat
				rates[product] = rate
				branches = append(branches, apitest.Branch(rate, apitest.Condition("sale.product_id", "eq", product)))
			}
		}
		own := 1000 + 100*random.IntN(3)
		at := pick()
		at.Must(200, at.Post("/v1/flows/"+flow, M{"rate_value": own, "branches": branches}))
		for range 2 {
			product := products[random.IntN(3)]
			want := own
			if rate, ok := rates[product]; ok {
				want = rate
			}
			require.EqualValues(t, want, pays(pick().Server, program, customer, M{"product_id": product}))
		}
	}
}

// TestFlowWarnings: a rate that looks like percent instead of basis points is saved with a warning
// (decisions, 231).
func TestFlowWarnings(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	body := func(kind string, rates ...int) M {
		branches := []any{}
		for _, rate := range rates[1:] {
			branches = append(branches, M{"conditions": []any{}, "rate_type": kind, "rate_value": rate})
		}
		return M{"program_id": program, "name": "R", "rate_type": kind, "rate_value": rates[0], "branches": branches}
	}
	unusual := func(message string) any { return M{"code": "rate_unusual", "message": message} }
	for _, c := range []struct {
		body M
		want []any
	}{
		{body("percent", 0, 100, 10000), []any{}},
		{body("fixed", 1, 99999999), []any{}},
		{body("percent", 20), []any{unusual("rate_value: 20 basis points are 0.2 %; 20 % are 2000.")}},
		{body("percent", 20000, 100, 99, 10001), []any{
			unusual("rate_value: 20000 basis points are 200 %, more than the sale itself."),
			unusual("branches[1].rate_value: 99 basis points are 0.99 %; 99 % are 9900."),
			unusual("branches[2].rate_value: 10001 basis points are 100.01 %, more than the sale itself."),
		}},
	} {
		flow := s.Must(201, s.Post("/v1/flows", c.body))
		require.Equal(t, c.want, flow.Body["warnings"])
		path := "/v1/flows/" + flow.String("id")
		require.Equal(t, c.want, s.Must(200, s.Post(path, M{"name": "Renamed"})).Body["warnings"])
		require.NotContains(t, s.Get(path).Body, "warnings")
	}
	switching := M{
		"program_id": program, "name": "S", "action": "switch_group",
		"target_group_id": s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "G"})).String("id"),
	}
	require.Equal(t, []any{}, s.Must(201, s.Post("/v1/flows", switching)).Body["warnings"])
}
