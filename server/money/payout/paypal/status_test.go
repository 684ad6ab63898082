package paypal_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/paypaltest"
	"rail/server/money/payout"
)

func TestStates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fate  paypaltest.Fate
		after time.Duration
		want  payout.Status
		says  string
	}{
		"pending":    {paypaltest.Becomes(paypaltest.Success, day), 0, payout.Status{State: payout.InFlight}, ""},
		"processing": {paypaltest.Becomes(paypaltest.Success, day), time.Hour, payout.Status{State: payout.InFlight}, ""},
		"success": {paypaltest.Becomes(paypaltest.Success, 0), 0, payout.Status{
			State: payout.Settled, Fee: &payout.Fee{AmountMinor: 25, Currency: "USD"},
		}, ""},
		"failed": {paypaltest.Becomes(paypaltest.Failed, 0), 0, payout.Status{
			State: payout.Rejected, Code: "RECEIVER_ACCOUNT_LOCKED",
		}, "must resolve this with PayPal"},
		"failed by another code": {paypaltest.Becomes(paypaltest.Failed, 0, "SOME_CODE"), 0, payout.Status{
			State: payout.Rejected, Code: "SOME_CODE",
		}, "SOME_CODE"},
		"failed without funds": {paypaltest.Becomes(paypaltest.Failed, 0, "INSUFFICIENT_FUNDS"), 0, payout.Status{
			State: payout.Rejected, Code: "INSUFFICIENT_FUNDS",
		}, "Add funds"},
		"blocked": {paypaltest.Becomes(paypaltest.Blocked, 0), 0, payout.Status{
			State: payout.Rejected, Code: "RISK_DECLINE",
		}, "declined"},
		"unclaimed": {paypaltest.Becomes(paypaltest.Unclaimed, 0), day, payout.Status{
			State: payout.InFlight, Attention: payout.Unclaimed, Code: "RECEIVER_UNREGISTERED",
		}, "must open one"},
		"returned": {paypaltest.Becomes(paypaltest.Unclaimed, 0), 30 * day, payout.Status{
			State: payout.Returned, Attention: payout.CameBack, Code: "RECEIVER_UNREGISTERED",
		}, "must open one"},
		"on hold": {paypaltest.Becomes(paypaltest.OnHold, 0), day, payout.Status{
			State: payout.InFlight, Attention: payout.OnHold, Code: "ONHOLD",
		}, "reviews"},
		"refunded": {paypaltest.Becomes(paypaltest.Success, 0).Then(paypaltest.Refunded, day), day, payout.Status{
			State: payout.Returned, Attention: payout.CameBack, Code: "REFUNDED",
		}, "sent the money back"},
		"reversed": {paypaltest.Becomes(paypaltest.Success, 0).Then(paypaltest.Reversed, day), day, payout.Status{
			State: payout.Returned, Attention: payout.Reversed, Code: "REVERSED",
		}, "reversed"},
	} {
		s := start(t, paypaltest.Config{})
		s.fake.SetFate("pyt_1", c.fate)
		sent := s.pay(transfer("pyt_1"))
		s.clock.Advance(c.after)
		got := s.poll(sent)
		require.Contains(t, got.Message, c.says, name)
		require.Equal(t, got.State == payout.Settled, got.PaidAt != nil, name)
		got.Message, got.PaidAt = "", nil
		require.Equal(t, c.want, got, name)
	}
}

func TestBatchEnds(t *testing.T) {
	t.Parallel()
	for _, end := range []paypaltest.BatchStatus{paypaltest.BatchDenied, paypaltest.BatchCanceled} {
		s := start(t, paypaltest.Config{})
		s.fake.EndBatch("pyt_1", end)
		sent := s.pay(transfer("pyt_1"))
		require.Equal(t, payout.Status{State: payout.InFlight}, s.poll(sent))
		s.clock.Advance(time.Hour)
		got := s.poll(sent)
		require.Equal(t, payout.Rejected, got.State)
		require.Equal(t, "RISK_DECLINE", got.Code)
	}
	s := start(t, paypaltest.Config{Plan: paypaltest.Plan{FailDenies: 1}})
	s.fake.SetFate("pyt_1", paypaltest.Becomes(paypaltest.Failed, 0))
	require.Equal(t, payout.Rejected, s.poll(s.pay(transfer("pyt_1"))).State)
}

// TestPollFaults: a poll that fails is an error, and the next one reports the state.
func TestPollFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range []paypaltest.Fault{paypaltest.FailBefore, paypaltest.FailAfter, paypaltest.Busy, paypaltest.Throttle} {
		s := start(t, paypaltest.Config{})
		sent := s.pay(transfer("pyt_1"))
		s.clock.Advance(time.Hour)
		s.fake.FailNext(paypaltest.ShowBatch, fault)
		status, err := s.Status(t.Context(), sent)
		require.Error(t, err, fault)
		require.Zero(t, status)
		s.clock.Advance(time.Minute)
		require.Equal(t, payout.Settled, s.poll(sent).State)
	}
}

func TestFees(t *testing.T) {
	t.Parallel()
	for currency, want := range map[string]int64{"GBP": 25, "JPY": 25, "HUF": 2500} {
		s := start(t, paypaltest.Config{FeeCurrency: currency})
		sent := s.pay(transfer("pyt_1"))
		s.clock.Advance(time.Hour)
		require.Equal(t, &payout.Fee{AmountMinor: want, Currency: currency}, s.poll(sent).Fee)
	}
}

// TestStrangeBatches: a batch that PayPal does not document is an error that says why.
func TestStrangeBatches(t *testing.T) {
	t.Parallel()
	const item = `{"transaction_status":%q,"payout_item":{"sender_item_id":%q,"amount":{"currency":%q,"value":%q}}}`
	usual := fmt.Sprintf(item, "SUCCESS", "pyt_1", "EUR", "12.34")
	for _, c := range []struct{ status, of, items, says string }{
		{"SUCCESS", "pyt_1", fmt.Sprintf(item, "VANISHED", "pyt_1", "EUR", "12.34"), "VANISHED"},
		{"VANISHED", "pyt_1", usual, "VANISHED"},
		{"VANISHED", "pyt_1", "", "VANISHED"},
		{"SUCCESS", "pyt_1", "", "no item"},
		{"SUCCESS", "pyt_2", usual, "not of the transfer"},
		{"SUCCESS", "pyt_1", usual + "," + usual, "2 items"},
		{"SUCCESS", "pyt_1", fmt.Sprintf(item, "SUCCESS", "pyt_2", "EUR", "12.34"), "pyt_2"},
		{"SUCCESS", "pyt_1", fmt.Sprintf(item, "SUCCESS", "pyt_1", "USD", "12.34"), "USD"},
		{"SUCCESS", "pyt_1", fmt.Sprintf(item, "SUCCESS", "pyt_1", "EUR", "12.35"), "12.35"},
		{"DENIED", "pyt_1", usual, "SUCCESS"},
		{"DENIED", "pyt_1", fmt.Sprintf(item, "UNCLAIMED", "pyt_1", "EUR", "12.34"), "UNCLAIMED"},
	} {
		r, _ := answering(t, http.StatusOK, nil, batchOf(c.status, c.of, c.items))
		tr := transfer("pyt_1")
		tr.ExternalID = "A"
		_, err := r.Status(t.Context(), tr)
		require.ErrorContains(t, err, c.says, c)
	}
	for body, want := range map[string]payout.Status{
		batchOf("SUCCESS", "pyt_1", fmt.Sprintf(item, "SUCCESS", "pyt_1", "EUR", "12.340")): {},
		batchOf("SUCCESS", "pyt_1", usual):                                                  {State: payout.Settled},
		batchOf("CANCELED", "pyt_1", ""): {
			State: payout.Rejected, Code: "CANCELED", Message: "The payout was canceled at PayPal.",
		},
		batchOf("PROCESSING", "pyt_1", ""): {State: payout.InFlight},
	} {
		r, _ := answering(t, http.StatusOK, nil, body)
		tr := transfer("pyt_1")
		tr.ExternalID = "A"
		got, err := r.Status(t.Context(), tr)
		require.Equal(t, want, got)
		require.Equal(t, want == payout.Status{}, err != nil)
	}
}

// batchOf returns a batch as PayPal shows it.
func batchOf(status, senderBatchID, items string) string {
	return fmt.Sprintf(`{"batch_header":{"payout_batch_id":"A","batch_status":%q,
		"sender_batch_header":{"sender_batch_id":%q}},"items":[%s]}`, status, senderBatchID, items)
}
