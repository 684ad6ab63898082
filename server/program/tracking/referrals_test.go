package tracking_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestReferralStates: visit, lead, converted, each recorded once (decisions, 72).
func TestReferralStates(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{"handle": "ann"})
	click := s.Click(program, "ann")
	id := click.String("referral_id")
	status := func() string { return s.Must(200, s.Get("/v1/referrals/"+id)).String("status") }
	require.Equal(t, "visit", status())
	before := len(s.Events(program))
	s.Clock.Advance(time.Hour)
	customer := s.Must(201,
		s.Post("/v1/customers",
			M{"program_id": program, "click_id": click.String("id"), "email": "b@example.org"})).String("id")
	require.Equal(t, "lead", status())
	require.Equal(t, "2026-09-01T13:00:00.000Z", s.Get("/v1/referrals/"+id).String("updated_at"))
	second := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")})).String("id")
	require.Equal(t, id, s.Get("/v1/customers/"+second).String("referral_id"))
	sale := s.Sale(program, customer).String("id")
	require.Equal(t, "converted", status())
	s.Sale(program, customer)
	s.Sale(program, second)
	require.Equal(t, "converted", status())
	recorded := map[string][]any{}
	for _, e := range s.Events(program)[before:] {
		recorded[e.String("type")] = append(recorded[e.String("type")], e.Body["data"])
	}
	require.Equal(t,
		[]any{
			M{"referral_id": id, "customer_id": customer, "partner_id": partner, "email": "b@example.org", "tracked_by": "link"},
		}, recorded["referral.lead"])
	require.Equal(t, []any{M{"referral_id": id, "customer_id": customer, "partner_id": partner, "sale_id": sale}},
		recorded["referral.converted"])
}

func TestReferralList(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann, bob := s.Partner(program, M{"handle": "ann"}), s.Partner(program, M{"handle": "bob"})
	link := s.Must(201,
		s.Post("/v1/links",
			M{"program_id": program, "partner_id": ann, "destination_url": "https://shop.example/"})).String("id")
	var all, anns []string
	var last apitest.Answer
	for i := range 5 {
		s.Clock.Advance(time.Minute)
		last = s.Click(program, []string{"ann", "bob"}[i%2])
		all = slices.Insert(all, 0, last.String("referral_id"))
		if i%2 == 0 {
			anns = slices.Insert(anns, 0, last.String("referral_id"))
		}
	}
	base := "/v1/referrals?program_id=" + program
	apitest.PagedBothWays(t, s, base, all)
	apitest.PagedBothWays(t, s, base+"&partner_id="+ann, anns)
	customer := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": last.String("id")})).String("id")
	apitest.PagedBothWays(t, s, base+"&status=visit", all[1:])
	apitest.PagedBothWays(t, s, base+"&status=lead", all[:1])
	apitest.PagedBothWays(t, s, base+"&status=visit,lead", all)
	s.Sale(program, customer)
	require.EqualValues(t, 1, s.Get(base+"&status=converted").Int("total_count"))
	require.EqualValues(t, 0, s.Get(base+"&status=converted&partner_id="+bob).Int("total_count"))
	s.Refused(400, "parameter_invalid", "status", s.Get(base+"&status=visit,expired"))
	s.Refused(400, "invalid_expand", "expand[]", s.Get(base+"&expand=customer"))
	list := s.Must(200, s.Get(base+"&expand[]=partner&expand[]=link")).Data()
	require.Equal(t, ann, list[0]["partner"].(M)["id"])
	require.Equal(t, link, list[0]["link"].(M)["id"])
	require.Nil(t, list[1]["link"])
	stranger := apitest.On(t, s.DSN, s.Clock)
	stranger.Refused(404, "resource_not_found", "", stranger.Get("/v1/referrals/"+all[0]))
}

// visitors returns customers of one click, and its referral.
func visitors(s *apitest.Server, program, handle string, n int) (customers []string, referral string) {
	click := s.Click(program, handle)
	for range n {
		customers = append(customers,
			s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")})).String("id"))
	}
	return customers, click.String("referral_id")
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
		apitest.AtOnce(4, func(i int) apitest.Answer { return s.Sale(program, customers[i]) })
		require.Equal(t, round, apitest.Tally(s, program, "referral.converted"))
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
	require.Equal(t, 1, apitest.Tally(s, program, "referral.converted"))
}
