package report_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/money/report"
)

func is(figures ...string) []string { return figures }

// figures checks the reports of a program. stage names the way they are computed.
type figures struct {
	*apitest.Server
	t                     *testing.T
	program               string
	ada, group, tag, link string // a partner with a group, a tag and a link
	bob                   string // a partner without any
}

func newFigures(t *testing.T) figures {
	t.Helper()
	s := apitest.New(t)
	w := figures{Server: s, t: t, program: s.Program()}
	s.Flow(w.program)
	w.group = s.Must(201, s.Post("/v1/groups", M{"program_id": w.program, "name": "Creators"})).String("id")
	w.tag = s.Must(201, s.Post("/v1/tags", M{"program_id": w.program, "name": "Gold"})).String("id")
	w.ada = s.Partner(w.program, M{"handle": "ada", "group_id": w.group, "first_name": "Ada", "last_name": "Lovelace"})
	w.bob = s.Partner(w.program, M{"handle": "bob"})
	s.Must(200, s.Post("/v1/partners/"+w.ada, M{"tag_ids": []string{w.tag}}))
	s.Must(200, s.Post("/v1/partners/"+w.bob, M{"group_id": nil}))
	w.link = s.Must(201,
		s.Post("/v1/links",
			M{
				"program_id": w.program, "partner_id": w.ada, "destination_url": "https://shop.example", "value": "ada-spring",
				"label": "Spring",
			})).String("id")
	return w
}

// sell records sales of ada, bob and a deleted partner today, and a sale of bob yesterday.
func (w figures) sell() {
	w.t.Helper()
	s, program := w.Server, w.program
	gone := s.Partner(program, M{"handle": "gone"})
	click := s.Click(program, "ada-spring")
	s.Click(program, "ada")
	s.Click(program, "bob")
	linked := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")})).String("id")
	bare := s.Customer(program, w.bob)
	lost := s.Customer(program, gone)
	yesterday := M{"occurred_at": "2026-08-31T23:59:59.999Z"}
	s.Sale(program, linked, M{"amount_minor": 10000, "product_id": "pro", "product_name": "Pro plan"})
	refunded := s.Sale(program, linked, M{"amount_minor": 2000, "product_id": "pro"})
	s.Must(200, s.Post("/v1/sales/"+refunded.String("id")+"/refund", nil))
	partly := s.Sale(program, bare, M{"amount_minor": 1000}, yesterday)
	s.Must(200, s.Post("/v1/sales/"+partly.String("id")+"/refund", M{"amount_minor": 400}))
	s.Sale(program, bare, M{"amount_minor": 700, "currency": "EUR"})
	s.Sale(program, lost, M{"amount_minor": 5000, "product_name": "Add-on"})
	s.Must(201, apitest.Grant(s, program, w.bob, M{"amount_minor": 50}))
	s.Must(201, apitest.Grant(s, program, w.bob, M{"amount_minor": -20}))
	s.Must(200, s.Delete("/v1/partners/"+gone))
}

func (w figures) byPartner(stage string) {
	w.t.Helper()
	a := w.Server.Reported(w.program, "")
	require.Equal(w.t, []any{"2025-09-01", "2026-09-01", "partner", "USD"},
		[]any{a.Body["from"], a.Body["to"], a.Body["dimension"], a.Body["currency"]}, stage)
	require.Equal(w.t, is("2", "1", "1", "2", "1", "10000", "2000"), apitest.ReportRow(a, w.ada), stage)
	require.Equal(w.t, is("1", "1", "1", "1", "0", "600", "150"), apitest.ReportRow(a, w.bob), stage)
	require.Equal(w.t, is("0", "0", "0", "1", "0", "5000", "0"), apitest.ReportRow(a, "direct"), stage)
	require.Equal(w.t, is("3", "2", "2", "4", "1", "15600", "2150"), apitest.Figures(a.Body["totals"].(M)), stage)
	rows := a.Body["rows"].([]any)
	require.Equal(w.t, []any{w.ada, "direct", w.bob}, []any{rows[0].(M)["key"], rows[1].(M)["key"], rows[2].(M)["key"]},
		"by revenue")
	require.Equal(w.t, []any{"Ada Lovelace", "Direct"}, []any{rows[0].(M)["label"], rows[1].(M)["label"]})
	require.Equal(w.t, json.Number("5000"), rows[0].(M)["conversion_bps"], "one customer, two clicks")
	require.Equal(w.t, json.Number("5000"), rows[0].(M)["refund_bps"])
	require.Nil(w.t, rows[1].(M)["conversion_bps"])
}

func (w figures) byLink(stage string) {
	w.t.Helper()
	a := w.Server.Reported(w.program, "&dimension=link")
	require.Equal(w.t, is("1", "1", "1", "2", "1", "10000", "2000"), apitest.ReportRow(a, w.link), stage)
	require.Equal(w.t, is("2", "1", "1", "1", "0", "600", "150"), apitest.ReportRow(a, nil), "a partner's own, without a link")
	require.Equal(w.t, is("0", "0", "0", "1", "0", "5000", "0"), apitest.ReportRow(a, "direct"), stage)
}

func (w figures) byGroupAndTag(stage string) {
	w.t.Helper()
	a := w.Server.Reported(w.program, "&dimension=group")
	require.Equal(w.t, is("2", "1", "1", "2", "1", "10000", "2000"), apitest.ReportRow(a, w.group), stage)
	require.Equal(w.t, is("1", "1", "1", "1", "0", "600", "150"), apitest.ReportRow(a, nil), stage)
	a = w.Server.Reported(w.program, "&dimension=tag")
	require.Equal(w.t, is("2", "1", "1", "2", "1", "10000", "2000"), apitest.ReportRow(a, w.tag), stage)
	require.Equal(w.t, is("3", "2", "2", "4", "1", "15600", "2150"), apitest.Figures(a.Body["totals"].(M)), stage)
}

func (w figures) byProduct(stage string) {
	w.t.Helper()
	a := w.Server.Reported(w.program, "&dimension=product")
	require.Equal(w.t, is("<nil>", "<nil>", "1", "2", "1", "10000", "2000"), apitest.ReportRow(a, "pro"), stage)
	require.Equal(w.t, is("<nil>", "<nil>", "0", "1", "0", "5000", "0"), apitest.ReportRow(a, "Add-on"),
		"direct ones have their product")
	require.Equal(w.t, is("<nil>", "<nil>", "1", "1", "0", "600", "150"), apitest.ReportRow(a, nil), stage)
	require.Equal(w.t, "Pro plan", a.Body["rows"].([]any)[0].(M)["label"])
}

func (w figures) byDay(stage string) {
	w.t.Helper()
	a := w.Server.Reported(w.program, "&dimension=period&from=2026-08-30&to=2026-09-01")
	require.Len(w.t, a.Body["rows"], 3, "empty days too")
	require.Equal(w.t, is("0", "0", "1", "1", "0", "600", "120"), apitest.ReportRow(a, "2026-08-31"),
		"a commission counts on its sale's day")
	require.Equal(w.t, is("3", "2", "1", "3", "1", "15000", "2030"), apitest.ReportRow(a, "2026-09-01"), stage)
	require.Equal(w.t, is("0", "0", "0", "0", "0", "0", "0"), apitest.ReportRow(a, "2026-08-30"), stage)
}

func (w figures) inEuros() {
	w.t.Helper()
	a := w.Server.Reported(w.program, "&currency=eur")
	require.Equal(w.t, is("1", "1", "1", "1", "0", "700", "140"), apitest.ReportRow(a, w.bob), "counts are of no currency")
}

// ofAda: each filter returns ada's figures, in every dimension.
func (w figures) ofAda(stage string) {
	w.t.Helper()
	for _, filter := range []string{"&partner_id=" + w.ada, "&group_id=" + w.group, "&tag_id=" + w.tag} {
		for _, dimension := range []string{"partner", "link", "product", "group", "tag", "period"} {
			a := w.Server.Reported(w.program, "&dimension="+dimension+filter)
			require.Nil(w.t, apitest.ReportRow(a, "direct"), filter)
			require.Equal(w.t, json.Number("10000"), a.Body["totals"].(M)["revenue_minor"], "%s %s %s", stage, dimension, filter)
		}
	}
}

func (w figures) check(stage string) {
	w.t.Helper()
	w.byPartner(stage)
	w.byLink(stage)
	w.byGroupAndTag(stage)
	w.byProduct(stage)
	w.byDay(stage)
	w.inEuros()
	w.ofAda(stage)
}

// TestReportFigures: every dimension counts as decisions 141, 143 and 199 specify.
func TestReportFigures(t *testing.T) {
	t.Parallel()
	w := newFigures(t)
	w.sell()
	w.check("from the rows")
	w.Clock.Set(time.Date(2026, 9, 1, 23, 0, 0, 0, time.UTC))
	apitest.SumReports(t, w.Server)
	w.check("yesterday summed")
	apitest.Balanced(t, w.Server)
}

func TestReportWindows(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	for at, amount := range map[string]int{
		"2026-08-01T00:00:00Z": 100, "2026-08-10T23:59:59.999Z": 200, "2026-07-31T23:59:59.999Z": 1000,
		"2026-07-22T00:00:00Z": 50, "2026-07-21T23:59:59Z": 7, "2026-08-11T00:00:00Z": 9,
	} {
		s.Sale(program, customer, M{"amount_minor": amount, "occurred_at": at})
	}
	a := s.Reported(program, "&from=2026-08-01&to=2026-08-10")
	before := a.Body["previous_period"].(M)
	require.Equal(t, []any{"2026-07-22", "2026-07-31"}, []any{before["from"], before["to"]}, "as many days, right before")
	require.Equal(t, []any{json.Number("300"), json.Number("1050")}, []any{
		a.Body["totals"].(M)["revenue_minor"], before["totals"].(M)["revenue_minor"],
	})
	require.Equal(t, M{"absolute_minor": json.Number("-750"), "change_bps": json.Number("-7143")},
		a.Body["delta"].(M)["revenue"])
	require.Equal(t, before["rows"], s.Reported(program, "&from=2026-07-22&to=2026-07-31").Body["rows"])
	require.Equal(t, M{"field": "key", "filter_type": "partner_id", "value_prop": "key"}, a.Body["drill_down_config"])
	a = s.Reported(program, "&from=2020-01-01&to=2020-01-02&compare=none&dimension=period")
	require.NotContains(t, a.Body, "previous_period")
	require.Nil(t, a.Body["delta"])
	require.Nil(t, a.Body["drill_down_config"])
	a = s.Reported(program, "&from=2026-07-01&to=2026-07-21")
	require.Nil(t, a.Body["delta"].(M)["revenue"].(M)["change_bps"], "nothing before")

	keys := func(query string) (out []any) {
		for _, r := range s.Reported(program, "&dimension=period&compare=none"+query).Body["rows"].([]any) {
			out = append(out, r.(M)["key"])
		}
		return out
	}
	require.Len(t, keys("&from=2026-08-01&to=2026-08-31"), 31)
	require.Equal(t, []any{"2026-07-27", "2026-08-03", "2026-08-10", "2026-08-17", "2026-08-24", "2026-08-31"},
		keys("&from=2026-08-01&to=2026-09-01"), "weeks begin on Monday")
	require.Equal(t,
		[]any{"2026-03-01", "2026-04-01", "2026-05-01", "2026-06-01", "2026-07-01", "2026-08-01", "2026-09-01"},
		keys("&from=2026-03-02&to=2026-09-01"))
	require.Len(t, keys("&from=2026-03-02&to=2026-09-01&granularity=day"), 184)

	for query, param := range map[string]string{
		"&from=2026-08-02&to=2026-08-01": "from", "&from=2026-8-1": "from", "&to=2026-08-01T00:00:00Z": "to",
		"&to=1999-01-01": "to", "&dimension=day": "dimension",
		"&granularity=day": "granularity", "&dimension=period&granularity=year": "granularity",
		"&compare=last_year": "compare", "&currency=XXX": "currency", "&limit=5": "limit",
		"&top=0": "top", "&top=1001": "top", "&top=5&dimension=period": "top",
		"&changes=0": "changes", "&changes=101": "changes", "&changes=5&dimension=period": "changes",
		"&changes=5&compare=none": "changes",
	} {
		code := "parameter_invalid"
		if param == "limit" {
			code = "parameter_unknown"
		}
		s.Refused(400, code, param, s.Get("/v1/reports?program_id="+program+query))
	}
	for _, param := range []string{"partner_id=part_none", "group_id=grp_none", "tag_id=tag_none"} {
		s.Refused(404, "resource_not_found",
			param[:len(param)-len("=xxxx_none")+map[byte]int{'p': 0, 'g': 1, 't': 1}[param[0]]],
			s.Get("/v1/reports?program_id="+program+"&"+param))
	}
}

// TestReportTop: top limits the rows to the first ones, with their figures in the previous period.
// The totals include all rows.
func TestReportTop(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	var partners []any
	for i, amounts := range [][2]int{{300, 7}, {200, 90}, {100, 80}} { // in August, in July
		partner := s.Partner(program, M{"handle": fmt.Sprintf("top-%d", i)})
		partners = append(partners, partner)
		customer := s.Customer(program, partner)
		s.Sale(program, customer, M{"amount_minor": amounts[0], "occurred_at": "2026-08-20T00:00:00Z"})
		s.Sale(program, customer, M{"amount_minor": amounts[1], "occurred_at": "2026-07-20T00:00:00Z"})
	}
	all := s.Reported(program, "&from=2026-08-01&to=2026-08-31")
	top := s.Reported(program, "&from=2026-08-01&to=2026-08-31&top=2")
	keys := func(rows any) (out []any) {
		for _, r := range rows.([]any) {
			out = append(out, r.(M)["key"])
		}
		return out
	}
	require.Equal(t, partners[:2], keys(top.Body["rows"]))
	require.Equal(t, []any{partners[1], partners[0]}, keys(top.Body["previous_period"].(M)["rows"]))
	require.Equal(t, []any{partners[1], partners[2], partners[0]}, keys(all.Body["previous_period"].(M)["rows"]))
	for _, a := range []apitest.Answer{all, top} {
		a.Body["rows"], a.Body["previous_period"].(M)["rows"] = nil, nil
	}
	require.Equal(t, all.Body, top.Body)
	require.Equal(t, json.Number("3"), top.Body["row_count"])
	require.Equal(t, keys(s.Reported(program, "&from=2026-08-01&to=2026-08-31").Body["rows"]),
		keys(s.Reported(program, "&from=2026-08-01&to=2026-08-31&top=1000").Body["rows"]))
}

// TestReportChanges: the largest changes first, also of partners without revenue in one of the periods, and whatever
// rows the report has.
func TestReportChanges(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	amounts := [][2]int{{300, 0}, {0, 310}, {50, 50}, {120, 100}} // in August, in July
	var partners []string
	for i, both := range amounts {
		partners = append(partners, s.Partner(program, M{"handle": fmt.Sprintf("p-%d", i), "first_name": fmt.Sprintf("P%d", i)}))
		customer := s.Customer(program, partners[i])
		for j, month := range []string{"08", "07"} {
			if both[j] > 0 {
				s.Sale(program, customer, M{"amount_minor": both[j], "occurred_at": "2026-" + month + "-20T00:00:00Z"})
			}
		}
	}
	change := func(i int) M {
		return M{
			"key": partners[i], "label": fmt.Sprintf("P%d", i), "revenue_minor": json.Number(fmt.Sprint(amounts[i][0])),
			"previous_revenue_minor": json.Number(fmt.Sprint(amounts[i][1])),
		}
	}
	const august = "&from=2026-08-01&to=2026-08-31&top=1"
	require.Equal(t, []any{change(1), change(0), change(3)}, s.Reported(program, august+"&changes=100").Body["changes"])
	require.Equal(t, []any{change(1)}, s.Reported(program, august+"&changes=1").Body["changes"])
	require.NotContains(t, s.Reported(program, august).Body, "changes")
}

// everyReport requests every dimension, and some windows and filters.
func everyReport(s *apitest.Server, program string, queries []string) (out []string) {
	for _, d := range []string{
		"partner", "link", "product", "group", "tag", "period", "period&granularity=month", "period&granularity=day",
	} {
		for _, q := range queries {
			out = append(out, d+q+"\n"+string(s.Reported(program, "&dimension="+d+q).Raw))
		}
	}
	return out
}

// bustle is a program with random activity, and its report requests.
type bustle struct {
	*apitest.Server
	t                          *testing.T
	program                    string
	rnd                        *rand.Rand
	partners, customers, sales []string
	live                       int // the number of partners that get clicks
	queries                    []string
}

func newBustle(t *testing.T) *bustle {
	t.Helper()
	s := apitest.New(t)
	w := &bustle{
		Server: s, t: t, program: s.Program(M{"holding_period_days": 0}), rnd: rand.New(rand.NewPCG(7, 7)), live: 3,
	}
	s.Flow(w.program)
	for i := range 4 {
		w.partners = append(w.partners, s.Partner(w.program, M{"handle": fmt.Sprintf("exact-%d", i)}))
		s.Must(201, s.Post("/v1/links", M{
			"program_id": w.program, "partner_id": w.partners[i], "destination_url": "https://shop.example",
			"value": fmt.Sprintf("link-%d", i),
		}))
	}
	w.queries = []string{
		"", "&from=2026-08-15&to=2026-11-03&compare=none", "&from=2026-07-01&to=2026-12-31&partner_id=" + w.partners[1],
	}
	return w
}

func (w *bustle) one(of []string) string { return of[w.rnd.IntN(len(of))] }

// act performs one random action, if the objects that it needs exist.
func (w *bustle) act() {
	w.t.Helper()
	switch w.rnd.IntN(9) {
	case 0, 1:
		w.Click(w.program, fmt.Sprintf("exact-%d", w.rnd.IntN(w.live)))
	case 2:
		click := w.Click(w.program, fmt.Sprintf("link-%d", w.rnd.IntN(w.live)))
		w.customers = append(w.customers,
			w.Must(201, w.Post("/v1/customers", M{"program_id": w.program, "click_id": click.String("id")})).String("id"))
	case 3, 4, 5:
		w.sell()
	case 6:
		w.refund()
	case 7:
		w.reassign()
	case 8:
		w.reject()
	}
}

// sell records a sale of now or of the past.
func (w *bustle) sell() {
	w.t.Helper()
	if len(w.customers) == 0 {
		return
	}
	at := w.Clock.Now().Days(-int64(w.rnd.IntN(2) * w.rnd.IntN(60)))
	sale := w.Sale(w.program, w.one(w.customers), M{
		"amount_minor": 100 + w.rnd.IntN(9999), "product_name": w.one([]string{"A", "B"}), "occurred_at": at.String(),
	})
	w.sales = append(w.sales, sale.String("id"))
}

// refund refunds a sale or a part of it, if enough is left.
func (w *bustle) refund() {
	w.t.Helper()
	if len(w.sales) > 0 {
		a := w.Post("/v1/sales/"+w.one(w.sales)+"/refund", any2(w.rnd, nil, M{"amount_minor": 50}))
		require.Contains(w.t, []int{200, 400}, a.Status, "%s", a.Raw)
	}
}

// reassign moves a customer to a partner.
func (w *bustle) reassign() {
	w.t.Helper()
	if len(w.customers) > 0 {
		w.Must(200, w.Post("/v1/customers/"+w.one(w.customers), M{"partner_id": w.one(w.partners[:3])}))
	}
}

// reject rejects a commission that is due.
func (w *bustle) reject() {
	w.t.Helper()
	ks := w.Get("/v1/commissions?program_id=" + w.program + "&status=due&limit=100").Data()
	if len(ks) > 0 {
		w.Must(200, w.Post("/v1/commissions/"+ks[w.rnd.IntN(len(ks))]["id"].(string)+"/reject", M{"reason": "x"}))
	}
}

// deletePartner deletes the third partner. The fourth takes its place.
func (w *bustle) deletePartner() {
	w.t.Helper()
	w.Must(200, w.Delete("/v1/partners/"+w.partners[2]))
	w.partners[2] = w.partners[3]
	w.customers, w.live = nil, 2
}

func (w *bustle) reports() []string {
	w.t.Helper()
	return everyReport(w.Server, w.program, w.queries)
}

// unsummed returns the reports computed without any sums.
func (w *bustle) unsummed() []string {
	w.t.Helper()
	_, err := w.Pool.Exec(w.t.Context(), "UPDATE report_spans SET program_id = 'hidden_' || program_id")
	require.NoError(w.t, err)
	out := w.reports()
	_, err = w.Pool.Exec(w.t.Context(), "UPDATE report_spans SET program_id = substr(program_id, 8)")
	require.NoError(w.t, err)
	return out
}

// TestReportsAreExact: sums, marks and rows give the same results, whatever changed after a day was
// summed, and whatever part is summed again.
func TestReportsAreExact(t *testing.T) {
	t.Parallel()
	w := newBustle(t)
	for round := range 12 {
		for range 12 {
			w.act()
			w.Clock.Advance(time.Duration(w.rnd.IntN(16)) * time.Hour)
		}
		if round == 9 {
			w.deletePartner()
		}
		if round%3 == 1 {
			zone := []string{"Australia/Sydney", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati"}[round/3]
			w.Must(200, w.Post("/v1/programs/"+w.program, M{"time_zone": zone}))
		}
		marked := w.reports()
		same(t, w.unsummed(), marked, "round %d, before the sums", round)
		apitest.SumReports(t, w.Server)
		same(t, marked, w.reports(), "round %d, after the sums", round)
		apitest.Balanced(t, w.Server)
	}
	var wide, marks int
	require.NoError(t,
		w.Pool.QueryRow(t.Context(),
			"SELECT count(*) FILTER (WHERE span = '16'), (SELECT count(*) FROM report_marks) FROM report_spans").Scan(&wide,
			&marks))
	require.Positive(t, wide)
	require.Zero(t, marks)
}

// same fails the test at the first difference.
func same(t *testing.T, want, have []string, format string, args ...any) {
	t.Helper()
	for i := range want {
		require.Equal(t, want[i], have[i], format, args)
	}
}

func any2(rnd *rand.Rand, a, b any) any {
	if rnd.IntN(2) == 0 {
		return a
	}
	return b
}

// TestReportsWhileSummed: sales in the past, sums by two replicas and reports run concurrently. The
// last report counts everything.
func TestReportsWhileSummed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	s.Clock.Advance(40 * 24 * time.Hour)
	for range 5 {
		apitest.AtOnce(16, func(i int) apitest.Answer {
			if i%4 == 3 {
				if err := report.Sum(t.Context(), s.Pool, s.Clock.Now()); err != nil {
					t.Error(err)
				}
				return apitest.Answer{}
			}
			return s.Sale(program, customer, M{"amount_minor": 100, "occurred_at": s.Clock.Now().Days(-int64(i)).String()})
		})
		sales := s.Get("/v1/sales?program_id=" + program + "&limit=1").Int("total_count")
		require.Equal(t, fmt.Sprint(sales*100),
			fmt.Sprint(s.Reported(program, "&compare=none").Body["totals"].(M)["revenue_minor"]))
	}
	apitest.SumReports(t, s)
	apitest.Balanced(t, s)
}

// TestReportBuckets: a report has at most 1100 rows by period, of any size. Other dimensions have
// one row per key.
func TestReportBuckets(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	path := "/v1/reports?program_id=" + program + "&to=2026-08-31&dimension="
	for query, rows := range map[string]int{
		"period&granularity=day&from=2023-08-28": 1100, "period&granularity=week&from=2005-08-08": 1100,
		"period&granularity=month&from=2000-01-01": 320, "period&from=2000-01-01": 320,
	} {
		require.Len(t, s.Must(200, s.Get(path+query)).Body["rows"], rows, query)
	}
	for _, query := range []string{
		"period&granularity=day&from=2023-08-27", "period&granularity=week&from=2005-08-07",
		"period&granularity=day&from=2000-01-01",
	} {
		s.Refused(400, "range_too_large", "from", s.Get(path+query))
	}
	require.Empty(t, s.Must(200, s.Get(path+"partner&from=2000-01-01")).Body["rows"])
	s.Must(200, s.Get("/v1/reports?program_id="+program+"&dimension=period&from=2000-01-01&to=2091-08-31")) // 1100 months
	s.Refused(400, "range_too_large", "from",
		s.Get("/v1/reports?program_id="+program+"&dimension=period&from=2000-01-01&to=2091-09-01"))
}
