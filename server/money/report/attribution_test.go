package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/money/report"
)

// TestAttribution checks that the figures of partners and the direct ones add up to all, by every dimension.
func TestAttribution(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	ada, bob, gone := s.Partner(program), s.Partner(program), s.Partner(program)
	for _, of := range []string{ada, bob, gone} {
		customer := s.Customer(program, of)
		for range 2 {
			s.Sale(program, customer, apitest.M{"amount_minor": 1000, "product_id": "pro"})
			s.Clock.Advance(40 * time.Hour)
		}
	}
	s.Must(200, s.Delete("/v1/partners/"+gone)) // its sales stay, without a partner
	figures := []string{"customers", "leads", "sales", "revenue_minor", "commissions_minor"}
	read := func(dimension, attribution string) (totals map[string]int64, rows map[string]int64) {
		a := s.Must(200, s.Get("/v1/reports?program_id="+program+"&dimension="+dimension+"&attribution="+attribution))
		totals, rows = map[string]int64{}, map[string]int64{}
		for _, name := range figures {
			totals[name] = apitest.Answer{Body: a.Body["totals"].(apitest.M)}.Int(name)
		}
		for _, r := range a.Body["rows"].([]any) {
			row := apitest.Answer{Body: r.(apitest.M)}
			key, _ := row.Body["key"].(string)
			rows[key] += row.Int("revenue_minor")
		}
		return totals, rows
	}
	for _, summed := range []bool{false, true} {
		if summed {
			s.Clock.Advance(72 * time.Hour)
			require.NoError(t, report.Sum(t.Context(), s.Pool, s.Clock.Now()))
		}
		for _, dimension := range []string{"period", "partner", "product", "link", "group", "tag"} {
			all, allRows := read(dimension, "all")
			partners, partnerRows := read(dimension, "partners")
			direct, directRows := read(dimension, "direct")
			require.Equal(t, []int64{6000, 4000, 2000},
				[]int64{all["revenue_minor"], partners["revenue_minor"], direct["revenue_minor"]}, dimension)
			require.Equal(t, []int64{800, 0}, []int64{partners["commissions_minor"], direct["commissions_minor"]}, dimension)
			for _, name := range figures {
				require.Equal(t, all[name], partners[name]+direct[name], "%s of %s", name, dimension)
			}
			for key, sum := range allRows {
				require.Equal(t, sum, partnerRows[key]+directRows[key], "%s of %s", key, dimension)
			}
			require.NotContains(t, partnerRows, "direct")
		}
	}
	at := "/v1/reports?program_id=" + program + "&attribution="
	s.Refused(400, "parameter_invalid", "attribution", s.Get(at+"direct&partner_id="+ada))
	s.Refused(400, "parameter_invalid", "attribution", s.Get(at+"nobody"))
	require.EqualValues(t, 2000, apitest.Answer{
		Body: s.Must(200, s.Get(at+"partners&partner_id="+ada)).Body["totals"].(apitest.M)}.Int("revenue_minor"))
}
