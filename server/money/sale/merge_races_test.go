package sale_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/wait"
)

// TestRefundWaitsForMerge: a refund that waits for the customer's row finds the survivor after
// the merge.
func TestRefundWaitsForMerge(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	into, from := h.CreateCustomer(nil), h.CreateCustomer(nil)
	sale := h.Sell(from, "ch_1", h.Clock.Now().Time)
	lock, err := h.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), "SELECT FROM customers WHERE id = $1 FOR NO KEY UPDATE", from)
	require.NoError(t, err)
	answers := make(chan apitest.Answer, 2)
	for i, call := range []func() apitest.Answer{
		func() apitest.Answer { return h.Merge(into, from, nil) },
		func() apitest.Answer { return h.Post("/v1/sales/"+sale+"/refund", M{}) },
	} {
		go func() { answers <- call() }()
		wait.ForLocks(t, h.Pool, "", i+1)
	}
	require.NoError(t, lock.Rollback(t.Context()))
	for range 2 {
		h.Must(200, <-answers)
	}
	require.Zero(t, h.CommissionsOf(sale))
	got := h.Get("/v1/sales/" + sale)
	require.Equal(t, into, got.String("customer_id"))
	require.NotNil(t, got.Body["refunded_at"])
	apitest.Balanced(t, h.Server)
}

// TestMergesAtOnce: of four merges in a circle two succeed. The others find that the two customers
// are already one. None of them answers 404.
func TestMergesAtOnce(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	for round := range 5 {
		ids := []string{h.CreateCustomer(nil), h.CreateCustomer(nil), h.CreateCustomer(nil)}
		for i, id := range ids {
			h.Sell(id, fmt.Sprint("ch_", round, i), h.Clock.Now().Time)
		}
		a, b, c := ids[0], ids[1], ids[2]
		pairs := [][2]string{{a, b}, {b, a}, {b, c}, {c, a}}
		answers := apitest.AtOnce(len(pairs), func(i int) apitest.Answer { return h.Merge(pairs[i][0], pairs[i][1], nil) })
		require.Equal(t, 2, apitest.Count(answers, 200))
		for _, one := range answers {
			if one.Status != 200 {
				h.Refused(400, "parameter_invalid", "customer_id", one)
			}
		}
		left := h.Get("/v1/customers/" + a).String("id")
		for _, id := range ids {
			require.Equal(t, left, h.Must(200, h.Get("/v1/customers/"+id)).String("id"))
		}
		require.EqualValues(t, 3, h.Get("/v1/sales?program_id="+h.ProgramID+"&customer_id="+left).Int("total_count"))
	}
	apitest.Balanced(t, h.Server)
}

// TestWritesDuringMerges: sales, ids, a refund and a credit under both ids continue while the two
// customers are merged both ways. One first sale remains, and the books balance.
func TestWritesDuringMerges(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.bounty()
	now := h.Clock.Now().Time
	const rounds = 4
	for round := range rounds {
		two := []string{
			h.CreateCustomer(M{"external_customer_id": fmt.Sprint("A", round)}), h.CreateCustomer(M{"external_customer_id": fmt.Sprint("B", round)}),
		}
		sale := h.Sell(two[1], fmt.Sprint("old", round), now.AddDate(0, 0, -3))
		calls := []func() apitest.Answer{
			func() apitest.Answer { return h.Merge(two[0], two[1], nil) },
			func() apitest.Answer { return h.Merge(two[1], two[0], nil) },
			func() apitest.Answer { return h.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 100}) },
			func() apitest.Answer {
				return h.Post("/v1/customers/"+two[1]+"/credit", M{"partner_id": h.PartnerID, "since": now.AddDate(0, -1, 0)})
			},
		}
		for i := range 6 {
			calls = append(calls, func() apitest.Answer {
				return h.Post("/v1/sales", M{
					"program_id": h.ProgramID, "customer_id": two[i%2], "external_charge_id": fmt.Sprint("ch", round, "_", i),
					"amount_minor": 10000, "currency": "USD",
				})
			}, func() apitest.Answer {
				return h.Post("/v1/customers/"+two[i%2]+"/external_ids", M{"external_customer_id": fmt.Sprint("X", round, i%3)})
			})
		}
		refused := slices.DeleteFunc(apitest.AtOnce(len(calls), func(i int) apitest.Answer { return calls[i]() }),
			func(a apitest.Answer) bool { return a.Status < 300 })
		for _, a := range refused { // one merge, and ids that the other customer already had
			require.Contains(t, []string{"parameter_invalid", "customer_external_id_taken"}, a.Code(), "%s", a.Raw)
		}
	}
	apitest.Balanced(t, h.Server)
	firsts := map[string]int{}
	all := h.Get("/v1/sales?limit=100&program_id=" + h.ProgramID).Data()
	require.Len(t, all, rounds*7)
	for _, s := range all {
		if s["is_first_sale"] == true {
			firsts[s["customer_id"].(string)]++
		}
	}
	require.Len(t, firsts, rounds)
	for id, n := range firsts {
		require.Equal(t, 1, n, id)
	}
}
