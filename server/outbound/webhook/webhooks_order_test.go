package webhook_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/gen/db"
	catalogue "rail/gen/events"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/wait"
	"rail/server/ident"
	"rail/server/outbound/webhook"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
	"rail/server/work/event"
)

// another returns the same server with a key of another organization.
func (h hooked) another() hooked {
	s := *h.Server
	s.Org = s.NewOrg("Another")
	s.Key = s.NewKey(s.Org, true, "read", "write")
	return hooked{s.Earner(), h.sink}
}

// record writes an event of the program.
func (h hooked) record(t *testing.T, tx pgtx.DBTX) (id string) {
	t.Helper()
	r := event.Recorder{Now: h.Clock.Now()}
	r.Record(h.Org, event.Subject{ProgramID: h.ProgramID, ID: "part_1"},
		catalogue.AffiliateCreated(api.AffiliateCreatedData{}))
	require.NoError(t, r.Flush(t.Context(), tx))
	return r.IDs()[0]
}

// arrived lists the events of a path in order of arrival.
func (h hooked) arrived(t *testing.T, path string, n int) (ids []string) {
	t.Helper()
	for _, r := range h.sink.Wait(t, path, n) {
		ids = append(ids, r.Header.Get("Rail-Event-Id"))
	}
	return ids
}

// TestWaitsForItsProgramOnly: a transaction that stays open delays what its own program records
// after it, and no other events.
func TestWaitsForItsProgramOnly(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	other := h.another()
	h.endpoint("/in")
	other.endpoint("/other")
	h.Deliver()
	tx, err := h.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // it may have ended
	first := h.record(t, tx)
	second := h.record(t, h.Pool)
	for n := range 3 { // each is a later poll of the sender
		other.record(t, h.Pool)
		other.arrived(t, "/other", n+1)
	}
	require.Empty(t, h.sink.Got("/in"))
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, []string{first, second}, h.arrived(t, "/in", 2))
}

// TestClockOfWriter: events of a server whose clock is ahead are delivered before later events of
// other servers.
func TestClockOfWriter(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	id := h.endpoint("/in").String("id")
	ahead := *h.Server
	ahead.URL = apitest.On(t, h.DSN, clock.NewManual(apitest.Start.Add(time.Hour))).URL
	ahead.Partner(h.ProgramID)
	h.Partner(h.ProgramID)
	waiting := h.log(id)[1]
	require.Equal(t, waiting.String("created_at"), waiting.String("next_attempt_at"))
	h.Deliver()
	var want []string
	for _, e := range h.Events(h.ProgramID) {
		want = append(want, e.String("id"))
	}
	require.Equal(t, want, h.arrived(t, "/in", 2))
	h.settled(t, id, "delivered", 2)
	ahead.Post("/v1/webhook_deliveries/"+waiting.String("id")+"/replay", nil)
	h.arrived(t, "/in", 3)
}

// TestReplayKeepsOrder: replayed events are delivered in their original order.
func TestReplayKeepsOrder(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	id := h.endpoint("/in").String("id")
	var want []string
	for range 12 {
		want = append(want, h.record(t, h.Pool))
	}
	stop := h.Deliver()
	require.Equal(t, want, h.arrived(t, "/in", 12))
	h.settled(t, id, "delivered", 12)
	stop()
	window := M{"from": h.Clock.Now().Days(-1).String(), "to": h.Clock.Now().String()}
	h.Must(202, h.Post("/v1/webhook_endpoints/"+id+"/replay", window))
	last := h.record(t, h.Pool)
	h.Deliver()
	require.Equal(t, append(append(want, want...), last), h.arrived(t, "/in", 25))
}

// hang adds endpoints that never answer to the program, and gives each of them events.
func (h hooked) hang(t *testing.T, endpoints, events int) {
	t.Helper()
	keeper, err := secret.New(h.Config.SecretKey)
	require.NoError(t, err)
	for range endpoints {
		id := ident.New(ident.Endpoint)
		sealed, err := keeper.Seal([]byte(webhook.NewSecret()), webhook.SecretPlace(id, false))
		require.NoError(t, err)
		require.NoError(t, db.New().WebhookEndpointInsert(t.Context(), h.Pool, db.WebhookEndpointInsertParams{
			ID: id, OrgID: h.Org, ProgramID: h.ProgramID, URL: "http://hangs.example/", EventTypes: []string{}, Enabled: true,
			Secret: sealed, CreatedAt: h.Clock.Now(),
		}))
	}
	for range events {
		h.record(t, h.Pool)
	}
}

// TestShares: more hanging receivers than a sender has places delay neither another organization's
// webhooks nor the organization's working endpoints.
func TestShares(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	h.DeliverBy(func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "hangs.") {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	})
	well, other := hooked{h.Server.Earner(), h.sink}, h.another()
	well.endpoint("/well")
	other.endpoint("/other")
	soon := func(of hooked, path string, n int) {
		of.record(t, h.Pool)
		sent := time.Now()
		of.arrived(t, path, n)
		require.Less(t, time.Since(sent), 8*time.Second, "number %d of %s", n, path)
	}
	soon(well, "/well", 1)
	h.hang(t, 700, 20)
	for n := range 20 {
		soon(other, "/other", n+1)
		soon(well, "/well", n+2)
	}
	wait.Until(t, func() bool {
		var busy int
		require.NoError(t,
			h.Pool.QueryRow(t.Context(), "SELECT count(*) FROM webhook_leases WHERE until > now()").Scan(&busy))
		require.Less(t, busy, 70, "an eighth of 512 places, and what is at work besides")
		return busy > 50 // except at the moment when all end at once
	}, "they hang")
}
