package paypaltest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/paypaltest"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{TokenTTL: time.Hour})
	status, body, err := s.askToken("client", "wrong", "client_credentials")
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, "invalid_client", body["error"])
	status, body, err = s.askToken("client", "secret", "password")
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "unsupported_grant_type", body["error"])
	_, body, err = s.askToken("client", "secret", "client_credentials")
	require.NoError(t, err)
	require.InDelta(t, 3600, body["expires_in"], 0)
	require.Equal(t, "Bearer", body["token_type"])

	batch := s.pay("pyt_1")
	s.clock.Advance(time.Hour)
	require.Equal(t, "invalid_token", s.want(http.StatusUnauthorized, http.MethodGet, payouts+"/"+batch, nil)["error"])
	s.signIn()
	s.show(batch)
	s.RevokeTokens()
	s.want(http.StatusUnauthorized, http.MethodGet, payouts+"/"+batch, nil)
	s.SetCredentials("other", "word")
	status, _, err = s.askToken("client", "secret", "client_credentials")
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, 6, s.Calls(paypaltest.Token))
}

func TestPayoutSucceeds(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	batch := s.pay("pyt_1")
	require.Equal(t, "PENDING <nil>", s.status(batch))
	s.clock.Advance(30 * time.Second)
	require.Equal(t, "PROCESSING PENDING", s.status(batch))
	s.clock.Advance(time.Hour)
	require.Equal(t, "SUCCESS SUCCESS", s.status(batch))
	shown := s.show(batch)
	require.Equal(t, amount("EUR", "12.34"), at(shown, "batch_header.amount"))
	require.Equal(t, amount("USD", "0.25"), at(shown, "batch_header.fees"))
	require.Equal(t, "pyt_1", at(shown, "batch_header.sender_batch_header.sender_batch_id"))
	require.Equal(t, "2026-03-01T12:01:00Z", at(shown, "items.0.time_processed"), "the time of the change, not of the poll")
	require.Len(t, at(shown, "items.0.transaction_id"), 17)

	one := s.want(http.StatusOK, http.MethodGet, "/v1/payments/payouts-item/"+at(shown, "items.0.payout_item_id").(string), nil)
	require.Equal(t, "pyt_1", one["sender_batch_id"])
	require.Equal(t, "pyt_1", at(one, "payout_item.sender_item_id"))
	require.Equal(t, "PAYPAL", at(one, "payout_item.recipient_wallet"))
	require.Equal(t, []paypaltest.Payment{{
		SenderItemID: "pyt_1",
		Receiver:     "pyt_1@example.com",
		Currency:     "EUR",
		Value:        "12.34",
		Minor:        1234,
		Accepted:     1,
		Count:        1,
	}}, s.Paid())
	for _, path := range []string{payouts + "/NONE", "/v1/payments/payouts-item/NONE"} {
		require.Equal(t, "INVALID_RESOURCE_ID", s.want(http.StatusNotFound, http.MethodGet, path, nil)["name"])
	}
}

// TestGuard: a repeated id is refused for 30 days, and then pays again.
func TestGuard(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	batch := s.pay("pyt_1")
	s.clock.Advance(30*day - time.Second)
	s.signIn()
	refused := s.want(http.StatusBadRequest, http.MethodPost, payouts, payout("pyt_1"))
	require.Equal(t, "USER_BUSINESS_ERROR", refused["name"])
	require.Equal(t, "SENDER_BATCH_ID", at(refused, "details.0.field"))
	require.Equal(t, "https://api.sandbox.paypal.com"+payouts+"/"+batch, at(refused, "details.0.link.0.href"))
	s.SetPlan(paypaltest.Plan{HideLink: 1})
	refused = s.want(http.StatusBadRequest, http.MethodPost, payouts, payout("pyt_1"))
	require.Nil(t, at(refused, "details.0.link"))
	require.Equal(t, 1, s.Paid()[0].Accepted)

	s.clock.Advance(time.Second)
	require.NotEqual(t, batch, s.pay("pyt_1"))
	s.clock.Advance(time.Hour)
	require.Equal(t, 2, s.Paid()[0].Count, "paid twice")
	require.Equal(t, 4, s.Submissions("pyt_1"))
}

// TestOtherIDsGuardNothing: the same item in another batch is paid again, and PayPal-Request-Id does not help.
func TestOtherIDsGuardNothing(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	s.pay("pyt_1")
	s.pay("pyt_1 again", item("pyt_1"))
	other := item("pyt_1")
	other["amount"] = amount("EUR", "12.35")
	s.pay("", other)
	s.pay("", other)
	s.clock.Advance(time.Hour)
	paid := s.Paid()
	require.Len(t, paid, 2, "two amounts")
	require.Equal(t, []int{2, 2}, []int{paid[0].Count, paid[1].Count})
	require.Len(t, s.Items("pyt_1"), 4)
}

func TestDuplicateItem(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	batch := s.pay("pyt_1", item("a"), item("a"), item("b"))
	s.clock.Advance(time.Hour)
	require.Equal(t, "DUPLICATE_ITEM", at(s.show(batch), "items.1.errors.name"))
	require.Equal(t, 1, s.Paid()[0].Count)
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{LinkBase: "https://api.paypal.com"})
	var items []object
	for n := range 5 {
		items = append(items, item(fmt.Sprint("item_", n)))
	}
	batch := s.pay("pyt_1", items...)
	s.clock.Advance(time.Hour)
	page := s.want(http.StatusOK, http.MethodGet, payouts+"/"+batch+"?page=2&page_size=2&total_required=true", nil)
	require.Len(t, page["items"], 2)
	require.Equal(t, "item_2", at(page, "items.0.payout_item.sender_item_id"))
	require.InDelta(t, 5, page["total_items"], 0)
	require.InDelta(t, 3, page["total_pages"], 0)
	rels := map[any]any{}
	for _, l := range page["links"].([]any) {
		rels[at(l, "rel")] = at(l, "href")
	}
	require.Equal(t, "https://api.paypal.com"+payouts+"/"+batch+"?page_size=2&page=3", rels["next"])
	require.Contains(t, rels, "prev")
	page = s.want(http.StatusOK, http.MethodGet, payouts+"/"+batch+"?page=4&page_size=2&fields=items", nil)
	require.Empty(t, page["items"])
	require.NotContains(t, page, "batch_header")
	require.NotContains(t, page, "total_items")
	for _, bad := range []string{"page=x", "page_size=1001", "page=-1"} {
		refused := s.want(http.StatusBadRequest, http.MethodGet, payouts+"/"+batch+"?"+bad, nil)
		require.Equal(t, "query", at(refused, "details.0.location"), bad)
	}
}

// TestValidation: each fault of a submission is found at its field, and books nothing.
func TestValidation(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	long := func(n int) string { return strings.Repeat("x", n) }
	for field, change := range map[string]func(body, it object){
		"sender_batch_header":                 func(body, _ object) { delete(body, "sender_batch_header") },
		"sender_batch_header.sender_batch_id": func(body, _ object) { body["sender_batch_header"] = object{"sender_batch_id": long(257)} },
		"sender_batch_header.email_subject":   func(body, _ object) { body["sender_batch_header"] = object{"email_subject": long(256)} },
		"sender_batch_header.email":           func(body, _ object) { body["sender_batch_header"] = object{"email": "x"} },
		"items":                               func(body, _ object) { body["items"] = []object{} },
		"sync_mode":                           func(body, _ object) { body["sync_mode"] = "true" },
		"items[0].amount":                     func(_, it object) { delete(it, "amount") },
		"items[0].amount.currency":            func(_, it object) { it["amount"] = amount("ARS", "1.00") },
		"items[0].amount.value":               func(_, it object) { it["amount"] = object{"currency": "EUR", "value": 12.34} },
		"items[0].receiver":                   func(_, it object) { it["receiver"] = "someone" },
		"items[0].recipient_type":             func(_, it object) { delete(it, "recipient_type") },
		"items[0].sender_item_id":             func(_, it object) { it["sender_item_id"] = long(64) },
		"items[0].note":                       func(_, it object) { it["note"] = long(4001) },
		"items[0].purpose":                    func(_, it object) { it["purpose"] = "FUN" },
		"items[0].notification_language":      func(_, it object) { it["notification_language"] = "German" },
		"items[0].recipient_wallet":           func(_, it object) { it["recipient_wallet"] = "BANK" },
		"items[0].currency":                   func(_, it object) { it["currency"] = "EUR" },
	} {
		body := payout("pyt_1")
		change(body, body["items"].([]object)[0])
		refused := s.want(http.StatusBadRequest, http.MethodPost, payouts, body)
		require.Equal(t, "VALIDATION_ERROR", refused["name"], field)
		require.Equal(t, field, at(refused, "details.0.field"))
		require.NotEmpty(t, at(refused, "details.0.issue"))
		require.NotEmpty(t, refused["debug_id"])
	}
	for _, body := range []string{"{", "", `{"items":[]} {}`} {
		require.Equal(t, "MALFORMED_REQUEST", s.want(http.StatusBadRequest, http.MethodPost, payouts, body)["name"])
	}
	require.Equal(t, "REQUEST_ENTITY_TOO_LARGE",
		s.want(http.StatusRequestEntityTooLarge, http.MethodPost, payouts, long(5<<20))["name"])
	require.Empty(t, s.Paid())
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	for _, c := range []struct {
		currency, value string
		status          int
	}{
		{"EUR", "0.01", 201},
		{"USD", "20000.00", 201},
		{"JPY", "1200", 201},
		{"HUF", "1", 201},
		{"TWD", "35", 201},
		{"EUR", "10.1", 400},
		{"EUR", "10", 400},
		{"EUR", "10.100", 400},
		{"EUR", "10,10", 400},
		{"EUR", "0.00", 400},
		{"EUR", "-1.00", 400},
		{"EUR", "01.00", 400},
		{"EUR", "1e3", 400},
		{"JPY", "12.00", 400},
		{"HUF", "12.34", 400},
		{"TWD", "12.0", 400},
		{"BRL", "12.00", 400},
	} {
		it := item("a")
		it["amount"] = amount(c.currency, c.value)
		s.want(c.status, http.MethodPost, payouts, payout("", it))
	}
}

func TestReceivers(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	for _, c := range []struct {
		kind, receiver string
		status         int
	}{
		{"EMAIL", "a@example.com", 201},
		{"PHONE", "+49 30 123456", 201},
		{"PAYPAL_ID", "G83JXTJ5EHCQ2", 201},
		{"USER_HANDLE", "@someone", 201},
		{"EMAIL", "A <a@example.com>", 400},
		{"PHONE", "a@example.com", 400},
		{"PAYPAL_ID", "g83", 400},
		{"IBAN", "DE02120300000000202051", 400},
	} {
		it := item("a")
		it["recipient_type"], it["receiver"] = c.kind, c.receiver
		s.want(c.status, http.MethodPost, payouts, payout("", it))
	}
	it := item("a")
	delete(it, "recipient_type")
	body := payout("pyt_1", it)
	body["sender_batch_header"].(object)["recipient_type"] = "EMAIL"
	s.want(http.StatusCreated, http.MethodPost, payouts, body)
}

func TestMostItems(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	items := make([]object, 15001)
	for n := range items {
		items[n] = object{"recipient_type": "EMAIL", "receiver": "a@example.com", "amount": amount("EUR", "1.00")}
	}
	s.want(http.StatusBadRequest, http.MethodPost, payouts, payout("pyt_1", items...))
	s.want(http.StatusCreated, http.MethodPost, payouts, payout("pyt_1", items[1:]...))
}
