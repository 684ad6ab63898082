package paypaltest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/paypaltest"
)

func TestRequestFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[paypaltest.Fault]struct {
		status   int // 0 for a closed connection
		name     string
		accepted int
	}{
		paypaltest.LoseRequest: {0, "", 0},
		paypaltest.LoseAnswer:  {0, "", 1},
		paypaltest.FailBefore:  {500, "INTERNAL_SERVER_ERROR", 0},
		paypaltest.FailAfter:   {500, "INTERNAL_SERVER_ERROR", 1},
		paypaltest.Busy:        {503, "SERVICE_UNAVAILABLE", 0},
		paypaltest.Throttle:    {429, "RATE_LIMIT_REACHED", 0},
	} {
		s := start(t, paypaltest.Config{})
		s.FailNext(paypaltest.Submit, fault)
		status, header, body, err := s.do(http.MethodPost, payouts, payout("pyt_1"))
		require.Equal(t, want.status, status, fault)
		require.Equal(t, want.status == 0, err != nil, fault)
		if want.status != 0 {
			require.Equal(t, want.name, body["name"])
		}
		if fault == paypaltest.Throttle {
			require.Equal(t, "60", header.Get("Retry-After"))
		}
		require.Len(t, s.Items("pyt_1"), want.accepted, fault)
		s.want(http.StatusCreated-want.accepted*(http.StatusCreated-http.StatusBadRequest), http.MethodPost, payouts, payout("pyt_1"))
		require.Len(t, s.Items("pyt_1"), 1, fault)
	}
}

func TestTokensEndEarly(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	s.FailNext(paypaltest.Submit, paypaltest.ExpireTokens)
	require.Equal(t, "invalid_token", s.want(http.StatusUnauthorized, http.MethodPost, payouts, payout("pyt_1"))["error"])
	s.signIn()
	s.pay("pyt_1")
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{PostsPerMinute: 2})
	s.pay("a")
	s.pay("b")
	s.clock.Advance(20 * time.Second)
	_, header, body, err := s.do(http.MethodPost, payouts, payout("c"))
	require.NoError(t, err)
	require.Equal(t, "RATE_LIMIT_REACHED", body["name"])
	require.Equal(t, "40", header.Get("Retry-After"))
	s.clock.Advance(40 * time.Second)
	s.pay("c")
}

func TestFates(t *testing.T) {
	t.Parallel()
	minute := time.Minute
	for name, c := range map[string]struct {
		fate  paypaltest.Fate
		after time.Duration
		want  string // the states of batch and item
		code  any
		count int
		open  int
	}{
		"weeks late":      {paypaltest.Becomes(paypaltest.Success, 21*day), 20 * day, "PROCESSING PENDING", nil, 0, 1},
		"weeks over":      {paypaltest.Becomes(paypaltest.Success, 21*day), 21 * day, "SUCCESS SUCCESS", nil, 1, 0},
		"at once":         {paypaltest.Becomes(paypaltest.Success, 0), 0, "SUCCESS SUCCESS", nil, 1, 0},
		"locked":          {paypaltest.Becomes(paypaltest.Failed, minute), day, "SUCCESS FAILED", "RECEIVER_ACCOUNT_LOCKED", 0, 0},
		"another code":    {paypaltest.Becomes(paypaltest.Failed, minute, "NO_FUNDS"), day, "SUCCESS FAILED", "NO_FUNDS", 0, 0},
		"blocked":         {paypaltest.Becomes(paypaltest.Blocked, minute), day, "SUCCESS BLOCKED", "RISK_DECLINE", 0, 0},
		"unclaimed":       {paypaltest.Becomes(paypaltest.Unclaimed, minute), 30 * day, "SUCCESS UNCLAIMED", "RECEIVER_UNREGISTERED", 0, 1},
		"back in 30 days": {paypaltest.Becomes(paypaltest.Unclaimed, minute), 30*day + minute, "SUCCESS RETURNED", "RECEIVER_UNREGISTERED", 0, 0},
		"claimed": {
			paypaltest.Becomes(paypaltest.Unclaimed, minute).Then(paypaltest.Success, 29*day), 40 * day, "SUCCESS SUCCESS", nil, 1, 0,
		},
		"on hold":  {paypaltest.Becomes(paypaltest.OnHold, minute), day, "SUCCESS ONHOLD", nil, 0, 1},
		"released": {paypaltest.Becomes(paypaltest.OnHold, minute).Then(paypaltest.Success, day), 2 * day, "SUCCESS SUCCESS", nil, 1, 0},
		"reversed": {paypaltest.Becomes(paypaltest.Success, minute).Then(paypaltest.Reversed, day), 2 * day, "SUCCESS REVERSED", nil, 0, 0},
		"refunded": {paypaltest.Becomes(paypaltest.Success, minute).Then(paypaltest.Refunded, day), 2 * day, "SUCCESS REFUNDED", nil, 0, 0},
	} {
		s := start(t, paypaltest.Config{TokenTTL: 365 * day})
		s.SetFate("pyt_1", c.fate)
		batch := s.pay("pyt_1")
		s.clock.Advance(c.after)
		require.Equal(t, c.want, s.status(batch), name)
		require.Equal(t, c.code, at(s.show(batch), "items.0.errors.name"), name)
		paid := s.Paid()[0]
		require.Equal(t, []int{c.count, c.open}, []int{paid.Count, paid.Open}, name)
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	require.False(t, s.Move("pyt_1", paypaltest.Success))
	batch := s.pay("pyt_1")
	require.True(t, s.Move("pyt_1", paypaltest.Unclaimed, "RECEIVER_UNCONFIRMED"))
	require.Equal(t, "SUCCESS UNCLAIMED", s.status(batch))
	s.clock.Advance(time.Hour)
	require.Equal(t, "SUCCESS UNCLAIMED", s.status(batch), "the usual success does not follow")
	require.True(t, s.Move("pyt_1", paypaltest.Success))
	require.True(t, s.Move("pyt_1", paypaltest.Reversed))
	require.Equal(t, map[string]paypaltest.Status{"pyt_1": paypaltest.Reversed}, s.States())
	got := s.Items("pyt_1")[0]
	require.True(t, got.Settled)
	require.Equal(t, []paypaltest.Status{"PENDING", "UNCLAIMED", "SUCCESS", "REVERSED"}, got.History)
	s.clock.Advance(60 * day)
	require.Equal(t, paypaltest.Reversed, s.States()["pyt_1"])
}

func TestCancelItem(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	s.SetFate("pyt_1", paypaltest.Becomes(paypaltest.Unclaimed, time.Minute))
	s.pay("pyt_1")
	path := "/v1/payments/payouts-item/" + s.Items("pyt_1")[0].ItemID + "/cancel"
	require.Equal(t, "ITEM_INCORRECT_STATUS", s.want(http.StatusBadRequest, http.MethodPost, path, nil)["name"])
	s.clock.Advance(time.Hour)
	require.Equal(t, "RETURNED", s.want(http.StatusOK, http.MethodPost, path, nil)["transaction_status"])
	require.Equal(t, "ITEM_ALREADY_CANCELLED", s.want(http.StatusBadRequest, http.MethodPost, path, nil)["name"])
	s.want(http.StatusNotFound, http.MethodPost, "/v1/payments/payouts-item/NONE/cancel", nil)
}

func TestBatchEnds(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	s.EndBatch("denied", paypaltest.BatchDenied)
	denied := s.pay("denied", item("a"), item("b"))
	canceled := s.pay("canceled")
	s.EndBatch("canceled", paypaltest.BatchCanceled)
	require.Equal(t, "PENDING <nil>", s.status(denied))
	require.Equal(t, "CANCELED FAILED", s.status(canceled))
	s.clock.Advance(day)
	s.signIn()
	require.Equal(t, "DENIED FAILED", s.status(denied))
	require.Equal(t, "CANCELED FAILED", s.status(canceled))
	require.Nil(t, at(s.show(denied), "items.0.transaction_id"))
	require.False(t, s.Move("a", paypaltest.Success))
	for _, p := range s.Paid() {
		require.Zero(t, p.Count+p.Open)
	}
	s.SetPlan(paypaltest.Plan{FailDenies: 1})
	s.SetFate("c", paypaltest.Becomes(paypaltest.Failed, time.Minute))
	failed := s.pay("c")
	s.clock.Advance(time.Hour)
	require.Equal(t, "DENIED FAILED", s.status(failed))
}

func TestFunds(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	s.SetFunds("EUR", 1258) // 12.34 and a fee of 0.25 are more
	require.Equal(t, "INSUFFICIENT_FUNDS", s.want(http.StatusUnprocessableEntity, http.MethodPost, payouts, payout("a"))["name"])
	s.SetFunds("EUR", 1259)
	s.pay("a")
	require.Zero(t, s.Funds("EUR"))
	s.want(http.StatusUnprocessableEntity, http.MethodPost, payouts, payout("b"))
	s.Move("a", paypaltest.Failed)
	require.EqualValues(t, 1259, s.Funds("EUR"), "with the fee")
	s.pay("b")
	s.Move("b", paypaltest.Success)
	s.Move("b", paypaltest.Reversed)
	require.EqualValues(t, 1234, s.Funds("EUR"), "without the fee")
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	s.Refuse(http.StatusForbidden, "AUTHORIZATION_ERROR")
	require.Equal(t, "AUTHORIZATION_ERROR", s.want(http.StatusForbidden, http.MethodPost, payouts, payout("a"))["name"])
	s.Refuse(0, "")
	s.pay("a")
}

func TestFees(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{FeeCurrency: "GBP"})
	batch := s.pay("a")
	require.Equal(t, amount("GBP", "0.00"), at(s.show(batch), "batch_header.fees"))
	s.SetPlan(paypaltest.Plan{OwnFee: 1})
	own := s.pay("b")
	s.clock.Advance(time.Hour)
	require.Equal(t, amount("GBP", "0.25"), at(s.show(batch), "items.0.payout_item_fee"))
	require.Equal(t, amount("EUR", "0.25"), at(s.show(own), "items.0.payout_item_fee"))
}

// persist submits a payout until the fake has it.
func (s *sender) persist(id string) {
	for range 50 {
		if status, _, _, err := s.do(http.MethodPost, payouts, payout(id)); err == nil && status <= http.StatusBadRequest {
			return
		}
		s.renew()
	}
	require.Fail(s.t, "not accepted", id)
}

// TestPlanIsDeterministic: the seed decides, not the order of requests.
func TestPlanIsDeterministic(t *testing.T) {
	t.Parallel()
	run := func(seed uint64, from, step int) string {
		s := start(t, paypaltest.Config{Seed: seed, TokenTTL: 365 * day})
		s.SetPlan(paypaltest.Trouble(0.2))
		for n := from; n >= 0 && n < 40; n += step {
			s.persist(fmt.Sprint("pyt_", n))
		}
		s.clock.Advance(100 * day)
		return fmt.Sprint(s.Paid(), s.States(), s.Items("pyt_0"))
	}
	first := run(1, 0, 1)
	require.Equal(t, first, run(1, 39, -1))
	require.NotEqual(t, first, run(2, 0, 1))
}

// TestPlanReachesEveryEnd: with enough payouts each end occurs, and a client that repeats one id pays once.
func TestPlanReachesEveryEnd(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{Seed: 7, TokenTTL: 365 * day})
	s.SetPlan(paypaltest.Trouble(0.15))
	for n := range 150 {
		s.persist(fmt.Sprint("pyt_", n))
	}
	s.clock.Advance(120 * day)
	ends := map[paypaltest.Status]int{}
	for id, state := range s.States() {
		ends[state]++
		require.True(t, s.Items(id)[0].Settled, id)
	}
	for _, end := range []paypaltest.Status{"SUCCESS", "FAILED", "RETURNED", "BLOCKED", "REFUNDED", "REVERSED"} {
		require.NotZero(t, ends[end], end)
	}
	require.Len(t, s.Paid(), 150)
	for _, p := range s.Paid() {
		require.Equal(t, 1, p.Accepted, p.SenderItemID)
	}
}

// TestFundsOfEarlierItems: a limit does not count items that were accepted before it.
func TestFundsOfEarlierItems(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	s.pay("a")
	s.SetFunds("EUR", 100)
	s.Move("a", paypaltest.Failed)
	require.EqualValues(t, 100, s.Funds("EUR"))
}
