package webhook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/event"
)

// fixture is a tenant with endpoint rules that allow any https address.
type fixture struct {
	*worktest.Tenant
	*Endpoints
	woken int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	x := &fixture{Tenant: worktest.New(t)}
	guard := NewGuard(nil, true, "https://rail.example")
	guard.Resolver = names{}
	x.Endpoints = &Endpoints{Keeper: keeper, Guard: guard, Service: "Rail", Wake: func() { x.woken++ }}
	return x
}

// endpoint adds an endpoint of the program, or of a partner if given.
func (x *fixture) endpoint(partner *string, types ...string) (e db.WebhookEndpoint, secret string) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		e, secret, err = x.Create(ctx, u, NewEndpoint{
			ProgramID: x.Program.ID, PartnerID: partner, URL: "https://hooks.example/rail", EventTypes: types,
		})
		return err
	})
	return e, secret
}

func (x *fixture) change(id string, to EndpointChange) (e db.WebhookEndpoint) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		e, err = x.Endpoints.Update(ctx, u, id, to)
		return err
	})
	return e
}

func (x *fixture) stored(id string) db.WebhookEndpoint {
	x.Helper()
	e, err := queries.WebhookEndpointGet(x.Context(), x.Pool, db.WebhookEndpointGetParams{ID: id, OrgID: x.OrgID})
	require.NoError(x, err)
	return e
}

// opened returns the content of an endpoint's sealed secret.
func (x *fixture) opened(e db.WebhookEndpoint, sealed []byte, previous bool) string {
	x.Helper()
	plain, err := x.Keeper.Open(sealed, SecretPlace(e.ID, previous))
	require.NoError(x, err)
	return string(plain)
}

// happen records an event of the program that all its endpoints take.
func (x *fixture) happen() {
	x.Helper()
	x.Must(func(_ context.Context, u *work.Unit) error {
		about := event.Subject{ProgramID: x.Program.ID, ID: "sale_1"}
		u.Record(about, events.SaleDeleted(api.SaleDeletedData{SaleID: "sale_1"}))
		return nil
	})
}

// deliveries returns their states, oldest first.
func (x *fixture) deliveries() []string {
	x.Helper()
	return worktest.Rows[string](x.Tenant,
		"SELECT concat_ws(': ', status, error) FROM webhook_deliveries ORDER BY event_seq")
}

// The secret is shown once and stored sealed; duplicate types count once.
func TestCreate(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	e, secret := x.endpoint(nil, "sale.created", "payout.due", "sale.created")
	require.True(t, strings.HasPrefix(secret, SecretPrefix))
	e = x.stored(e.ID)
	require.Equal(t, secret, x.opened(e, e.Secret, false))
	require.NotContains(t, string(e.Secret), secret)
	require.Equal(t, []string{"sale.created", "payout.due"}, e.EventTypes)
	require.True(t, e.Enabled)
}

// An address must be public, a partner of the program, and a postback's types visible to partners.
func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.Partners(1)
	other := x.NewProgram()
	for _, c := range []struct {
		code  problem.Code
		param string
		in    NewEndpoint
	}{
		{problem.URLNotAllowed, "url", NewEndpoint{ProgramID: x.Program.ID, URL: "http://hooks.example"}},
		{problem.URLNotAllowed, "url", NewEndpoint{ProgramID: x.Program.ID, URL: "https://127.0.0.1"}},
		{problem.URLNotAllowed, "url", NewEndpoint{ProgramID: "prg_none", URL: "https://rail.example/hook"}},
		{problem.ResourceNotFound, "program_id", NewEndpoint{ProgramID: "prg_none", URL: "https://hooks.example"}},
		{problem.ResourceNotFound, "partner_id", NewEndpoint{
			ProgramID: x.Program.ID, URL: "https://hooks.example", PartnerID: new("part_2"),
		}},
		{problem.InvalidReference, "partner_id", NewEndpoint{
			ProgramID: other.ID, URL: "https://hooks.example", PartnerID: new("part_1"),
		}},
		{problem.ParameterInvalid, "event_types[1]", NewEndpoint{
			ProgramID: x.Program.ID, URL: "https://hooks.example", PartnerID: new("part_1"),
			EventTypes: []string{"payout.due", "sale.created"},
		}},
	} {
		x.Refused(c.code, c.param, func(ctx context.Context, u *work.Unit) error {
			_, _, err := x.Create(ctx, u, c.in)
			return err
		})
	}
	require.Empty(t, worktest.Rows[string](x.Tenant, "SELECT id FROM webhook_endpoints"))
}

// A program has a maximum of endpoints, and a partner a separate one of postbacks.
func TestQuota(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.Partners(2)
	for range maxEndpoints {
		x.endpoint(nil)
		x.endpoint(new("part_1"))
	}
	for _, partner := range []*string{nil, new("part_1")} {
		x.Refused(problem.WebhookEndpointLimit, "", func(ctx context.Context, u *work.Unit) error {
			_, _, err := x.Create(ctx, u, NewEndpoint{
				ProgramID: x.Program.ID, PartnerID: partner, URL: "https://hooks.example",
			})
			return err
		})
	}
	x.endpoint(new("part_2"))
}

// Disabling or enabling an endpoint cancels waiting deliveries; repeating the present state keeps them, but
// resets the failures.
func TestEnable(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	e, _ := x.endpoint(nil)
	x.happen()
	x.Now = x.Now.Days(1)
	require.Equal(t, x.Now, x.change(e.ID, EndpointChange{Enabled: new(true)}).CountedSince)
	require.Equal(t, []string{"pending"}, x.deliveries())
	counted := x.Now
	x.Now = x.Now.Days(1)
	off := x.change(e.ID, EndpointChange{Enabled: new(false)})
	require.Equal(t, []any{false, counted, x.Now}, []any{off.Enabled, off.CountedSince, off.UpdatedAt})
	require.Equal(t, []string{"failed: The endpoint was turned off."}, x.deliveries())
	x.happen()
	require.Len(t, x.deliveries(), 1, "it gets nothing more")
	x.Now = x.Now.Days(1)
	on := x.change(e.ID, EndpointChange{Enabled: new(true)})
	require.Equal(t, x.Now, on.CountedSince)
	require.Equal(t, on, x.stored(e.ID))
}

// many gives the fixture an endpoint with more waiting deliveries than a batch by four, and fails a statement that changes
// more of them than a batch.
func (x *fixture) many() db.WebhookEndpoint {
	x.Helper()
	e, _ := x.endpoint(nil)
	x.happen()
	x.Exec(`INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status,
			next_attempt_at, created_at)
		SELECT d.id || n, d.org_id, d.program_id, d.endpoint_id, d.event_id, d.event_type, d.event_seq, d.status,
			d.next_attempt_at, d.created_at FROM webhook_deliveries d, generate_series(1, $1::integer) n`, logBatch+3)
	x.Exec(fmt.Sprintf(`CREATE FUNCTION few() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF (SELECT count(*) FROM changed) > %d THEN RAISE 'too many'; END IF; RETURN NULL; END $$`, logBatch))
	x.Exec(`CREATE TRIGGER few_updates AFTER UPDATE ON webhook_deliveries REFERENCING OLD TABLE AS changed
		FOR EACH STATEMENT EXECUTE FUNCTION few()`)
	x.Exec(`CREATE TRIGGER few_deletes AFTER DELETE ON webhook_deliveries REFERENCING OLD TABLE AS changed
		FOR EACH STATEMENT EXECUTE FUNCTION few()`)
	return e
}

// TestDisableManyWaiting: to disable an endpoint cancels a batch of deliveries, and the clean-up job cancels the rest. To
// enable it again cancels all, in batches.
func TestDisableManyWaiting(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	e := x.many()
	waiting := func() int64 {
		return worktest.Rows[int64](x.Tenant, "SELECT count(*) FROM webhook_deliveries WHERE next_attempt_at IS NOT NULL")[0]
	}
	x.change(e.ID, EndpointChange{Enabled: new(false)})
	require.EqualValues(t, 4, waiting())
	n, err := queries.WebhookCancelDisabled(t.Context(), x.Pool, db.WebhookCancelDisabledParams{Now: &x.Now, Lim: 3})
	require.NoError(t, err)
	require.Equal(t, []int64{3, 1}, []int64{n, waiting()})
	for _, half := range []string{"0", "5"} {
		x.Exec(`UPDATE webhook_deliveries SET status = 'pending', next_attempt_at = created_at, finished_at = NULL
			WHERE (right(id, 1) < '5') = (` + half + ` = 0)`)
	}
	require.EqualValues(t, logBatch+4, waiting())
	x.change(e.ID, EndpointChange{Enabled: new(true)})
	require.Zero(t, waiting())
}

// TestDeleteLongLog: an endpoint is deleted with its log, in batches.
func TestDeleteLongLog(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	e := x.many()
	x.Must(func(ctx context.Context, u *work.Unit) error { return Delete(ctx, u, e.ID) })
	require.Equal(t, []int64{0, 0}, worktest.Rows[int64](x.Tenant, `SELECT count(*) FROM webhook_deliveries
		UNION ALL SELECT count(*) FROM webhook_endpoints`))
}

// Fields that a change leaves out stay, and an address is checked again.
func TestChange(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.Partners(1)
	e, _ := x.endpoint(new("part_1"), "payout.due")
	changed := x.change(e.ID, EndpointChange{URL: new("https://new.example")})
	require.Equal(t, []any{"https://new.example", []string{"payout.due"}, true},
		[]any{changed.URL, changed.EventTypes, changed.Enabled})
	require.Empty(t, x.change(e.ID, EndpointChange{EventTypes: []string{}}).EventTypes)
	for param, to := range map[string]EndpointChange{
		"url": {URL: new("https://10.0.0.1")}, "event_types[0]": {EventTypes: []string{"sale.created"}},
	} {
		code := problem.ParameterInvalid
		if param == "url" {
			code = problem.URLNotAllowed
		}
		x.Refused(code, param, func(ctx context.Context, u *work.Unit) error {
			_, err := x.Endpoints.Update(ctx, u, e.ID, to)
			return err
		})
	}
}

// At most two secrets are valid: the new one, and for a day the previous one.
func TestRotate(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	e, first := x.endpoint(nil)
	rotate := func() (now string) {
		x.Must(func(ctx context.Context, u *work.Unit) (err error) {
			_, now, err = x.Endpoints.Rotate(ctx, u, e.ID)
			return err
		})
		e = x.stored(e.ID)
		return now
	}
	live := func() []string {
		return []string{x.opened(e, e.Secret, false), x.opened(e, e.PreviousSecret, true)}
	}
	second := rotate()
	require.Equal(t, []string{second, first}, live())
	x.Now = x.Now.Plus(time.Hour)
	third := rotate()
	require.Equal(t, []string{third, second}, live())
	require.Equal(t, x.Now.Days(1), *e.PreviousExpiresAt)
	require.NotEqual(t, second, third)
}

// A unit restricted to another program finds no endpoint of this one.
func TestEndpointsOfAnotherProgram(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	e, _ := x.endpoint(nil)
	for _, do := range []func(ctx context.Context, u *work.Unit) error{
		func(ctx context.Context, u *work.Unit) error { _, err := Get(ctx, u, e.ID); return err },
		func(ctx context.Context, u *work.Unit) error { _, err := Log(ctx, u, e.ID); return err },
		func(ctx context.Context, u *work.Unit) error { return Delete(ctx, u, e.ID) },
	} {
		x.Refused(problem.ResourceNotFound, "program_id", func(ctx context.Context, u *work.Unit) error {
			u.Programs = []string{"prg_other"}
			return do(ctx, u)
		})
	}
	x.Must(func(ctx context.Context, u *work.Unit) error { return Delete(ctx, u, e.ID) })
	require.Empty(t, worktest.Rows[string](x.Tenant, "SELECT id FROM webhook_endpoints"))
}
