package report_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/money/report"
)

// sources is a program with clicks of several origins.
type sources struct {
	*apitest.Server
	t        *testing.T
	program  string
	ada, bob string
}

func newSources(t *testing.T) sources {
	t.Helper()
	s := apitest.New(t)
	w := sources{Server: s, t: t, program: s.Program()}
	s.Flow(w.program)
	w.ada, w.bob = s.Partner(w.program, M{"handle": "ada"}), s.Partner(w.program, M{"handle": "bob"})
	return w
}

// click records a click of a partner with the query of its landing page, and further members.
func (w sources) click(handle, utm string, more ...M) string {
	w.t.Helper()
	with := M{"landing_url": "https://shop.example/?ref=" + handle + "&" + utm}
	for _, m := range more {
		maps.Copy(with, m)
	}
	return w.Click(w.program, handle, with).String("id")
}

// by reads the report by a dimension.
func (w sources) by(dimension report.By, query string) apitest.Answer {
	w.t.Helper()
	return w.Reported(w.program, "&dimension="+string(dimension)+query)
}

// row returns the figures of a row.
func (w sources) row(dimension report.By, key, query string) []string {
	w.t.Helper()
	return apitest.ReportRow(w.by(dimension, query), key)
}

// hidden reads with the sums hidden, so that all figures come from rows.
func (w sources) hidden(read func()) {
	w.t.Helper()
	_, err := w.Pool.Exec(w.t.Context(), "UPDATE report_spans SET program_id = 'hidden ' || program_id")
	require.NoError(w.t, err)
	read()
	_, err = w.Pool.Exec(w.t.Context(), "UPDATE report_spans SET program_id = substr(program_id, 8)")
	require.NoError(w.t, err)
}

// TestReportsByOrigin: clicks have their own origin, everything else that of the customer's click (decisions, 316).
func TestReportsByOrigin(t *testing.T) {
	t.Parallel()
	w := newSources(t)
	mail := w.click("ada", "utm_source=%20NewsLetter&utm_medium=email&utm_campaign=Spring+Sale",
		M{"referer": "https://Blog.Example:443/post", "country": "de", "device": "mobile"})
	w.click("ada", "utm_source=newsletter")
	w.click("bob", "utm_source=ads", M{"referer": "not an address"})
	customer := w.Must(201, w.Post("/v1/customers", M{"program_id": w.program, "click_id": mail})).String("id")
	w.Sale(w.program, customer, M{"amount_minor": 10000})
	refunded := w.Sale(w.program, customer, M{"amount_minor": 500})
	w.Must(200, w.Post("/v1/sales/"+refunded.String("id")+"/refund", nil))
	named := w.Customer(w.program, w.bob)
	w.Sale(w.program, named, M{"amount_minor": 1000})
	check := func() {
		for dimension, key := range map[report.By]string{
			report.Medium: "email", report.Campaign: "spring sale", report.Referrer: "blog.example", report.Country: "DE",
			report.Device: "mobile",
		} {
			require.Equal(t, is("1", "1", "1", "2", "1", "10000", "2000"), w.row(dimension, key, ""), dimension)
			require.Equal(t, is("2", "1", "1", "1", "0", "1000", "200"), w.row(dimension, "none", ""), dimension)
		}
		require.Equal(t, is("2", "1", "1", "2", "1", "10000", "2000"), w.row(report.Source, "newsletter", ""))
		require.Equal(t, is("1", "0", "0", "0", "0", "0", "0"), w.row(report.Source, "ads", ""))
		require.Equal(t, is("0", "1", "1", "1", "0", "1000", "200"), w.row(report.Source, "none", ""))
		require.Equal(t, is("3", "1", "1", "2", "1", "10000", "2000"), w.row(report.TrackedBy, "link", ""))
		require.Equal(t, is("0", "1", "1", "1", "0", "1000", "200"), w.row(report.TrackedBy, "api", ""))

		// Filters by the sums, and across them.
		require.Equal(t, is("2", "1", "1", "2", "1", "10000", "2000"), w.row(report.Partner, w.ada, "&source=NEWSLETTER"))
		require.Nil(t, w.row(report.Partner, w.bob, "&source=newsletter"))
		require.Equal(t, is("0", "1", "1", "1", "0", "1000", "200"), w.row(report.Partner, w.bob, "&source=none"))
		require.Equal(t, is("1", "1", "1", "2", "1", "10000", "2000"), w.row(report.Campaign, "spring sale", "&source=newsletter"))
		require.Equal(t, is("1", "0", "0", "0", "0", "0", "0"), w.row(report.Campaign, "none", "&source=newsletter"))
		require.Equal(t, is("1", "1", "1", "2", "1", "10000", "2000"),
			w.row(report.Source, "newsletter", "&country=de&referrer="+url.QueryEscape("https://blog.example/x")))
		require.Equal(t, is("2", "1", "1", "2", "1", "10000", "2000"),
			apitest.Figures(w.by(report.Period, "&source=newsletter").Body["totals"].(M)))
		require.Equal(t, is("2", "1", "1", "2", "1", "10000", "2000"), w.row(report.Source, "newsletter", "&partner_id="+w.ada))
		require.Nil(t, w.row(report.Source, "newsletter", "&partner_id="+w.bob))
	}
	check()
	w.Clock.Advance(72 * time.Hour)
	apitest.SumReports(t, w.Server)
	check()
	w.hidden(check)

	a := w.by(report.Country, "")
	require.Equal(t, M{"field": "key", "filter_type": "country", "value_prop": "key"}, a.Body["drill_down_config"])
	labels := map[any]any{}
	for _, r := range a.Body["rows"].([]any) {
		labels[r.(M)["key"]] = r.(M)["label"]
	}
	require.Equal(t, map[any]any{"DE": "Germany", "none": "None"}, labels)
	require.Contains(t, string(w.Must(200, w.Get("/v1/reports?format=csv&dimension=source&program_id="+w.program)).Raw), "newsletter,newsletter,2,1,1")
	for name, value := range map[string]string{"source": "%20", "country": "DEU", "tracked_by": "moon", "referrer": "%21", "medium": ""} {
		w.Refused(400, "parameter_invalid", name, w.Get("/v1/reports?program_id="+w.program+"&"+name+"="+value))
	}
	// A customer assigned by hand has no click, and no origin.
	w.Must(200, w.Post("/v1/customers/"+customer, M{"partner_id": w.bob}))
	require.Equal(t, is("2", "0", "0", "0", "0", "0", "0"), w.row(report.Source, "newsletter", ""))
	require.Equal(t, "2", w.row(report.Source, "none", "")[2])
	apitest.SumReports(t, w.Server)
	require.Equal(t, is("2", "0", "0", "0", "0", "0", "0"), w.row(report.Source, "newsletter", ""))
	apitest.Balanced(t, w.Server)
}

// TestPaidBySource: a paid commission counts on the day of the payment, under the source of its customer.
func TestPaidBySource(t *testing.T) {
	t.Parallel()
	e := apitest.NewEarner(t)
	w := sources{Server: e.Server, t: t, program: e.ProgramID}
	w.ada = w.Partner(w.program, M{"handle": "ada"})
	click := w.click("ada", "utm_source=newsletter")
	w.Sale(w.program, w.Must(201, w.Post("/v1/customers", M{"program_id": w.program, "click_id": click})).String("id"),
		M{"amount_minor": 10000})
	e.Batch(201)
	w.Clock.Advance(10 * 24 * time.Hour)
	payout := e.Payouts("")[0].String("id")
	paid := func() (sum string) {
		sum = "absent"
		for _, r := range w.by(report.Source, "").Body["rows"].([]any) {
			if r.(M)["key"] == "newsletter" {
				sum = fmt.Sprint(r.(M)["paid_minor"])
			}
		}
		return sum
	}
	require.Equal(t, "0", paid())
	// Paid some days ago, which are summed.
	apitest.SumReports(t, w.Server)
	at := w.Clock.Now().Add(-5 * 24 * time.Hour).Format(time.RFC3339)
	w.Must(200, w.Post("/v1/payouts/"+payout+"/mark_paid", M{"paid_at": at, "method": "paypal"}))
	require.Equal(t, "2000", paid())
	apitest.SumReports(t, w.Server)
	require.Equal(t, "2000", paid())
	w.Must(200, w.Post("/v1/payouts/"+payout+"/undo_paid", M{"reason": "not sent"}))
	require.Equal(t, "0", paid())
	apitest.SumReports(t, w.Server)
	require.Equal(t, "0", paid())
	apitest.Balanced(t, w.Server)
}

// reading is everything that reports tell by origin, and the cohorts.
func (w sources) reading() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	read := func(at string) {
		a := w.Must(200, w.Get(at))
		raw, err := json.Marshal([]any{a.Body["rows"], a.Body["totals"]})
		require.NoError(w.t, err)
		out[at] = string(raw)
	}
	for _, dimension := range report.Origins {
		for _, filter := range []string{"", "&attribution=partners", "&attribution=direct", "&partner_id=" + w.ada, "&source=s1"} {
			read(fmt.Sprintf("/v1/reports?program_id=%s&compare=none&from=2026-03-01&dimension=%s%s", w.program, dimension, filter))
		}
	}
	for _, filter := range []string{"", "&attribution=partners", "&attribution=direct", "&partner_id=" + w.ada} {
		read("/v1/reports/cohorts?program_id=" + w.program + filter)
	}
	return out
}

// TestOriginsOfHistories: after sales, refunds, merges, reassignments, deletions and changes of the zone in any order,
// sums and rows are equal.
func TestOriginsOfHistories(t *testing.T) {
	t.Parallel()
	w, rnd := newSources(t), rand.New(rand.NewPCG(31, 6))
	var customers, sales []string
	handles := []string{"ada", "bob"}
	any := func(from []string) string { return from[rnd.IntN(len(from))] }
	some := func() { // a click, a customer and a sale, which may be dated earlier
		click := w.click(any(handles), fmt.Sprintf("utm_source=s%d&utm_campaign=c%d", rnd.IntN(3), rnd.IntN(4)))
		body := M{"program_id": w.program, "click_id": click}
		if rnd.IntN(3) == 0 {
			body = M{"program_id": w.program, "partner_id": w.ada}
		}
		customers = append(customers, w.Must(201, w.Post("/v1/customers", body)).String("id"))
	}
	sell := func() {
		at := w.Clock.Now().Add(-time.Duration(rnd.IntN(60*24)) * time.Hour).Format(time.RFC3339)
		a := w.Post("/v1/sales", M{
			"program_id": w.program, "customer_id": any(customers), "amount_minor": 100 + rnd.IntN(900), "occurred_at": at,
			"currency": "USD", "external_charge_id": apitest.Unique("ch_"),
		})
		if a.Status == 404 { // it was deleted, under this id or another
			return
		}
		sales = append(sales, w.Must(201, a).String("id"))
	}
	for range 4 {
		some()
		sell()
	}
	for step := range 70 {
		switch n := rnd.IntN(12); {
		case n < 2:
			some()
		case n < 6:
			sell()
		case n == 6:
			w.Post("/v1/sales/"+any(sales)+"/refund", M{})
		case n == 7 && len(customers) > 3:
			w.Post("/v1/customers/"+any(customers)+"/merge", M{"customer_id": any(customers), "partner_id": w.ada})
		case n == 8:
			w.Post("/v1/customers/"+any(customers), M{"partner_id": []string{w.ada, w.bob}[rnd.IntN(2)]})
		case n == 9 && len(customers) > 4 && rnd.IntN(2) == 0:
			w.Delete("/v1/customers/" + any(customers))
			customers = slices.DeleteFunc(customers, func(id string) bool {
				return w.Get("/v1/customers/"+id).Status != 200 // with its merged customers
			})
		case n == 10:
			w.Clock.Advance(time.Duration(1+rnd.IntN(60)) * time.Hour)
		case n == 11:
			apitest.SumReports(t, w.Server)
		}
		if step == 40 {
			w.Must(200, w.Post("/v1/programs/"+w.program, M{"time_zone": "Australia/Sydney"}))
		}
		if step == 55 {
			w.Must(200, w.Delete("/v1/partners/"+w.bob))
			handles = handles[:1]
		}
		if step%14 == 13 {
			have := w.reading()
			w.hidden(func() { require.Equal(t, w.reading(), have, "step %d", step) })
		}
	}
	w.Clock.Advance(72 * time.Hour)
	apitest.SumReports(t, w.Server)
	have := w.reading()
	w.hidden(func() { require.Equal(t, w.reading(), have) })
	apitest.Balanced(t, w.Server)
}

// TestCohorts counts customers by the month of their first sale.
func TestCohorts(t *testing.T) {
	t.Parallel()
	w := newSources(t)
	one, two := w.Customer(w.program, w.ada), w.Customer(w.program, w.bob)
	for _, sale := range []struct {
		customer, at string
		amount       int
	}{
		{one, "2026-06-30T12:00:00Z", 100}, {one, "2026-06-30T13:00:00Z", 50}, {two, "2026-06-01T00:00:00Z", 1000},
		{one, "2026-08-20T00:00:00Z", 7}, {one, "2026-08-03T00:00:00Z", 5}, {two, "2026-08-31T23:59:00Z", 1},
	} {
		w.Must(201, w.Sale(w.program, sale.customer, M{"amount_minor": sale.amount, "occurred_at": sale.at}))
	}
	check := func() {
		a := w.Must(200, w.Get("/v1/reports/cohorts?months=4&program_id="+w.program))
		require.Equal(t, []any{"2026-06-01", "USD"}, []any{a.Body["from"], a.Body["currency"]})
		var got []string
		for _, r := range a.Body["rows"].([]any) {
			m := r.(M)
			got = append(got, fmt.Sprint(m["cohort"], " ", m["months_since"], " ", m["customers"], " ", m["sales"], " ", m["revenue_minor"], " ",
				m["retention_bps"]))
		}
		require.Equal(t, []string{
			"2026-06-01 0 2 3 1150 10000", "2026-06-01 1 0 0 0 0", "2026-06-01 2 2 3 13 10000", "2026-06-01 3 0 0 0 0",
		}, got)
		a = w.Must(200, w.Get("/v1/reports/cohorts?months=4&partner_id="+w.bob+"&program_id="+w.program))
		require.Equal(t, "1", fmt.Sprint(a.Body["rows"].([]any)[2].(M)["customers"]))
	}
	check()
	w.Clock.Advance(48 * time.Hour)
	apitest.SumReports(t, w.Server)
	check()
	// An earlier sale of the month becomes the first one, also of a day that is summed.
	w.Must(201, w.Sale(w.program, one, M{"amount_minor": 3, "occurred_at": "2026-08-02T00:00:00Z"}))
	a := w.Must(200, w.Get("/v1/reports/cohorts?months=4&program_id="+w.program))
	require.Equal(t, "2", fmt.Sprint(a.Body["rows"].([]any)[2].(M)["customers"]))
	apitest.SumReports(t, w.Server)
	a = w.Must(200, w.Get("/v1/reports/cohorts?months=4&program_id="+w.program))
	require.Equal(t, "2", fmt.Sprint(a.Body["rows"].([]any)[2].(M)["customers"]))
	at := "/v1/reports/cohorts?program_id=" + w.program
	require.Contains(t, string(w.Must(200, w.Get(at+"&format=csv")).Raw), "cohort,month,months_since,customers,sales")
	w.Refused(400, "parameter_invalid", "months", w.Get(at+"&months=25"))
	w.Refused(400, "parameter_invalid", "attribution", w.Get(at+"&attribution=direct&partner_id="+w.ada))
	apitest.Balanced(t, w.Server)
}
