package handlers_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// itemStatuses returns the status of each item in a batch's response.
func itemStatuses(t *testing.T, a apitest.Answer) (out []int) {
	t.Helper()
	require.Equal(t, "batch_result", a.String("object"))
	for i, d := range a.Data() {
		require.EqualValues(t, i, apitest.Answer{Body: d}.Int("index"))
		out = append(out, int(apitest.Answer{Body: d}.Int("status")))
	}
	return out
}

// refusal returns the code and the parameter of a refused item.
func refusal(a apitest.Answer, i int) [2]string {
	item := apitest.Answer{Body: a.Data()[i]}
	return [2]string{item.Code(), item.Param()}
}

// TestSaleBatch: a batch treats each item as a single call, in order, and returns each result.
func TestSaleBatch(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	customer, other := s.Customer(program, partner), s.Customer(program, partner)
	s.Flow(program)
	stored := s.Sale(program, customer, M{"external_charge_id": "ch_known", "amount_minor": 700})
	sale := func(of, charge string) M {
		return M{"customer_id": of, "external_charge_id": charge, "amount_minor": 1000, "currency": "USD"}
	}
	newcomer := M{
		"external_customer_id": "cus_new", "partner_id": partner, "external_charge_id": "ch_3", "amount_minor": 1000,
		"currency": "USD",
	}
	again := M{"external_customer_id": "cus_new", "external_charge_id": "ch_4", "amount_minor": 1000, "currency": "USD"}
	a := s.Must(200, s.Post("/v1/sales/batch", M{"program_id": program, "items": []any{
		sale(other, "ch_1"),
		sale(other, "ch_2"),
		newcomer,
		again,
		sale(other, "ch_1"),
		sale(other, "ch_known"),
		sale("cus_00000000000000000000000000", "ch_5"),
		M{"customer_id": other, "external_charge_id": "ch_6", "amount_minor": "10", "currency": "USD"},
		M{"customer_id": other, "external_charge_id": "ch_7", "amount_minor": 1000, "currency": "USD", "emial": 1},
		"nothing",
		M{"customer_id": other, "amount_minor": 1000, "currency": "USD"},
		sale(other, "ch_8"),
		nil,
	}}))
	require.Equal(t, []int{201, 201, 201, 201, 200, 200, 404, 400, 400, 400, 400, 201, 400}, itemStatuses(t, a))
	require.EqualValues(t, 7, a.Int("succeeded"))
	require.EqualValues(t, 6, a.Int("failed"))
	require.Equal(t, [2]string{"resource_not_found", "customer_id"}, refusal(a, 6))
	require.Equal(t, [2]string{"parameter_invalid", "amount_minor"}, refusal(a, 7))
	require.Equal(t, [2]string{"parameter_unknown", "emial"}, refusal(a, 8))
	require.Equal(t, [2]string{"invalid_json", ""}, refusal(a, 9))
	require.Equal(t, [2]string{"parameter_missing", "external_charge_id"}, refusal(a, 10))
	require.Equal(t, [2]string{"invalid_json", ""}, refusal(a, 12))
	result := func(i int) M { return a.Data()[i]["result"].(M) }
	require.Equal(t, true, result(0)["is_first_sale"], "the first item is the customer's first sale")
	require.Equal(t, false, result(1)["is_first_sale"])
	require.Equal(t, true, result(2)["is_first_sale"])
	require.Equal(t, false, result(3)["is_first_sale"])
	require.Equal(t, result(2)["customer_id"], result(3)["customer_id"], "one new customer")
	require.Equal(t, result(0)["id"], result(4)["id"], "a charge twice in a batch is one sale")
	require.Equal(t, stored.String("id"), result(5)["id"])
	require.NotEmpty(t, result(5)["warnings"], "it was recorded with other values")
	for i := range 4 {
		require.Equal(t, "commission_created", result(i)["activity_outcome"])
		require.Equal(t, result(i)["id"], s.Must(200, s.Get("/v1/sales/"+fmt.Sprint(result(i)["id"]))).String("id"))
	}
	_, due, _ := s.Balance(program, partner, "USD")
	require.EqualValues(t, 140+5*200, due, "20 % of each")
	created := 0
	for _, e := range s.EventTypes(program) {
		if e == "sale.created" {
			created++
		}
	}
	require.Equal(t, 6, created)
}

// TestBatchRefusedAsAWhole: if the batch itself is invalid, it is refused and nothing is recorded.
func TestBatchRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	item := M{"customer_id": customer, "external_charge_id": "ch_1", "amount_minor": 1000, "currency": "USD"}
	stranger := apitest.On(t, s.DSN, s.Clock)
	stranger.Key = s.NewKey(s.NewOrg("other"), true, "write")
	s.Refused(404, "resource_not_found", "program_id",
		stranger.Post("/v1/sales/batch", M{"program_id": program, "items": []any{item}}))
	s.Refused(400, "parameter_missing", "program_id", s.Post("/v1/sales/batch", M{"items": []any{item}}))
	s.Refused(400, "parameter_missing", "items", s.Post("/v1/sales/batch", M{"program_id": program}))
	s.Refused(400, "parameter_invalid", "items", s.Post("/v1/sales/batch", M{"program_id": program, "items": []any{}}))
	many := make([]any, 501)
	for i := range many {
		many[i] = item
	}
	s.Refused(400, "parameter_invalid", "items", s.Post("/v1/sales/batch", M{"program_id": program, "items": many}))
	s.Refused(400, "parameter_invalid", "items[1].amount_minor",
		s.Post("/v1/sales/batch", M{"program_id": program, "items": []any{item, M{"amount_minor": 1.5}}}))
	require.Empty(t, s.Must(200, s.Get("/v1/sales?program_id="+program)).Data())
}

// TestClickBatch: visits of one visitor join one referral. An unknown value does not affect the
// other items.
func TestClickBatch(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.PartnerObject(program, M{"handle": "ada"})
	visit := func(value, token string) M {
		return M{"value": value, "landing_url": "https://shop.example/?ref=" + value, "visitor_token": token}
	}
	body := M{"program_id": program, "items": []any{
		visit("ada", "visitor_1"), visit("nobody", "visitor_1"), visit("ADA", "visitor_1"), visit("ada", "visitor_2"),
		M{"value": "ada", "visitor_token": "visitor_3"},
	}}
	a := s.Must(200, s.Do(http.MethodPost, "/v1/clicks/batch", s.Key, body, "Idempotency-Key", "b1"))
	require.Equal(t, []int{201, 404, 201, 201, 400}, itemStatuses(t, a))
	require.Equal(t, [2]string{"tracking_value_not_found", "value"}, refusal(a, 1))
	require.Equal(t, [2]string{"parameter_missing", "landing_url"}, refusal(a, 4))
	referral := func(i int) any { return a.Data()[i]["result"].(M)["referral_id"] }
	require.Equal(t, referral(0), referral(2))
	require.NotEqual(t, referral(0), referral(3))
	again := s.Must(200, s.Do(http.MethodPost, "/v1/clicks/batch", s.Key, body, "Idempotency-Key", "b1"))
	require.Equal(t, string(a.Raw), string(again.Raw), "a key replays the whole answer")
	require.EqualValues(t, 3, s.Must(200, s.Get("/v1/clicks?program_id="+program)).Int("total_count"))
	s.Must(200, s.Post("/v1/programs/"+program, M{"status": "paused"}))
	a = s.Must(200, s.Post("/v1/clicks/batch", M{"program_id": program, "items": []any{visit("ada", "visitor_1")}}))
	require.Equal(t, "program_paused", refusal(a, 0)[0])
}

// TestBatchCounts: ten items count as one request, even when the bucket has too few tokens for all
// of them.
func TestBatchCounts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.PartnerObject(program, M{"handle": "ada"})
	key, _ := s.NewKeyWith(s.Org, true, 20, "write")
	visits := make([]any, 500)
	for i := range visits {
		visits[i] = M{
			"value": "ada", "landing_url": "https://shop.example/?ref=ada", "visitor_token": fmt.Sprintf("visitor_%d", i),
		}
	}
	read := func() apitest.Answer { return s.Do(http.MethodGet, "/v1/clicks?program_id="+program, key, nil) }
	send := func(n int) apitest.Answer {
		return s.Do(http.MethodPost, "/v1/clicks/batch", key, M{"program_id": program, "items": visits[:n]})
	}
	for range 19 {
		s.Must(200, send(10))
	}
	s.Must(200, read())
	s.Refused(429, "rate_limit_exceeded", "", read())
	s.Clock.Advance(time.Second)
	a := s.Must(200, send(500))
	require.EqualValues(t, 500, a.Int("succeeded"))
	s.Clock.Advance(time.Second) // the bucket lacks 30 tokens
	s.Refused(429, "rate_limit_exceeded", "", read())
	s.Clock.Advance(time.Second)
	s.Must(200, read())
}
