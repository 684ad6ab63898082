package paypaltest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/paypaltest"
)

const day = 24 * time.Hour

type object = map[string]any

// A sender is a client of a fake.
type sender struct {
	*paypaltest.Server
	t     *testing.T
	clock *clock.Manual
	token string
}

// start returns a client with a token.
func start(t *testing.T, c paypaltest.Config) *sender {
	t.Helper()
	manual := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	c.Clock = manual
	s := &sender{Server: paypaltest.Start(t, c), t: t, clock: manual}
	s.signIn()
	return s
}

func (s *sender) signIn() {
	status, body, err := s.askToken("client", "secret", "client_credentials")
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, status, body)
	s.token = body["access_token"].(string)
}

func (s *sender) askToken(id, secret, grant string) (int, object, error) {
	form := strings.NewReader(url.Values{"grant_type": {grant}}.Encode())
	r, err := http.NewRequest(http.MethodPost, s.URL()+"/v1/oauth2/token", form)
	require.NoError(s.t, err)
	r.SetBasicAuth(id, secret)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, _, body, err := send(r)
	return status, body, err
}

func send(r *http.Request) (int, http.Header, object, error) {
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	var body object
	_ = json.Unmarshal(raw, &body)
	return response.StatusCode, response.Header, body, err
}

// do sends a request with the token.
func (s *sender) do(method, path string, body any) (int, http.Header, object, error) {
	raw, ok := body.(string)
	if !ok && body != nil {
		encoded, err := json.Marshal(body)
		require.NoError(s.t, err)
		raw = string(encoded)
	}
	r, err := http.NewRequest(method, s.URL()+path, bytes.NewReader([]byte(raw)))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	return send(r)
}

// want sends a request, requires its status, and returns the body.
func (s *sender) want(status int, method, path string, body any) object {
	s.t.Helper()
	got, _, answer, err := s.do(method, path, body)
	require.NoError(s.t, err)
	require.Equal(s.t, status, got, answer)
	return answer
}

func amount(currency, value string) object { return object{"currency": currency, "value": value} }

// item returns a valid item.
func item(id string) object {
	return object{
		"recipient_type": "EMAIL",
		"receiver":       id + "@example.com",
		"amount":         amount("EUR", "12.34"),
		"sender_item_id": id,
	}
}

// payout returns a valid submission under one id for the batch and its only item.
func payout(id string, items ...object) object {
	if items == nil {
		items = []object{item(id)}
	}
	return object{"sender_batch_header": object{"sender_batch_id": id, "email_subject": "Money"}, "items": items}
}

const payouts = "/v1/payments/payouts"

// pay submits a payout, and returns the id of its batch.
func (s *sender) pay(id string, items ...object) string {
	s.t.Helper()
	return at(s.want(http.StatusCreated, http.MethodPost, payouts, payout(id, items...)), "batch_header.payout_batch_id").(string)
}

// show polls a batch.
func (s *sender) show(batch string) object {
	s.t.Helper()
	return s.want(http.StatusOK, http.MethodGet, payouts+"/"+batch, nil)
}

// status polls a batch, and returns the states of the batch and of its first item.
func (s *sender) status(batch string) string {
	s.t.Helper()
	shown := s.show(batch)
	return fmt.Sprint(at(shown, "batch_header.batch_status"), " ", at(shown, "items.0.transaction_status"))
}

// at returns the value at a path, or nil.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch container := v.(type) {
		case object:
			v = container[name]
		case []any:
			var n int
			if _, err := fmt.Sscan(name, &n); err != nil || n >= len(container) {
				return nil
			}
			v = container[n]
		default:
			return nil
		}
	}
	return v
}

// renew replaces the token if the fake answers.
func (s *sender) renew() {
	if status, body, err := s.askToken("client", "secret", "client_credentials"); err == nil && status == http.StatusOK {
		s.token = body["access_token"].(string)
	}
}
