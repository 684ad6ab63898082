package handlers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestBalanceList(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	partners := []string{s.Partner(program), s.Partner(program)}
	slices.Sort(partners)
	idle := s.Partner(program)
	bal := func(partner, currency string) string {
		return "bal_" + strings.TrimPrefix(partner, "part_") + "_" + currency
	}
	for _, partner := range []string{partners[1], partners[0]} {
		customer := s.Customer(program, partner)
		for _, currency := range []string{"USD", "GBP", "EUR", "USD"} {
			s.Sale(program, customer, M{"currency": currency})
		}
	}
	a, b := partners[0], partners[1]
	base := "/v1/balances?program_id=" + program
	apitest.PagedBothWays(t, s, base, []string{
		bal(a, "eur"), bal(a, "gbp"), bal(a, "usd"), bal(b, "eur"), bal(b, "gbp"), bal(b, "usd"),
	})
	apitest.PagedBothWays(t, s, base+"&partner_id="+b, []string{bal(b, "eur"), bal(b, "gbp"), bal(b, "usd")})
	apitest.PagedBothWays(t, s, base+"&currency=usd", []string{bal(a, "usd"), bal(b, "usd")})
	apitest.PagedBothWays(t, s, base+"&currency=USD&partner_id="+a, []string{bal(a, "usd")})
	require.EqualValues(t, 0, s.Get(base+"&partner_id="+idle).Int("total_count"), "none before the first commission")
	s.Refused(400, "parameter_invalid", "currency", s.Get(base+"&currency=XXX"))
	s.Refused(400, "invalid_cursor", "starting_after", s.Get(base+"&starting_after="+bal(idle, "usd")))
	s.Refused(400, "invalid_cursor", "starting_after", s.Get(base+"&currency=usd&starting_after="+bal(a, "eur")))
	s.Refused(400, "invalid_expand", "expand[]", s.Get(base+"&expand=program"))

	one := s.Must(200, s.Get("/v1/balances/"+bal(a, "usd")))
	for name, want := range map[string]int64{"pending_minor": 0, "due_minor": 2000, "paid_minor": 0} {
		require.Equal(t, want, one.Int(name), name)
		delete(one.Body, name)
	}
	require.Equal(t, M{
		"id": bal(a, "usd"), "object": "balance", "program_id": program, "partner_id": a, "currency": "USD",
		"updated_at": "2026-09-01T12:00:00.000Z",
	}, one.Body)
	require.Equal(t, a, s.Must(200, s.Get("/v1/balances/"+bal(a, "usd")+"?expand=partner")).Body["partner"].(M)["id"])
	for _, row := range s.Must(200, s.Get(base+"&expand=partner")).Data() {
		require.Equal(t, row["partner_id"], row["partner"].(M)["id"])
	}
	s.Refused(404, "resource_not_found", "", s.Get("/v1/balances/"+bal(idle, "usd")))
	s.Refused(404, "resource_not_found", "", s.Get("/v1/balances/"+bal(a, "jpy")))
	stranger := apitest.On(t, s.DSN, s.Clock)
	stranger.Refused(404, "resource_not_found", "", stranger.Get("/v1/balances/"+bal(a, "usd")))
}
