package handlers_test

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
	for _, e := range newEvents(s, program, before) {
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
	pagedBothWays(t, s, base, all)
	pagedBothWays(t, s, base+"&partner_id="+ann, anns)
	customer := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": last.String("id")})).String("id")
	pagedBothWays(t, s, base+"&status=visit", all[1:])
	pagedBothWays(t, s, base+"&status=lead", all[:1])
	pagedBothWays(t, s, base+"&status=visit,lead", all)
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
