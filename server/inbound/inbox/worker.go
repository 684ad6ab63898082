package inbox

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/inbound/processor"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/event"
	"rail/server/work/queue"
	"rail/server/work/quota"
)

// backoff holds the times between the attempts for an event that fails.
var backoff = queue.Backoff{
	4 * time.Second, 16 * time.Second, 64 * time.Second, 256 * time.Second, 1024 * time.Second, 4096 * time.Second,
	16384 * time.Second,
}

const (
	// workers is the number of batches processed concurrently. Together they fill a shared transaction.
	workers = 8
	// retryAfter is when an event is retried that something written at the same moment might explain.
	retryAfter = time.Minute
)

// Worker processes the events of the inbox. Several workers can share one database.
type Worker struct {
	Pool   *pgxpool.Pool
	Keeper *secret.Keeper
	Clock  clock.Clock
	// Customers signs up customers of payments.
	Customers customer.Service
	// Plan has the default limits of organizations.
	Plan quota.Plan
	Log  *slog.Logger // may be nil
	// API requests missing data of events; nil disables it.
	API *API
	// Commits lets events share transactions; nil gives each its own.
	Commits *share.GroupCommit
}

// Run processes all due events. A failing event does not stop the others.
func (w Worker) Run(ctx context.Context, now clock.Time) error {
	b := &batches{
		Worker: w, ahead: now.Sub(w.Clock.Now().Time), asking: map[string]int{}, claimed: map[string]int64{},
		changed: make(chan struct{}),
	}
	return queue.Queue[db.InboxClaimRow]{Workers: workers, Clock: w.Clock, Claim: b.claim, Work: b.processEach}.Run(ctx)
}

// one processes one event. A refusal of the rules is its outcome; other errors are retried with growing delays,
// and given up after the last one. It returns a *blockedError if an earlier event must be processed first.
func (w Worker) one(ctx context.Context, t db.InboxClaimRow, now clock.Time) error {
	if t.Failures > int64(len(backoff)+1) {
		return w.fail(ctx, t, now, outcome{
			status: db.InboxStatusFailed, code: codeError, reason: "The last attempt did not finish.",
		})
	}
	err := queue.Guard(func() error { return w.process(ctx, t, now) })
	var refused *problem.Error
	switch {
	case err == nil:
		if w.Log != nil && t.Failures > 1 {
			w.Log.Info("inbox event processed after failures", "event", t.ID, "failures", t.Failures-1)
		}
		return nil
	case errors.As(err, new(*blockedError)):
		return err
	case ctx.Err() != nil:
		return ctx.Err() // the server is stopping; the lease expires
	case errors.As(err, &refused) && refused.Status() < 500:
		return w.fail(ctx, t, now, outcome{
			status: db.InboxStatusFailed, code: string(refused.Code), reason: refused.Message,
		})
	}
	wait, again := backoff.After(int(t.Failures))
	// Logged at the first failure and at the last.
	if w.Log != nil && (t.Failures == 1 || !again) {
		w.Log.Error("inbox event failed", "event", t.ID, "failures", t.Failures, "error", err)
	}
	o := outcome{
		status: db.InboxStatusPending, code: codeError, reason: "An error occurred; the event is retried.",
		due: new(now.Plus(wait)),
	}
	if !again {
		o.status, o.reason, o.due = db.InboxStatusFailed, "The event failed eight times.", nil
	}
	return w.fail(ctx, t, now, o)
}

// process applies an event and writes its outcome, unless its processor does not answer.
func (w Worker) process(ctx context.Context, t db.InboxClaimRow, now clock.Time) error {
	reading, err := w.ask(ctx, t, now)
	if unavailable := (*unavailableError)(nil); errors.As(err, &unavailable) {
		return w.postpone(ctx, t, now, unavailable)
	}
	if err != nil {
		return err
	}
	return w.unit(t, now).Within(ctx, func(u *work.Unit) error { return w.work(ctx, u, t, reading) })
}

// unit returns the unit of work of an event.
func (w Worker) unit(t db.InboxClaimRow, now clock.Time) *work.Unit {
	plan := w.Plan.With(quota.Own{
		FlowQuota: t.FlowQuota, RevenueMeterMinor: t.RevenueMeterMinor, FraudMonitoring: t.FraudMonitoring,
	})
	return work.New(w.Pool, work.Unit{
		OrgID: t.OrgID, Plan: plan, Actor: work.Actor{Kind: work.Processor}, RequestID: runOf(t.ID), Now: now,
	})
}

// runOf returns the request id of Rail's events caused by an inbox event.
func runOf(id string) string {
	_, own, _ := strings.Cut(strings.TrimPrefix(id, "sample_"), "_")
	return "run_" + own
}

// parsed is the reading of an event, or the error of reading it.
type parsed struct {
	r         processor.Reading
	malformed error
}

// parse reads an event without requests to its processor.
func parse(processorName string, body []byte) parsed {
	r, err := sources[processorName].Read(body)
	return parsed{r, err}
}

// open returns an event's connection and its decrypted body.
func (w Worker) open(
	ctx context.Context, tx pgtx.DBTX, e db.InboxEvent,
) (c db.ProcessorConnection, body []byte, err error) {
	c, err = queries.ConnectionGet(ctx, tx, db.ConnectionGetParams{ID: e.ConnectionID, OrgID: e.OrgID})
	if err == nil {
		body, err = w.Keeper.Open(e.Payload, PayloadPlace(e.ID))
	}
	return c, body, err
}

// work applies an event and writes its outcome, in the unit's transaction. reading is nil if the event has not been
// read.
func (w Worker) work(ctx context.Context, u *work.Unit, t db.InboxClaimRow, reading *parsed) error {
	var e db.InboxEvent
	var c db.ProcessorConnection
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) (err error) {
			e, err = queries.InboxLock(ctx, tx, db.InboxLockParams{ID: t.ID, OrgID: t.OrgID, Attempts: t.Attempts})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			c, err = queries.ConnectionGet(ctx, tx, db.ConnectionGetParams{ID: t.ConnectionID, OrgID: t.OrgID})
			return err
		},
		func(tx pgtx.DBTX) error { return unblocked(ctx, tx, t, u.Now) })
	if errors.Is(errs[0], pgx.ErrNoRows) {
		return nil // another worker has processed it
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if reading == nil {
		body, err := w.Keeper.Open(e.Payload, PayloadPlace(e.ID))
		if err != nil {
			return err
		}
		reading = new(parse(c.Processor, body))
	}
	u.Actor.ID = c.ID
	a := application{Worker: w, u: u, c: c, e: e, r: reading.r, enrols: t.AutoEnrolCustomers}
	cleanNames(&a.r)
	if a.r.At.IsZero() {
		a.r.At = e.CreatedAt
	}
	if reading.malformed != nil && isLive(a.r, c) == c.Livemode {
		return a.finish(ctx, failed(codeMalformed, reading.malformed.Error()))
	}
	o, err := a.apply(ctx)
	if err != nil {
		return err
	}
	return a.finish(ctx, o)
}

// cleanNames removes invisible characters from names, and drops email addresses with any: the payment counts
// nevertheless.
func cleanNames(r *processor.Reading) {
	bindings := []*processor.Binding{r.Binding}
	if r.Payment != nil {
		r.Payment.ProductName = plain.Name(r.Payment.ProductName)
		bindings = append(bindings, &r.Payment.Binding)
	}
	for _, b := range bindings {
		if b == nil {
			continue
		}
		if b.Name = plain.Name(b.Name); !plain.Addressed(b.Email) {
			b.Email = ""
		}
	}
}

// finish writes the outcome, and the keys that the event waits for.
func (a *application) finish(ctx context.Context, o outcome) error {
	u, e := a.u, a.e
	o.settle(e, u.Now)
	clearing := db.InboxWaitsClearParams{EventIds: []string{e.ID}, OrgIds: []string{e.OrgID}}
	if err := queries.InboxWaitsClear(ctx, u.Later(), clearing); err != nil {
		return err
	}
	if len(o.keys) > 0 {
		err := queries.InboxWaitsAdd(ctx, u.Later(), db.InboxWaitsAddParams{
			OrgID: e.OrgID, ProgramID: e.ProgramID, EventID: e.ID, Keys: o.keys,
		})
		if err != nil {
			return err
		}
	}
	recordFailed(u, e, o)
	return queries.InboxOutcome(ctx, u.Later(), db.InboxOutcomeParams{
		Ids:          []string{e.ID},
		OrgIds:       []string{e.OrgID},
		Statuses:     []string{string(o.status)},
		ReasonCodes:  []string{o.code},
		Reasons:      []string{o.reason},
		CustomerIds:  []string{o.customer},
		SaleIds:      []string{o.sale},
		RefundIds:    []string{o.refund},
		Retried:      []bool{o.due != nil},
		DueAts:       []clock.Time{opt.Value(o.due)},
		ProcessedAts: []clock.Time{u.Now},
	})
}

// fail writes the outcome of failed work, whose transaction was rolled back.
func (w Worker) fail(ctx context.Context, t db.InboxClaimRow, now clock.Time, o outcome) error {
	return w.write(ctx, t, now, o, func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
		return queries.InboxFail(ctx, tx, db.InboxFailParams{
			Status: o.status, ReasonCode: opt.OrNil(o.code), Reason: opt.OrNil(o.reason), DueAt: o.due, ProcessedAt: &now,
			ID:    t.ID,
			OrgID: t.OrgID, Attempts: t.Attempts,
		})
	})
}

// write writes an outcome, with the event of a failure, unless another worker has processed the event since.
func (w Worker) write(
	ctx context.Context, t db.InboxClaimRow, now clock.Time, o outcome,
	save func(context.Context, pgtx.DBTX) (int64, error),
) error {
	ctx = context.WithoutCancel(ctx)
	if o.status == db.InboxStatusPending {
		_, err := save(ctx, w.Pool)
		return err
	}
	u := work.New(w.Pool, work.Unit{
		OrgID: t.OrgID, Actor: work.Actor{Kind: work.Processor}, RequestID: runOf(t.ID), Now: now,
	})
	return u.Within(ctx, func(u *work.Unit) error {
		n, err := save(ctx, u.Tx)
		if err != nil || n == 0 {
			return err
		}
		turns := db.InboxTurnsClearParams{EventID: t.ID, OrgID: t.OrgID}
		if err := queries.InboxTurnsClear(ctx, u.Later(), turns); err != nil {
			return err
		}
		e, err := queries.InboxGet(ctx, u.Tx, db.InboxGetParams{ID: t.ID, OrgID: t.OrgID})
		recordFailed(u, e, o)
		return err
	})
}

// recordFailed records that an event failed.
func recordFailed(u *work.Unit, e db.InboxEvent, o outcome) {
	if o.status != db.InboxStatusFailed {
		return
	}
	u.Record(event.Subject{ProgramID: e.ProgramID, ID: e.ID}, events.InboxEventFailed(api.InboxEventFailedData{
		InboxEventID: e.ID, ConnectionID: e.ConnectionID, Processor: api.ConnectedProcessor(e.Processor),
		ExternalEventID: e.ExternalEventID, EventType: e.Type, ReasonCode: o.code, Reason: o.reason,
	}))
}
