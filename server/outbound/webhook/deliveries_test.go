package webhook

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/work"
)

// ids returns the ids of the deliveries, in the order of sending.
func (x *fixture) ids() []string {
	x.Helper()
	return worktest.Rows[string](x.Tenant, "SELECT id FROM webhook_deliveries ORDER BY event_seq")
}

// deliver finishes waiting deliveries.
func (x *fixture) deliver(status string) {
	x.Helper()
	x.Exec("UPDATE webhook_deliveries SET status = $1, next_attempt_at = NULL, finished_at = $2 WHERE finished_at IS NULL",
		status, x.Now)
}

func (x *fixture) replay(id string) (row db.WebhookLogRow, err error) {
	x.Helper()
	err = x.Do(func(ctx context.Context, u *work.Unit) (err error) {
		row, err = x.Replay(ctx, u, id)
		return err
	})
	return row, err
}

// A replay is a separate delivery with the same bytes, and wakes the sender.
func TestReplay(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	e, _ := x.endpoint(nil)
	x.happen()
	x.deliver("failed")
	old := x.ids()[0]
	again, err := x.replay(old)
	require.NoError(t, err)
	require.Equal(t, 1, x.woken)
	require.Equal(t, []string{"failed", "pending"}, x.deliveries())
	require.Equal(t, &old, again.WebhookDelivery.ReplayOf)
	var log []db.WebhookLogRow
	x.Now = x.Now.Plus(time.Second)
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		log, err = Log(ctx, u, e.ID)
		return err
	})
	require.Len(t, log, 2)
	require.Contains(t, again.Sent, `"type":"sale.deleted"`)
	for _, row := range log {
		require.Equal(t, again.Sent, row.Sent)
		require.Equal(t, again.WebhookDelivery.EventID, row.WebhookDelivery.EventID)
	}
}

// Test events, events older than 30 days, and deliveries to a disabled endpoint cannot be replayed.
func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	e, _ := x.endpoint(nil)
	x.happen()
	id := x.ids()[0]
	refused := func(code problem.Code) {
		t.Helper()
		x.Refused(code, "", func(ctx context.Context, u *work.Unit) error {
			_, err := x.Replay(ctx, u, id)
			return err
		})
	}
	x.change(e.ID, EndpointChange{Enabled: new(false)})
	refused(problem.WebhookEndpointDisabled)
	x.change(e.ID, EndpointChange{Enabled: new(true)})
	x.Now = x.Now.Days(30)
	_, err := x.replay(id)
	require.NoError(t, err)
	x.Now = x.Now.Plus(time.Microsecond)
	refused(problem.WebhookEventExpired)
	x.Exec("UPDATE webhook_deliveries SET is_test = true, body = '{}'")
	refused(problem.WebhookTestDelivery)
	require.Equal(t, 1, x.woken, "a refusal wakes nobody")
}

// A window replays each of its events once, in order; failed_since selects failures since then.
func TestReplayMany(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	e, _ := x.endpoint(nil)
	began := x.Now
	for _, status := range []string{"delivered", "failed"} {
		x.happen()
		x.deliver(status)
		x.Now = x.Now.Plus(time.Hour)
	}
	first := x.ids()
	replay := func(w Window) (n int64) {
		x.Must(func(ctx context.Context, u *work.Unit) (err error) {
			n, err = x.ReplayMany(ctx, u, e.ID, w)
			return err
		})
		return n
	}
	of := func(n int) []string {
		return worktest.Rows[string](x.Tenant,
			"SELECT replay_of FROM webhook_deliveries WHERE replay_of IS NOT NULL ORDER BY event_seq")[n:]
	}
	require.EqualValues(t, 1, replay(Window{FailedSince: &began}))
	require.Equal(t, first[1:], of(0))
	require.Zero(t, replay(Window{From: new(began.Plus(-time.Hour)), To: new(began.Plus(-time.Second))}))
	replayed := x.ids()[2]
	require.EqualValues(t, 2, replay(Window{From: &began, To: &x.Now}))
	require.Equal(t, []string{first[0], replayed}, of(1), "the last delivery of each event")
	require.Equal(t, 3, x.woken)
	x.change(e.ID, EndpointChange{Enabled: new(false)})
	x.Refused(problem.WebhookEndpointDisabled, "", func(ctx context.Context, u *work.Unit) error {
		_, err := x.ReplayMany(ctx, u, e.ID, Window{FailedSince: &began})
		return err
	})
}

// A window has one of its two forms and at most 30 days.
func TestWindow(t *testing.T) {
	t.Parallel()
	now := clock.At(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	old, older := now.Days(-30), now.Days(-30).Plus(-time.Microsecond)
	for _, c := range []struct {
		code  problem.Code
		param string
		w     Window
	}{
		{problem.ParametersExclusive, "failed_since", Window{FailedSince: &old, From: &old}},
		{problem.ParametersExclusive, "failed_since", Window{FailedSince: &old, To: &now}},
		{problem.ParameterInvalid, "failed_since", Window{FailedSince: &older}},
		{problem.ParameterMissing, "from", Window{}},
		{problem.ParameterMissing, "from", Window{To: &now}},
		{problem.ParameterMissing, "to", Window{From: &old}},
		{problem.ParameterInvalid, "to", Window{From: &now, To: &old}},
		{problem.ParameterInvalid, "to", Window{From: &older, To: &now}},
	} {
		_, err := c.w.params(now)
		var p *problem.Error
		require.ErrorAs(t, err, &p)
		require.Equal(t, []any{c.code, c.param}, []any{p.Code, p.Param})
	}
	failed, err := Window{FailedSince: &old}.params(now)
	require.NoError(t, err)
	require.Equal(t, db.WebhookReplayManyParams{FailedOnly: true, FromAt: old, ToAt: now}, failed)
	all, err := Window{From: &old, To: &now}.params(now)
	require.NoError(t, err)
	require.Equal(t, db.WebhookReplayManyParams{FromAt: old, ToAt: now}, all)
}

// The log has the last fifty deliveries.
func TestLog(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	e, _ := x.endpoint(nil)
	for range LogLength + 1 {
		x.Now = x.Now.Plus(time.Second)
		x.happen()
	}
	var log []db.WebhookLogRow
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		log, err = Log(ctx, u, e.ID)
		return err
	})
	require.Len(t, log, LogLength)
	require.Equal(t, x.Now, log[0].WebhookDelivery.CreatedAt)
	require.Equal(t, x.Now.Plus(-(LogLength-1)*time.Second), log[LogLength-1].WebhookDelivery.CreatedAt)
}
