package inbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/apitest"
	"rail/server/inbound/connection"
	"rail/server/secret"
	"rail/server/work"
)

// TestPendingConnection: an address without a secret takes no event. With it, only a signed event of the connection's
// mode activates the connection, in place of the active one.
func TestPendingConnection(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	keeper, err := secret.New(h.Config.SecretKey)
	require.NoError(t, err)
	service := connection.Service{Keeper: keeper}
	within := func(do func(context.Context, *work.Unit) error) {
		u := work.NewRun(h.Pool, work.Actor{Kind: work.Operator, ID: "test"}, h.Clock.Now()).For(h.Org)
		require.NoError(t, u.Within(t.Context(), func(u *work.Unit) error { return do(t.Context(), u) }))
	}
	var c db.ProcessorConnection
	reserve := func(processor string) {
		within(func(ctx context.Context, u *work.Unit) (err error) {
			c, err = service.Reserve(ctx, u, connection.Input{ProgramID: h.ProgramID, Processor: processor, Live: true})
			return err
		})
	}
	reserve(connection.Stripe)
	empty := h.Connected(c.ID, "whsec_c2VjcmV0c2VjcmV0c2VjcmV0")
	empty.Processor = connection.Stripe
	require.Equal(t, 404, empty.Send(M{"type": "sale"}).Status, "there is no secret")
	reserve(connection.Generic)
	signing, err := service.Secret(c)
	require.NoError(t, err)
	is := func(want ...string) {
		t.Helper()
		require.Equal(t, want, []string{
			h.Get("/v1/processor_connections/" + c.ID).String("status"),
			h.Get("/v1/processor_connections/" + h.Connection.ID).String("status"),
		})
	}
	pending := h.Connected(c.ID, signing)
	sale := apitest.Paid("ch_1", M{})
	now := h.Clock.Now().Time
	require.Equal(t, 400, pending.SendRaw([]byte(`{}`), "msg_1", now, h.Connection.Signing).Status)
	is("pending", "active")
	h.Must(200, pending.Send(apitest.Paid("ch_0", M{"test": true})))
	h.Must(200, pending.Send(M{"test": true}))
	is("pending", "active")
	h.Must(200, pending.Send(sale))
	is("active", "disconnected")
	h.Must(200, pending.Send(sale))
	require.Equal(t, 404, h.Connection.Send(sale).Status)
	entries := h.Get("/v1/audit_log_entries?program_id=" + h.ProgramID + "&target_id=" + c.ID).Data()
	require.Equal(t, []any{"processor_connection.connected", "processor_connection.created"},
		[]any{entries[0]["action"], entries[1]["action"]})
	require.Equal(t, c.ID, entries[0]["actor_id"], "the processor's event has activated it")
}
