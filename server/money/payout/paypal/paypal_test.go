package paypal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/paypaltest"
	"rail/server/money/payout"
	"rail/server/money/payout/paypal"
	"rail/server/money/payout/railtest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	railtest.Conform(t, transfer("pyt_1"), func(t *testing.T) railtest.Service {
		s := start(t, paypaltest.Config{})
		return railtest.Service{
			Rail: s.Rail, Clock: s.clock,
			Paid:       func(id string) int { return len(s.fake.Items(id)) },
			LoseAnswer: func() { s.fake.FailNext(paypaltest.Submit, paypaltest.LoseAnswer) },
			Busy:       func() { s.fake.FailNext(paypaltest.Submit, paypaltest.Throttle) },
			Drain:      func() { s.fake.SetFunds("EUR", 0) },
			Refuse:     func() { s.fake.Refuse(http.StatusUnprocessableEntity, "RECEIVER_ACCOUNT_LOCKED") },
			Recover: func() {
				s.fake.Refuse(0, "")
				s.fake.SetFunds("EUR", 10_000)
				s.clock.Advance(time.Hour)
			},
			Forget: func() { s.clock.Advance(31 * day) },
			Settle: func(id string) { s.fake.Move(id, paypaltest.Success) },
			Return: func(id string) { s.fake.Move(id, paypaltest.Reversed) },
		}
	})
}

// TestSubmissionFaults: after each fault a repetition returns the id of the only batch.
func TestSubmissionFaults(t *testing.T) {
	t.Parallel()
	for fault, accepted := range map[paypaltest.Fault]int{
		paypaltest.LoseRequest: 0,
		paypaltest.LoseAnswer:  1,
		paypaltest.FailBefore:  0,
		paypaltest.FailAfter:   1,
		paypaltest.Busy:        0,
		paypaltest.Throttle:    0,
	} {
		s := start(t, paypaltest.Config{})
		s.fake.FailNext(paypaltest.Submit, fault)
		_, err := s.Submit(t.Context(), transfer("pyt_1"))
		require.Error(t, err, fault)
		require.NotErrorAs(t, err, new(payout.Refusal), fault)
		require.Equal(t, fault == paypaltest.Throttle, errorIs[payout.Busy](err), fault)
		require.Len(t, s.fake.Items("pyt_1"), accepted, fault)
		s.clock.Advance(time.Minute)
		sent := s.pay(transfer("pyt_1"))
		s.once("pyt_1")
		require.Equal(t, s.fake.Items("pyt_1")[0].BatchID, sent.ExternalID)
		s.clock.Advance(time.Hour)
		require.Equal(t, payout.Settled, s.poll(sent).State)
	}
}

// TestTokens: a token is fetched once, replaced a minute before its expiry, and replaced when PayPal ends it.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{TokenTTL: time.Hour})
	fetched := func(want int) {
		t.Helper()
		require.Equal(t, want, s.fake.Calls(paypaltest.Token))
	}
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() { _, _ = s.Submit(t.Context(), transfer(fmt.Sprint("pyt_", n))) })
	}
	wait.Wait()
	fetched(1)
	s.clock.Advance(59*time.Minute - time.Second)
	sent := s.pay(transfer("pyt_1"))
	fetched(1)
	s.clock.Advance(time.Second)
	s.poll(sent)
	fetched(2)
	s.fake.RevokeTokens()
	s.poll(sent)
	fetched(3)
	s.fake.FailNext(paypaltest.Submit, paypaltest.ExpireTokens)
	s.pay(transfer("pyt_9"))
	fetched(4)
	s.fake.FailNext(paypaltest.Submit, paypaltest.ExpireTokens, paypaltest.ExpireTokens)
	_, err := s.Submit(t.Context(), transfer("pyt_10"))
	require.ErrorContains(t, err, "invalid_token")
	require.NotErrorAs(t, err, new(payout.Refusal))
	fetched(5)
	s.pay(transfer("pyt_10"))
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	require.NoError(t, s.Check(t.Context()))
	s.fake.SetCredentials("client", "changed")
	require.ErrorContains(t, s.Check(t.Context()), "does not accept the client id and the secret", "in spite of a token")
	s.fake.RevokeTokens()
	_, err := s.Submit(t.Context(), transfer("pyt_1"))
	require.ErrorContains(t, err, "does not accept the client id and the secret")
	require.NotErrorAs(t, err, new(payout.Refusal))
	s.fake.SetCredentials("client", "secret")
	s.pay(transfer("pyt_1"))
	s.fake.FailNext(paypaltest.Token, paypaltest.Busy)
	require.ErrorContains(t, s.Check(t.Context()), "503")
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	sent := s.pay(transfer("pyt_1"))
	s.fake.FailNext(paypaltest.ShowBatch, paypaltest.Throttle)
	_, err := s.Status(t.Context(), sent)
	require.Equal(t, payout.Busy{For: time.Minute}, err)
	s.clock.Advance(20 * time.Second)
	calls := func() int {
		return s.fake.Calls(paypaltest.Submit) + s.fake.Calls(paypaltest.ShowBatch) + s.fake.Calls(paypaltest.Token)
	}
	before := calls()
	_, err = s.Submit(t.Context(), transfer("pyt_2"))
	require.Equal(t, payout.Busy{For: 40 * time.Second}, err)
	_, err = s.Status(t.Context(), sent)
	require.Equal(t, payout.Busy{For: 40 * time.Second}, err)
	require.Equal(t, payout.Busy{For: 40 * time.Second}, s.Check(t.Context()))
	require.Equal(t, before, calls())
	s.clock.Advance(40 * time.Second)
	s.pay(transfer("pyt_2"))
}

// TestNoLink: without a link to the earlier batch the submission is repeated for 25 days, and then never again.
func TestNoLink(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{Plan: paypaltest.Plan{HideLink: 1}})
	s.pay(transfer("pyt_1")) // its answer is forgotten
	first := s.clock.Now()
	lost := transfer("pyt_1")
	lost.SubmittedAt = &first
	again := func() error {
		_, err := s.Submit(t.Context(), lost)
		require.Error(t, err)
		require.NotErrorAs(t, err, new(payout.Refusal))
		return err
	}
	require.NotErrorIs(t, again(), payout.ErrUnconfirmed)
	s.clock.Advance(25 * day)
	require.NotErrorIs(t, again(), payout.ErrUnconfirmed)
	require.Equal(t, 3, s.fake.Submissions("pyt_1"))
	s.clock.Advance(time.Second)
	require.ErrorIs(t, again(), payout.ErrUnconfirmed)
	s.clock.Advance(10 * day)
	require.ErrorIs(t, again(), payout.ErrUnconfirmed)
	require.Equal(t, 3, s.fake.Submissions("pyt_1"))
	s.once("pyt_1")
}

// TestOldWithID: an old transfer with an id is looked up and never submitted.
func TestOldWithID(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	sent := s.pay(transfer("pyt_1"))
	sent.SubmittedAt = new(s.clock.Now())
	s.clock.Advance(40 * day)
	id, err := s.Submit(t.Context(), sent)
	require.NoError(t, err)
	require.Equal(t, sent.ExternalID, id)
	require.Equal(t, 1, s.fake.Submissions("pyt_1"))
}

// TestAnotherAmount: a batch with another amount under the payout's id is not the payout's.
func TestAnotherAmount(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	sent := s.pay(transfer("pyt_1"))
	s.clock.Advance(10 * time.Second)
	for _, after := range []time.Duration{0, time.Hour} { // without and with items
		s.clock.Advance(after)
		for _, change := range []func(*payout.Transfer){
			func(t *payout.Transfer) { t.AmountMinor++ },
			func(t *payout.Transfer) { t.Currency = "USD" },
			func(t *payout.Transfer) { t.ID = "pyt_2" },
		} {
			other := sent
			change(&other)
			_, err := s.Status(t.Context(), other)
			require.ErrorContains(t, err, other.ID)
			if other.ID == sent.ID {
				other.ExternalID = ""
				_, err = s.Submit(t.Context(), other)
				require.ErrorContains(t, err, other.ID)
				require.NotErrorAs(t, err, new(payout.Refusal))
			}
		}
	}
	_, err := s.Status(t.Context(), transfer("pyt_1"))
	require.Error(t, err, "without an id")
}

func TestFunds(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	s.fake.SetFunds("EUR", 1234)
	for range 2 {
		_, err := s.Submit(t.Context(), transfer("pyt_1"))
		require.ErrorIs(t, err, payout.ErrNeedsFunds)
	}
	s.fake.SetFunds("EUR", 5000)
	s.pay(transfer("pyt_1"))
	s.once("pyt_1")
}

// TestAccountErrors: an error about the account says nothing about the payout.
func TestAccountErrors(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{
		"AUTHORIZATION_ERROR":  http.StatusForbidden,
		"PERMISSION_DENIED":    http.StatusForbidden,
		"SENDER_RESTRICTED":    http.StatusUnprocessableEntity,
		"MALFORMED_REQUEST":    http.StatusBadRequest,
		"USER_BUSINESS_ERROR":  http.StatusBadRequest,
		"INVALID_RESOURCE_ID":  http.StatusNotFound,
		"RECEIVER_UNCONFIRMED": http.StatusForbidden,
	} {
		s := start(t, paypaltest.Config{})
		s.fake.Refuse(status, name)
		_, err := s.Submit(t.Context(), transfer("pyt_1"))
		require.ErrorContains(t, err, name)
		require.NotErrorAs(t, err, new(payout.Refusal), name)
		s.fake.Refuse(0, "")
		s.pay(transfer("pyt_1"))
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	refused := func(tr payout.Transfer) payout.Refusal {
		t.Helper()
		_, err := s.Submit(t.Context(), tr)
		refusal, ok := errors.AsType[payout.Refusal](err)
		require.True(t, ok, err)
		require.Empty(t, s.fake.Items(tr.ID))
		return refusal
	}
	bad := transfer("pyt_1")
	bad.Email = "no address"
	got := refused(bad)
	require.Equal(t, "VALIDATION_ERROR", got.Code)
	require.Equal(t, "PayPal did not accept the payout: items[0].receiver: Receiver is invalid or does not match with type "+
		"(PayPal's debug id is f05063556a338)", got.Message)
	foreign := transfer("pyt_2")
	foreign.Currency = "BRL"
	require.Equal(t, "NON_HOLDING_CURRENCY", refused(foreign).Code)
	s.fake.Refuse(http.StatusUnprocessableEntity, "TRANSACTION_LIMIT_EXCEEDED")
	require.Contains(t, refused(transfer("pyt_3")).Message, "limit for one payout")
	s.fake.Refuse(http.StatusBadRequest, "RECEIVER_"+strings.Repeat("X", 2000))
	long := refused(transfer("pyt_4"))
	require.Len(t, long.Code, 255)
	require.LessOrEqual(t, len(long.Message), 1000)
}

// TestLocalRefusals: what PayPal can never pay is refused without a call.
func TestLocalRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	for _, c := range []struct {
		change func(*payout.Transfer)
		code   string
	}{
		{func(t *payout.Transfer) { t.Currency = "INR" }, "currency_not_supported"},
		{func(t *payout.Transfer) { t.Currency = "" }, "currency_not_supported"},
		{func(t *payout.Transfer) { t.Currency, t.AmountMinor = "HUF", 120050 }, "amount_not_payable"},
		{func(t *payout.Transfer) { t.Currency, t.AmountMinor = "TWD", 1 }, "amount_not_payable"},
		{func(t *payout.Transfer) { t.AmountMinor = 0 }, "amount_not_payable"},
		{func(t *payout.Transfer) { t.AmountMinor = -1234 }, "amount_not_payable"},
		{func(t *payout.Transfer) { t.Email = " " }, "no_receiver"},
	} {
		tr := transfer("pyt_1")
		c.change(&tr)
		_, err := s.Submit(t.Context(), tr)
		refusal, ok := errors.AsType[payout.Refusal](err)
		require.True(t, ok, err)
		require.Equal(t, c.code, refusal.Code)
		require.NotEmpty(t, refusal.Message)
		if refusal.Always { // also after the time for repeated submissions
			tr.SubmittedAt = new(s.clock.Now().Plus(-60 * day))
			_, err := s.Submit(t.Context(), tr)
			require.Equal(t, refusal, err)
		}
	}
	require.Zero(t, s.fake.Calls(paypaltest.Token))
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	for n, c := range []struct {
		minor           int64
		currency, value string
	}{
		{1, "EUR", "0.01"},
		{1010, "USD", "10.10"},
		{123456789012, "USD", "1234567890.12"},
		{120000, "HUF", "1200"},
		{100, "TWD", "1"},
		{1200, "JPY", "1200"},
		{1, "JPY", "1"},
	} {
		tr := transfer(fmt.Sprint("pyt_", n))
		tr.AmountMinor, tr.Currency = c.minor, c.currency
		sent := s.pay(tr)
		require.Equal(t, sent.ExternalID, s.pay(tr).ExternalID)
		s.clock.Advance(time.Hour)
		require.Equal(t, payout.Settled, s.poll(sent).State)
	}
	var values []string
	for _, p := range s.fake.Paid() {
		values = append(values, p.Value+" "+p.Currency)
	}
	require.Equal(t, []string{"0.01 EUR", "10.10 USD", "1234567890.12 USD", "1200 HUF", "1 TWD", "1200 JPY", "1 JPY"}, values)
}

func TestReceiver(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	for n, c := range []struct{ details, receiver string }{
		{``, "p@example.com"},
		{`{}`, "p@example.com"},
		{`{"email":"","paypal_email":"a@example.com"}`, "a@example.com"},
		{`{"email":"b@example.com","payer_id":"QWERTY1234567"}`, "b@example.com"},
		{`{"payer_id":"QWERTY1234567"}`, "QWERTY1234567"},
		{`{"email":7,"iban":"DE00"}`, "p@example.com"},
	} {
		tr := transfer(fmt.Sprint("pyt_", n))
		tr.Email, tr.Details = "p@example.com", []byte(c.details)
		s.pay(tr)
		require.Equal(t, c.receiver, s.fake.Paid()[n].Receiver, c.details)
	}
	tr := transfer("pyt_x")
	tr.Details = []byte("[")
	_, err := s.Submit(t.Context(), tr)
	require.Error(t, err)
	require.NotErrorAs(t, err, new(payout.Refusal))
}

// An answering function is a PayPal that gives one answer to all but tokens.
func answering(t *testing.T, status int, header http.Header, body string) (*paypal.Rail, *clock.Manual) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/token") {
			_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "A21AA-long-access-token", "expires_in": 32400})
			return
		}
		for name := range header {
			w.Header().Set(name, header.Get(name))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	manual := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return paypal.New(paypal.Config{
		URL: server.URL, ClientID: "client-id-of-eighty", Secret: "secret-of-eighty-characters", Clock: manual,
	}), manual
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"":                              time.Minute,
		"soon":                          time.Minute,
		"5":                             5 * time.Second,
		"0":                             time.Second,
		"-7":                            time.Second,
		"86400":                         time.Hour,
		"9223372036854775807":           time.Hour,
		"Sun, 01 Mar 2026 12:02:00 GMT": 2 * time.Minute,
		"Sun, 01 Mar 2020 12:02:00 GMT": time.Second,
	} {
		r, _ := answering(t, http.StatusTooManyRequests, http.Header{"Retry-After": {header}}, "")
		_, err := r.Submit(t.Context(), transfer("pyt_1"))
		require.Equal(t, payout.Busy{For: want}, err, header)
	}
}

// TestStrangeAnswers: no strange answer to a submission is a refusal or an id.
func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
	}{
		{201, ``}, {201, `{}`}, {201, `[]`}, {201, `{"batch_header":{"payout_batch_id":"../x"}}`},
		{201, `{"batch_header":{"payout_batch_id":"A","sender_batch_header":{"sender_batch_id":"pyt_2"}}}`},
		{201, `{"batch_header":{"payout_batch_id":"A"},"x":"` + strings.Repeat("x", 1<<20) + `"}`},
		{201, `{"batch_header":{"payout_batch_id":"A"}}` + strings.Repeat(" ", 1<<20)},
		{302, ``}, {400, `<html>`}, {400, `{}`}, {400, `null`}, {409, `{"name":7}`},
		{400, `{"name":"USER_BUSINESS_ERROR","details":{}}`},
		{400, `{"name":"USER_BUSINESS_ERROR","details":[{"issue":"Batch with given sender_batch_id already exists"}]}`},
		{400, `{"name":"USER_BUSINESS_ERROR","details":[{"field":"items[0].amount","issue":"DUPLICATE_REQUEST"}]}`},
		{422, `{"name":"DUPLICATE_REQUEST_ID"}`},
		{422, `{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"DUPLICATE_TRANSACTION"}]}`},
		{500, `{"name":"VALIDATION_ERROR"}`},
		{401, `{"name":"VALIDATION_ERROR"}`},
	} {
		r, _ := answering(t, c.status, nil, c.body)
		id, err := r.Submit(t.Context(), transfer("pyt_1"))
		require.Error(t, err, c.body)
		require.Empty(t, id)
		require.NotErrorAs(t, err, new(payout.Refusal), c.body)
		require.Less(t, len(err.Error()), 1000)
	}
	r, _ := answering(t, 422, nil, `{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"INSUFFICIENT_FUNDS"}]}`)
	_, err := r.Submit(t.Context(), transfer("pyt_1"))
	require.ErrorIs(t, err, payout.ErrNeedsFunds)
	r, _ = answering(t, 400, nil, `{"name":"USER_BUSINESS_ERROR","details":[{"field":"items[0].amount","issue":"Too much"}]}`)
	_, err = r.Submit(t.Context(), transfer("pyt_1"))
	require.ErrorAs(t, err, new(payout.Refusal))
}

// TestCredentialsStaySecret: neither errors nor logs show them, even if PayPal's answer repeats them.
func TestCredentialsStaySecret(t *testing.T) {
	t.Parallel()
	secrets := []string{"client-id-of-eighty", "secret-of-eighty-characters", "A21AA-long-access-token"}
	for _, status := range []int{400, 401, 403, 422, 500} {
		r, _ := answering(t, status, nil, `{"name":"VALIDATION_ERROR","message":"`+strings.Join(secrets, " ")+`",
			"debug_id":"A21AA-long-access-token","details":[{"issue":"secret-of-eighty-characters"}]}`)
		_, err := r.Submit(t.Context(), transfer("pyt_1"))
		_, failed := r.Status(t.Context(), payout.Transfer{ID: "pyt_1", ExternalID: "A"})
		config := paypal.Config{URL: paypal.Live, ClientID: secrets[0], Secret: secrets[1]}
		raw, encoded := json.Marshal(config)
		require.NoError(t, encoded)
		for _, secret := range secrets {
			require.NotContains(t, fmt.Sprintf("%v %v %v %+v %#v %v %+v %s", err, failed, r, r, r, config, config, raw), secret)
		}
	}
}

// TestRedirect: the token does not follow a redirect.
func TestRedirect(t *testing.T) {
	t.Parallel()
	r, _ := answering(t, http.StatusTemporaryRedirect, http.Header{"Location": {"/v1/oauth2/token"}}, "")
	_, err := r.Submit(t.Context(), transfer("pyt_1"))
	require.ErrorContains(t, err, "307")
}

// TestManyAtOnce: replicas that submit one transfer at the same time get the same id.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	ids := make([]string, 8)
	var wait sync.WaitGroup
	for n := range ids {
		wait.Go(func() { ids[n], _ = s.Submit(t.Context(), transfer("pyt_1")) })
	}
	wait.Wait()
	s.once("pyt_1")
	for _, id := range ids {
		require.Equal(t, s.fake.Items("pyt_1")[0].BatchID, id)
	}
}

// TestSpellingsOfDuplicates: PayPal's answer to a repeated id leads to the batch in each of its forms, by the path of
// a link to any host.
func TestSpellingsOfDuplicates(t *testing.T) {
	t.Parallel()
	const self = `{"href":"https://example.com/v1/payments/payouts/BATCH-1","rel":"self"}`
	for _, body := range []string{
		`{"name":"USER_BUSINESS_ERROR","details":[{"field":"SENDER_BATCH_ID","link":[` + self + `]}]}`,
		`{"name":"USER_BUSINESS_ERROR","details":[{"link":` + self + `}]}`,
		`{"name":"USER_BUSINESS_ERROR","details":[],"links":[{"href":"https://example.com"},` + self + `]}`,
		`{"name":"USER_BUSINESS_ERROR","details":{"field":"amount","links":[` + self + `]},"links":{}}`,
		`{"name":"DUPLICATE_REQUEST_ID","links":[` + self + `]}`,
		`{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"DUPLICATE_BATCH"}],"links":[` + self + `]}`,
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("POST /v1/oauth2/token", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"access_token":"A"}`)
		})
		mux.HandleFunc("POST /v1/payments/payouts", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, body)
		})
		mux.HandleFunc("GET /v1/payments/payouts/BATCH-1", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, batchOf("PENDING", "pyt_1", ""))
		})
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		r := paypal.New(paypal.Config{URL: server.URL + "/", ClientID: "client", Secret: "secret"})
		id, err := r.Submit(t.Context(), transfer("pyt_1"))
		require.NoError(t, err, body)
		require.Equal(t, "BATCH-1", id)
		_, err = r.Submit(t.Context(), transfer("pyt_2"))
		require.ErrorContains(t, err, "not of the transfer", "of another payout")
		require.NotErrorAs(t, err, new(payout.Refusal))
	}
}

// TestScope: credentials without the right to pay are an error of Check.
func TestScope(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"access_token":"A","expires_in":100,"scope":"openid https://uri.paypal.com/services/invoicing"}`)
	}))
	t.Cleanup(server.Close)
	r := paypal.New(paypal.Config{URL: server.URL, ClientID: "client", Secret: "secret"})
	require.ErrorContains(t, r.Check(t.Context()), "not enabled for Payouts")
}
