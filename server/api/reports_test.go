package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/apitest"
	"rail/server/report"
)

func reported(s *apitest.Server, program, query string) apitest.Answer {
	s.T.Helper()
	return s.Must(200, s.Get("/v1/reports?program_id="+program+query))
}

// row returns the figures of a row: clicks, leads, customers, sales, refunded,
// revenue, commissions; nil where there is none.
func row(a apitest.Answer, key any) []string {
	rows, _ := a.Body["rows"].([]any)
	for _, r := range rows {
		if m := r.(M); m["key"] == key {
			return figuresOf(m)
		}
	}
	return nil
}

func figuresOf(m M) (out []string) {
	for _, name := range []string{"clicks", "leads", "customers", "sales", "refunded", "revenue_minor", "commissions_minor"} {
		out = append(out, fmt.Sprint(m[name]))
	}
	return out
}

func is(figures ...string) []string { return figures }

func sumReports(t *testing.T, s *apitest.Server) { t.Helper(); runJob(t, s, "sum-reports") }

// TestReportFigures: every dimension counts what decisions 141, 143 and 199 say.
func TestReportFigures(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "Creators"})).String("id")
	tag := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "Gold"})).String("id")
	ada := s.Partner(program, M{"handle": "ada", "group_id": group, "first_name": "Ada", "last_name": "Lovelace"})
	bob := s.Partner(program, M{"handle": "bob"})
	gone := s.Partner(program, M{"handle": "gone"})
	s.Must(200, s.Post("/v1/partners/"+ada, M{"tag_ids": []string{tag}}))
	s.Must(200, s.Post("/v1/partners/"+bob, M{"group_id": nil}))
	link := s.Must(201, s.Post("/v1/links", M{"program_id": program, "partner_id": ada, "destination_url": "https://shop.example", "value": "ada-spring", "label": "Spring"})).String("id")
	click := s.Click(program, "ada-spring")
	s.Click(program, "ada")
	s.Click(program, "bob")
	linked := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")})).String("id")
	bare := s.Customer(program, bob)
	lost := s.Customer(program, gone)
	yesterday := M{"occurred_at": "2026-08-31T23:59:59.999Z"}
	s.Sale(program, linked, M{"amount_minor": 10000, "product_id": "pro", "product_name": "Pro plan"})
	refunded := s.Sale(program, linked, M{"amount_minor": 2000, "product_id": "pro"})
	s.Must(200, s.Post("/v1/sales/"+refunded.String("id")+"/refund", nil))
	partly := s.Sale(program, bare, M{"amount_minor": 1000}, yesterday)
	s.Must(200, s.Post("/v1/sales/"+partly.String("id")+"/refund", M{"amount_minor": 400}))
	s.Sale(program, bare, M{"amount_minor": 700, "currency": "EUR"})
	s.Sale(program, lost, M{"amount_minor": 5000, "product_name": "Add-on"})
	s.Must(201, grant(s, program, bob, M{"amount_minor": 50}))
	s.Must(201, grant(s, program, bob, M{"amount_minor": -20}))
	s.Must(200, s.Delete("/v1/partners/"+gone))

	check := func(stage string) {
		a := reported(s, program, "")
		require.Equal(t, []any{"2025-09-01", "2026-09-01", "partner", "USD"}, []any{a.Body["from"], a.Body["to"], a.Body["dimension"], a.Body["currency"]}, stage)
		require.Equal(t, is("2", "1", "1", "2", "1", "10000", "2000"), row(a, ada), stage)
		require.Equal(t, is("1", "1", "1", "1", "0", "600", "150"), row(a, bob), stage)
		require.Equal(t, is("0", "0", "0", "1", "0", "5000", "0"), row(a, "direct"), stage)
		require.Equal(t, is("3", "2", "2", "4", "1", "15600", "2150"), figuresOf(a.Body["totals"].(M)), stage)
		rows := a.Body["rows"].([]any)
		require.Equal(t, []any{ada, "direct", bob}, []any{rows[0].(M)["key"], rows[1].(M)["key"], rows[2].(M)["key"]}, "by revenue")
		require.Equal(t, []any{"Ada Lovelace", "Direct"}, []any{rows[0].(M)["label"], rows[1].(M)["label"]})
		require.Equal(t, json.Number("5000"), rows[0].(M)["conversion_bps"], "one customer, two clicks")
		require.Equal(t, json.Number("5000"), rows[0].(M)["refund_bps"])
		require.Nil(t, rows[1].(M)["conversion_bps"])

		a = reported(s, program, "&dimension=link")
		require.Equal(t, is("1", "1", "1", "2", "1", "10000", "2000"), row(a, link), stage)
		require.Equal(t, is("2", "1", "1", "1", "0", "600", "150"), row(a, nil), "a partner's own, without a link")
		require.Equal(t, is("0", "0", "0", "1", "0", "5000", "0"), row(a, "direct"), stage)
		a = reported(s, program, "&dimension=group")
		require.Equal(t, is("2", "1", "1", "2", "1", "10000", "2000"), row(a, group), stage)
		require.Equal(t, is("1", "1", "1", "1", "0", "600", "150"), row(a, nil), stage)
		a = reported(s, program, "&dimension=tag")
		require.Equal(t, is("2", "1", "1", "2", "1", "10000", "2000"), row(a, tag), stage)
		require.Equal(t, is("3", "2", "2", "4", "1", "15600", "2150"), figuresOf(a.Body["totals"].(M)), stage)
		a = reported(s, program, "&dimension=product")
		require.Equal(t, is("<nil>", "<nil>", "1", "2", "1", "10000", "2000"), row(a, "pro"), stage)
		require.Equal(t, is("<nil>", "<nil>", "0", "1", "0", "5000", "0"), row(a, "Add-on"), "direct ones have their product")
		require.Equal(t, is("<nil>", "<nil>", "1", "1", "0", "600", "150"), row(a, nil), stage)
		require.Equal(t, "Pro plan", a.Body["rows"].([]any)[0].(M)["label"])
		a = reported(s, program, "&dimension=period&from=2026-08-30&to=2026-09-01")
		require.Len(t, a.Body["rows"], 3, "empty days too")
		require.Equal(t, is("0", "0", "1", "1", "0", "600", "120"), row(a, "2026-08-31"), "a commission counts on its sale's day")
		require.Equal(t, is("3", "2", "1", "3", "1", "15000", "2030"), row(a, "2026-09-01"), stage)
		require.Equal(t, is("0", "0", "0", "0", "0", "0", "0"), row(a, "2026-08-30"), stage)
		a = reported(s, program, "&currency=eur")
		require.Equal(t, is("1", "1", "1", "1", "0", "700", "140"), row(a, bob), "counts are of no currency")
		for _, filter := range []string{"&partner_id=" + ada, "&group_id=" + group, "&tag_id=" + tag} {
			for _, dimension := range []string{"partner", "link", "product", "group", "tag", "period"} {
				a = reported(s, program, "&dimension="+dimension+filter)
				require.Nil(t, row(a, "direct"), filter)
				require.Equal(t, json.Number("10000"), a.Body["totals"].(M)["revenue_minor"], "%s %s %s", stage, dimension, filter)
			}
		}
	}
	check("from the rows")
	s.Clock.Set(time.Date(2026, 9, 1, 23, 0, 0, 0, time.UTC))
	sumReports(t, s)
	check("yesterday summed")
	balanced(t, s)
}

func TestReportWindows(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	for at, amount := range map[string]int{
		"2026-08-01T00:00:00Z": 100, "2026-08-10T23:59:59.999Z": 200, "2026-07-31T23:59:59.999Z": 1000, "2026-07-22T00:00:00Z": 50, "2026-07-21T23:59:59Z": 7, "2026-08-11T00:00:00Z": 9,
	} {
		s.Sale(program, customer, M{"amount_minor": amount, "occurred_at": at})
	}
	a := reported(s, program, "&from=2026-08-01&to=2026-08-10")
	before := a.Body["previous_period"].(M)
	require.Equal(t, []any{"2026-07-22", "2026-07-31"}, []any{before["from"], before["to"]}, "as many days, right before")
	require.Equal(t, []any{json.Number("300"), json.Number("1050")}, []any{a.Body["totals"].(M)["revenue_minor"], before["totals"].(M)["revenue_minor"]})
	require.Equal(t, M{"absolute_minor": json.Number("-750"), "change_bps": json.Number("-7143")}, a.Body["delta"].(M)["revenue"])
	require.Equal(t, before["rows"], reported(s, program, "&from=2026-07-22&to=2026-07-31").Body["rows"])
	require.Equal(t, M{"field": "key", "filter_type": "partner_id", "value_prop": "key"}, a.Body["drill_down_config"])
	a = reported(s, program, "&from=2020-01-01&to=2020-01-02&compare=none&dimension=period")
	require.NotContains(t, a.Body, "previous_period")
	require.Nil(t, a.Body["delta"])
	require.Nil(t, a.Body["drill_down_config"])
	a = reported(s, program, "&from=2026-07-01&to=2026-07-21")
	require.Nil(t, a.Body["delta"].(M)["revenue"].(M)["change_bps"], "nothing before")

	keys := func(query string) (out []any) {
		for _, r := range reported(s, program, "&dimension=period&compare=none"+query).Body["rows"].([]any) {
			out = append(out, r.(M)["key"])
		}
		return out
	}
	require.Len(t, keys("&from=2026-08-01&to=2026-08-31"), 31)
	require.Equal(t, []any{"2026-07-27", "2026-08-03", "2026-08-10", "2026-08-17", "2026-08-24", "2026-08-31"}, keys("&from=2026-08-01&to=2026-09-01"), "weeks begin on Monday")
	require.Equal(t, []any{"2026-03-01", "2026-04-01", "2026-05-01", "2026-06-01", "2026-07-01", "2026-08-01", "2026-09-01"}, keys("&from=2026-03-02&to=2026-09-01"))
	require.Len(t, keys("&from=2026-03-02&to=2026-09-01&granularity=day"), 184)

	for query, param := range map[string]string{
		"&from=2026-08-02&to=2026-08-01": "from", "&from=2026-8-1": "from", "&to=2026-08-01T00:00:00Z": "to", "&to=1999-01-01": "to", "&dimension=day": "dimension",
		"&granularity=day": "granularity", "&dimension=period&granularity=year": "granularity", "&compare=last_year": "compare", "&currency=XXX": "currency", "&limit=5": "limit",
	} {
		code := "parameter_invalid"
		if param == "limit" {
			code = "parameter_unknown"
		}
		s.Refused(400, code, param, s.Get("/v1/reports?program_id="+program+query))
	}
	for _, param := range []string{"partner_id=part_none", "group_id=grp_none", "tag_id=tag_none"} {
		s.Refused(404, "resource_not_found", param[:len(param)-len("=xxxx_none")+map[byte]int{'p': 0, 'g': 1, 't': 1}[param[0]]], s.Get("/v1/reports?program_id="+program+"&"+param))
	}
}

// everyReport asks for every dimension, some windows and filters.
func everyReport(s *apitest.Server, program string, queries []string) (out []string) {
	for _, d := range []string{"partner", "link", "product", "group", "tag", "period", "period&granularity=month", "period&granularity=day"} {
		for _, q := range queries {
			out = append(out, d+q+"\n"+string(reported(s, program, "&dimension="+d+q).Raw))
		}
	}
	return out
}

// TestReportsAreExact: sums, marks and rows give the same answers, whatever was
// changed after a day was summed, and whatever part is summed again.
func TestReportsAreExact(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"holding_period_days": 0})
	s.Flow(program)
	rnd := rand.New(rand.NewPCG(7, 7))
	var partners, customers, sales []string
	live := 3
	any := func(of []string) string { return of[rnd.IntN(len(of))] }
	for i := range 4 {
		partners = append(partners, s.Partner(program, M{"handle": fmt.Sprintf("exact-%d", i)}))
		s.Must(201, s.Post("/v1/links", M{"program_id": program, "partner_id": partners[i], "destination_url": "https://shop.example", "value": fmt.Sprintf("link-%d", i)}))
	}
	act := func() {
		switch rnd.IntN(9) {
		case 0, 1:
			s.Click(program, fmt.Sprintf("exact-%d", rnd.IntN(live)))
		case 2:
			click := s.Click(program, fmt.Sprintf("link-%d", rnd.IntN(live)))
			customers = append(customers, s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")})).String("id"))
		case 3, 4, 5:
			if len(customers) > 0 {
				at := s.Clock.Now().Days(-int64(rnd.IntN(2) * rnd.IntN(60)))
				sales = append(sales, s.Sale(program, any(customers), M{"amount_minor": 100 + rnd.IntN(9999), "product_name": any([]string{"A", "B"}), "occurred_at": at.String()}).String("id"))
			}
		case 6:
			if len(sales) > 0 {
				a := s.Post("/v1/sales/"+any(sales)+"/refund", any2(rnd, nil, M{"amount_minor": 50}))
				require.Contains(t, []int{200, 400}, a.Status, "%s", a.Raw)
			}
		case 7:
			if len(customers) > 0 {
				s.Must(200, s.Post("/v1/customers/"+any(customers), M{"partner_id": any(partners[:3])}))
			}
		case 8:
			ks := s.Get("/v1/commissions?program_id=" + program + "&status=due&limit=100").Data()
			if len(ks) > 0 {
				s.Must(200, s.Post("/v1/commissions/"+ks[rnd.IntN(len(ks))]["id"].(string)+"/reject", M{"reason": "x"}))
			}
		}
	}
	queries := []string{"", "&from=2026-08-15&to=2026-11-03&compare=none", "&from=2026-07-01&to=2026-12-31&partner_id=" + partners[1]}
	unsummed := func(do func() []string) []string { // the answers without any sums
		tx, err := s.Pool.Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(t.Context()) //nolint:errcheck // nothing was changed
		_, err = s.Pool.Exec(t.Context(), "UPDATE report_spans SET program_id = 'hidden_' || program_id")
		require.NoError(t, err)
		out := do()
		_, err = s.Pool.Exec(t.Context(), "UPDATE report_spans SET program_id = substr(program_id, 8)")
		require.NoError(t, err)
		return out
	}
	for round := range 12 {
		for range 12 {
			act()
			s.Clock.Advance(time.Duration(rnd.IntN(16)) * time.Hour)
		}
		if round == 9 {
			s.Must(200, s.Delete("/v1/partners/"+partners[2]))
			partners[2] = partners[3]
			customers, live = nil, 2
		}
		marked := everyReport(s, program, queries)
		same(t, unsummed(func() []string { return everyReport(s, program, queries) }), marked, "round %d, before the sums", round)
		sumReports(t, s)
		same(t, marked, everyReport(s, program, queries), "round %d, after the sums", round)
		balanced(t, s)
	}
	var months, marks int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FILTER (WHERE span = 'month'), (SELECT count(*) FROM report_marks) FROM report_spans").Scan(&months, &marks))
	require.Greater(t, months, 0)
	require.Zero(t, marks)
}

// same fails the test at the first difference.
func same(t *testing.T, want, have []string, format string, args ...any) {
	t.Helper()
	for i := range want {
		require.Equal(t, want[i], have[i], fmt.Sprintf(format, args...))
	}
}

func any2(rnd *rand.Rand, a, b any) any {
	if rnd.IntN(2) == 0 {
		return a
	}
	return b
}

// TestReportsWhileSummed: sales of the past, sums by two replicas and reports at
// once; the last report counts everything.
func TestReportsWhileSummed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	s.Clock.Advance(40 * 24 * time.Hour)
	for range 5 {
		atOnce(16, func(i int) apitest.Answer {
			if i%4 == 3 {
				if err := report.Sum(t.Context(), s.Pool, s.Clock.Now()); err != nil {
					t.Error(err)
				}
				return apitest.Answer{}
			}
			return s.Sale(program, customer, M{"amount_minor": 100, "occurred_at": s.Clock.Now().Days(-int64(i)).String()})
		})
		sales := s.Get("/v1/sales?program_id=" + program + "&limit=1").Int("total_count")
		require.EqualValues(t, fmt.Sprint(sales*100), fmt.Sprint(reported(s, program, "&compare=none").Body["totals"].(M)["revenue_minor"]))
	}
	sumReports(t, s)
	balanced(t, s)
}
