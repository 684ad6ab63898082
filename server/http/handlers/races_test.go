package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// visitors returns customers of one click, and its referral.
func visitors(s *apitest.Server, program, handle string, n int) (customers []string, referral string) {
	click := s.Click(program, handle)
	for range n {
		customers = append(customers,
			s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")})).String("id"))
	}
	return customers, click.String("referral_id")
}

func tally(s *apitest.Server, program, kind string) (n int) {
	for _, t := range s.EventTypes(program) {
		if t == kind {
			n++
		}
	}
	return n
}

// TestReferralConvertsOnce: of several customers of one visit that pay at once,
// one converts it.
func TestReferralConvertsOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Partner(program, M{"handle": "once"})
	for round := 1; round <= 5; round++ {
		customers, referral := visitors(s, program, "once", 4)
		atOnce(4, func(i int) apitest.Answer { return s.Sale(program, customers[i]) })
		require.Equal(t, round, tally(s, program, "referral.converted"))
		require.Equal(t, "converted", s.Get("/v1/referrals/"+referral).String("status"))
	}
}

// TestReferralOfOthersStays: a customer that goes takes nothing from those of
// the same visit.
func TestReferralOfOthersStays(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Partner(program, M{"handle": "shared"})
	status := func(referral string) string { return s.Get("/v1/referrals/" + referral).String("status") }
	customers, referral := visitors(s, program, "shared", 3)
	s.Must(200, s.Delete("/v1/customers/"+customers[0]))
	require.Equal(t, "lead", status(referral))
	s.Sale(program, customers[1])
	s.Must(200, s.Delete("/v1/customers/"+customers[2]))
	require.Equal(t, "converted", status(referral))
	alone, referral := visitors(s, program, "shared", 1)
	s.Must(200, s.Delete("/v1/customers/"+alone[0]))
	require.Equal(t, "visit", status(referral))
	require.Equal(t, 1, tally(s, program, "referral.converted"))
}

// TestPartnerDeletedUnderSales: a partner that is deleted while its customers
// pay leaves whole sales, and nobody sees a failure of the server.
func TestPartnerDeletedUnderSales(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	for range 3 {
		partner := s.Partner(program)
		var customers []string
		for range 6 {
			customers = append(customers, s.Customer(program, partner))
		}
		answers := atOnce(7, func(i int) apitest.Answer {
			if i == 6 {
				return s.Delete("/v1/partners/" + partner)
			}
			return s.Post("/v1/sales", apitest.SaleBody(program, customers[i]))
		})
		s.Must(200, answers[6])
		for _, a := range answers[:6] {
			require.Contains(t, []int{201, 404}, a.Status, "%s", a.Raw)
		}
		s.Must(404, s.Get("/v1/partners/"+partner))
	}
	var attributed int
	require.NoError(t,
		s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM sales WHERE partner_id IS NOT NULL").Scan(&attributed))
	require.Zero(t, attributed)
	require.EqualValues(t, 0, s.Get("/v1/commissions?program_id="+program).Int("total_count"))
}
