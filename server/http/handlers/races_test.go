package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/money/payout"
	"rail/server/money/payout/railtest"
	"rail/server/secret"
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

func statuses(answers []apitest.Answer, status int) (n int) {
	for _, a := range answers {
		if a.Status == status {
			n++
		}
	}
	return n
}

// ensure201 accepts a batch that already exists as created.
func ensure201(a apitest.Answer) apitest.Answer {
	if a.Status == 200 {
		a.Status = 201
	}
	return a
}

// TestReferralConvertsOnce: if several customers of one visit pay at once, one converts the
// referral.
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

// TestReferralOfOthersStays: deleting a customer does not change the referral of other customers of
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

// TestRaceR7MarkPaidSettlement races manual payments through two servers with the settlement of a
// payment rail: one wins. Stage G6 of the bar tests the other races of two servers. Its servers
// have no rail.
func TestRaceR7MarkPaidSettlement(t *testing.T) {
	t.Parallel()
	const rounds, callers = 12, 16
	servers := apitest.Processes(t, apitest.Real(t), 2)
	w := earner{servers[0].Server, servers[0].Program(M{"payout_methods": []string{"paypal"}})}
	w.s.Flow(w.program)
	keeper, err := secret.New(w.s.Config.SecretKey)
	require.NoError(t, err)
	memory := railtest.New()
	sender := payout.Sender{Pool: w.s.Pool, Keeper: keeper, Rails: []payout.Rail{memory}}
	for round := range rounds {
		partner := w.s.Partner(w.program)
		w.s.Must(200, w.s.Post("/v1/partners/"+partner, M{"payout_method": "paypal"}))
		sale := w.s.Sale(w.program, w.s.Customer(w.program, partner), M{"amount_minor": 10000}).String("id")
		commission := w.s.Get("/v1/commissions?program_id=" + w.program + "&sale_id=" + sale).Data()[0]["id"].(string)
		w.s.Must(201, ensure201(w.s.Post("/v1/payout_batches", M{
			"program_id": w.program, "period_end": clock.System{}.Now().String(),
		})))
		id := w.payouts("&partner_id=" + partner)[0].String("id")
		memory.End(id, payout.Status{State: payout.Settled})
		now := clock.System{}.Now().Days(int64(40 + round))
		runJobAt(t, w.s, "payouts-due", now)
		for _, a := range atOnce(callers, func(i int) apitest.Answer {
			if i%4 > 0 {
				return servers[i%2].Post("/v1/payouts/"+id+"/mark_paid", nil)
			}
			if err := sender.Run(t.Context(), railRun(w.s, now.Plus(time.Duration(i)*time.Minute))); err != nil {
				t.Error(err)
			}
			return apitest.Answer{}
		}) {
			require.Contains(t, []int{0, 200, 201, 400, 404, 409}, a.Status, "%s", a.Raw)
		}
		require.NoError(t, sender.Run(t.Context(), railRun(w.s, now.Plus(time.Hour))))
		require.Equal(t, "paid", w.payouts("&partner_id=" + partner)[0].String("status"))
		for kind, subject := range map[string]string{"payout.paid": id, "commission.paid": commission} {
			var n int
			require.NoError(t, w.s.Pool.QueryRow(t.Context(),
				"SELECT count(*) FROM events WHERE type = $1 AND subject_id = $2", kind, subject).Scan(&n))
			require.Equal(t, 1, n, kind)
		}
	}
	w.tallied(t)
}

// TestRetrievesTogether: many requests of two organizations retrieve objects by id at the same
// moment, and each gets the right object.
func TestRetrievesTogether(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	key := s.NewKey(s.NewOrg("Other"), true, "read")
	program := s.Program()
	tag := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "VIP"}))
	partner := s.PartnerObject(program)
	answers := atOnce(80, func(i int) apitest.Answer {
		path := []string{"/v1/tags/" + tag.String("id"), "/v1/partners/" + partner.String("id")}[i%2]
		if i%4 > 1 {
			return s.Do("GET", path, key, nil)
		}
		return s.Get(path)
	})
	for i, a := range answers {
		if i%4 > 1 {
			s.Refused(404, "resource_not_found", "", a)
			continue
		}
		s.Must(200, a)
		require.Equal(t, []apitest.Answer{tag, partner}[i%2].String("id"), a.String("id"))
	}
}
