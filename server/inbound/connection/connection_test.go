package connection

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func service(t *testing.T) Service {
	t.Helper()
	keeper, err := secret.New([32]byte(bytes.Repeat([]byte{7}, 32)))
	require.NoError(t, err)
	return Service{Keeper: keeper}
}

// connect creates a connection of the tenant's program.
func connect(x *worktest.Tenant, s Service, in Input) (c db.ProcessorConnection, signing string, err error) {
	x.Helper()
	in.ProgramID = x.Program.ID
	err = x.Do(func(ctx context.Context, u *work.Unit) (err error) {
		c, signing, err = s.Connect(ctx, u, in)
		return err
	})
	return c, signing, err
}

// TestSecrets checks which secrets each processor accepts, and that they are stored sealed for their place.
func TestSecrets(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	for _, c := range []struct{ processor, secret, field string }{
		{"nobody", "x", "processor"}, {Stripe, "", "secret"}, {Paddle, "", "secret"}, {Polar, "", "secret"},
		{Generic, "x", "secret"}, {Generic, "whsec_!", "secret"}, {Generic, "whsec_c2hvcnQ=", "secret"},
		{Chargebee, "rail", "secret"}, {Chargebee, "rail:short", "secret"}, {Chargebee, ":0123456789abcdef", "secret"},
	} {
		_, _, err := connect(x, s, Input{Processor: c.processor, Secret: c.secret})
		var refused *InputError
		require.ErrorAs(t, err, &refused, "%s %s", c.processor, c.secret)
		require.Equal(t, c.field, refused.Field)
	}
	for _, processor := range []string{Generic, LemonSqueezy, Chargebee} {
		c, signing, err := connect(x, s, Input{Processor: processor})
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(signing), minPassword)
		got, err := s.Secret(c)
		require.NoError(t, err)
		require.Equal(t, signing, got)
	}
	c, _, err := connect(x, s, Input{Processor: Stripe, Secret: "whsec_1", APIKey: "rk_test_1"})
	require.NoError(t, err)
	key, err := s.Key(c)
	require.NoError(t, err)
	require.Equal(t, "rk_test_1", key)
	require.NotContains(t, string(c.Secret)+string(c.APIKey), "whsec_1")
	c.ID = "pco_other"
	_, err = s.Secret(c)
	require.Error(t, err, "a secret opens only at its place")
	require.Equal(t, "https://rail.example/hooks/stripe/pco_other", URL("https://rail.example/", c))
}

// TestOneActive checks that a program has one active connection for each processor and mode.
func TestOneActive(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	in := Input{Processor: Stripe, Secret: "whsec_1"}
	first, _, err := connect(x, s, in)
	require.NoError(t, err)
	_, _, err = connect(x, s, in)
	require.ErrorIs(t, err, ErrConnected)
	require.ErrorContains(t, err, first.ID)
	in.Live = true
	_, _, err = connect(x, s, in)
	require.NoError(t, err, "another mode")
	in.Live, in.Replace = false, true
	second, _, err := connect(x, s, in)
	require.NoError(t, err)
	require.Equal(t, []string{second.ID}, worktest.Rows[string](x,
		"SELECT id FROM processor_connections WHERE status = 'active' AND NOT livemode"))
	x.Must(func(ctx context.Context, u *work.Unit) error { return Disconnect(ctx, u, second) })
	x.Must(func(ctx context.Context, u *work.Unit) error { return Disconnect(ctx, u, second) })
	require.Equal(t, []string{
		"processor_connection.connected", "processor_connection.connected", "processor_connection.disconnected",
		"processor_connection.connected", "processor_connection.disconnected",
	}, worktest.Rows[string](x, "SELECT action FROM audit_log_entries ORDER BY id"), "a second end writes nothing")
}

// TestOfAnotherOrganization checks that another organization's program is not found.
func TestOfAnotherOrganization(t *testing.T) {
	t.Parallel()
	x, y, s := worktest.New(t), worktest.New(t), service(t)
	y.Refused(problem.ResourceNotFound, "program_id", func(ctx context.Context, u *work.Unit) error {
		_, _, err := s.Connect(ctx, u, Input{ProgramID: x.Program.ID, Processor: Generic})
		return err
	})
}

// TestPending reserves a connection, which is one for its processor and mode, sets its secret, and activates it in place
// of the active one.
func TestPending(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	old, _, err := connect(x, s, Input{Processor: Stripe, Secret: "whsec_1"})
	require.NoError(t, err)
	reserve := func(in Input) (c db.ProcessorConnection) {
		in.ProgramID = x.Program.ID
		x.Must(func(ctx context.Context, u *work.Unit) (err error) {
			c, err = s.Reserve(ctx, u, in)
			return err
		})
		return c
	}
	complete := func(c db.ProcessorConnection, in Input) (done db.ProcessorConnection, err error) {
		in.Processor = c.Processor
		err = x.Do(func(ctx context.Context, u *work.Unit) (err error) {
			done, err = s.Complete(ctx, u, c, in)
			return err
		})
		return done, err
	}
	c := reserve(Input{Processor: Stripe})
	require.Equal(t, []any{db.ConnectionStatusPending, []byte(nil)}, []any{c.Status, c.Secret})
	require.Equal(t, c.ID, reserve(Input{Processor: Stripe}).ID, "a second reservation is the same")
	require.NotEqual(t, c.ID, reserve(Input{Processor: Stripe, Live: true}).ID, "another mode")
	activate := func() { x.Must(func(ctx context.Context, u *work.Unit) error { return Activate(ctx, u, c) }) }
	activate()
	require.Equal(t, []string{"pending"}, statusOf(x, c.ID), "no secret, no events")
	_, err = complete(c, Input{})
	var refused *InputError
	require.ErrorAs(t, err, &refused)
	c, err = complete(c, Input{Secret: "whsec_2", RecordDirect: true})
	require.NoError(t, err)
	require.Equal(t, []any{db.ConnectionStatusPending, true}, []any{c.Status, c.RecordDirect})
	c, err = complete(c, Input{OutsideCheckout: true})
	require.NoError(t, err, "the secret stays")
	signing, err := s.Secret(c)
	require.NoError(t, err)
	require.Equal(t, "whsec_2", signing)
	activate()
	activate()
	require.Equal(t, []string{"active", "disconnected"}, append(statusOf(x, c.ID), statusOf(x, old.ID)...))
	_, err = complete(c, Input{Secret: "whsec_3"})
	require.ErrorContains(t, err, "has begun already")
	own := reserve(Input{Processor: Generic})
	signing, err = s.Secret(own)
	require.NoError(t, err)
	require.True(t, standard(signing), "Rail made a secret")
	x.Must(func(ctx context.Context, u *work.Unit) error { return Disconnect(ctx, u, own) })
	require.Empty(t, statusOf(x, own.ID), "a pending connection is deleted")
}

// TestKeyActivates: Rail creates the endpoint with a key, so no event has to prove the secret.
func TestKeyActivates(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	old, _, err := connect(x, s, Input{Processor: Stripe, Secret: "whsec_1"})
	require.NoError(t, err)
	var c db.ProcessorConnection
	in := Input{ProgramID: x.Program.ID, Processor: Stripe, Secret: "whsec_2", APIKey: "rk_1"}
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		if c, err = s.Reserve(ctx, u, in); err != nil {
			return err
		}
		c, err = s.Complete(ctx, u, c, in)
		return err
	})
	require.Equal(t, []string{"pending", "active"}, append(statusOf(x, c.ID), statusOf(x, old.ID)...), "a typed secret")
	in.Replace = true
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		c, err = s.Complete(ctx, u, c, in)
		return err
	})
	require.Equal(t, []string{"active", "disconnected"}, append(statusOf(x, c.ID), statusOf(x, old.ID)...))
	key, err := s.Key(c)
	require.NoError(t, err)
	require.Equal(t, "rk_1", key)
}

func statusOf(x *worktest.Tenant, id string) []string {
	x.Helper()
	return worktest.Rows[string](x, "SELECT status FROM processor_connections WHERE id = '"+id+"'")
}
