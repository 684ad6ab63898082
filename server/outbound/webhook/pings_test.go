package webhook_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/wait"
)

// hanging makes receivers wait until answer is called or the test ends.
func (h hooked) hanging(t *testing.T) (answer func()) {
	t.Helper()
	gate := make(chan struct{})
	answer = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(answer)
	h.sink.Answer = func(http.ResponseWriter, apitest.Received) { <-gate }
	return answer
}

// ping sends a test to an endpoint, with an Idempotency-Key if one is given.
func (h hooked) ping(endpoint string, key ...string) apitest.Answer {
	var headers []string
	if len(key) > 0 {
		headers = []string{"Idempotency-Key", key[0]}
	}
	return h.Do("POST", "/v1/webhook_endpoints/"+endpoint+"/ping", h.Key, nil, headers...)
}

// TestPingHoldsNoTransaction: while a receiver is slow, no database session has a transaction open.
// The key is in flight meanwhile, and afterwards returns the same response again.
func TestPingHoldsNoTransaction(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	bare, keyed := h.endpoint("/bare").String("id"), h.endpoint("/keyed").String("id")
	answer := h.hanging(t)
	answers, bareAnswers := make(chan apitest.Answer, 1), make(chan apitest.Answer, 1)
	go func() { bareAnswers <- h.ping(bare) }()
	go func() { answers <- h.ping(keyed, "k") }()
	open := func() (n int) {
		require.NoError(t, h.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL`).Scan(&n))
		return n
	}
	h.sink.Wait(t, "/bare", 1)
	h.sink.Wait(t, "/keyed", 1)
	wait.Until(t, func() bool { return open() == 0 })
	require.Equal(t, "1", h.Refused(409, "idempotency_in_progress", "", h.ping(keyed, "k")).Header.Get("Retry-After"))
	other := h.Do("POST", "/v1/webhook_endpoints/"+keyed, h.Key, M{"enabled": false}, "Idempotency-Key", "k")
	h.Refused(409, "idempotency_in_progress", "", other)
	answer()

	h.Must(200, <-bareAnswers)
	first := h.Must(200, <-answers)
	again := h.Must(200, h.ping(keyed, "k"))
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, string(first.Raw), string(again.Raw))
	require.Len(t, h.sink.Got("/keyed"), 1)
	require.Equal(t, first.String("id"), h.log(keyed)[0].String("id"))
	h.Refused(422, "idempotency_key_reused", "Idempotency-Key", h.ping(bare, "k"))
}

// TestCheckHoldsNoTransaction: the check of an endpoint's address may wait for a name server. So the Idempotency-Key is
// claimed in a transaction that ends before the check. Here the work waits for a lock, and the claim is committed.
func TestCheckHoldsNoTransaction(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	id := h.endpoint("/in").String("id")
	for key, c := range map[string]struct{ path, lock, row string }{
		"create": {"/v1/webhook_endpoints", "SELECT FROM programs WHERE id = $1 FOR UPDATE", h.ProgramID},
		"update": {"/v1/webhook_endpoints/" + id, "SELECT FROM webhook_endpoints WHERE id = $1 FOR UPDATE", id},
	} {
		body := M{"url": h.sink.URL + "/" + key}
		if key == "create" {
			body["program_id"] = h.ProgramID
		}
		send := func() apitest.Answer { return h.Do("POST", c.path, h.Key, body, "Idempotency-Key", key) }
		tx, err := h.Pool.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		_, err = tx.Exec(t.Context(), c.lock, c.row)
		require.NoError(t, err)
		answers := make(chan apitest.Answer, 1)
		go func() { answers <- send() }()
		wait.Until(t, func() (claimed bool) {
			require.NoError(t, h.Pool.QueryRow(t.Context(),
				"SELECT EXISTS (SELECT FROM idempotency_keys WHERE key = $1)", key).Scan(&claimed))
			return claimed
		}, "the key %s is claimed", key)
		require.NoError(t, tx.Rollback(t.Context()))
		first := <-answers
		require.Less(t, first.Status, 300, string(first.Raw))
		require.Equal(t, string(first.Raw), string(send().Raw))
	}
}

// TestPingRace: of many concurrent requests with one key, one sends a ping.
func TestPingRace(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	id := h.endpoint("/in").String("id")
	answer := h.hanging(t)
	const many = 8
	answers := make(chan apitest.Answer, many)
	for range many {
		go func() { answers <- h.ping(id, "k") }()
	}
	for range many - 1 {
		h.Refused(409, "idempotency_in_progress", "", <-answers)
	}
	answer()
	h.Must(200, <-answers)
	require.Len(t, h.sink.Got("/in"), 1)
	require.Len(t, h.log(id), 1)
}

// TestClaimOfACrash: if the server ends before the response, the key is free again after half a
// minute. If the request failed with a temporary error, the key is free at once.
func TestClaimOfACrash(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	id := h.endpoint("/in").String("id")
	first := h.Must(200, h.ping(id, "k"))
	_, err := h.Pool.Exec(t.Context(), "UPDATE idempotency_keys SET status = 102")
	require.NoError(t, err)
	h.Clock.Advance(29 * time.Second)
	h.Refused(409, "idempotency_in_progress", "", h.ping(id, "k"))
	h.Clock.Advance(time.Second)
	second := h.Must(200, h.ping(id, "k"))
	require.NotEqual(t, first.String("id"), second.String("id"))
	require.Equal(t, string(second.Raw), string(h.ping(id, "k").Raw))
	require.Len(t, h.sink.Got("/in"), 2)

	h.Refused(404, "resource_not_found", "", h.ping("whe_0", "none"))
	require.Equal(t, "true", h.ping("whe_0", "none").Header.Get("Idempotent-Replayed"))
	reader := *h.Server
	reader.Key = h.NewKey(h.Org, true, "read")
	require.Equal(t, 403, hooked{apitest.Earner{Server: &reader, ProgramID: h.ProgramID}, h.sink}.ping(id, "scope").Status)
	h.Must(200, h.ping(id, "scope"))
}
