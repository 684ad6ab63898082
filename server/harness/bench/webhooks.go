package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/outbound/webhook"
	"rail/server/secret"
	"rail/server/work/event"
)

// eventsPerSec is one event a second for each endpoint, so that none has a queue.
const (
	manyEndpoints = 200
	eventsPerSec  = 200
)

// warmShare is the reciprocal share of a queue's events that are delivered before it, without being measured: the
// database plans the first statements of each connection.
const warmShare = 5

// hooks is a webhook sender with a sink that answers at once, so that only the sender is measured.
type hooks struct {
	pool    *pgxpool.Pool
	keeper  *secret.Keeper
	sink    *httptest.Server
	arrived atomic.Int64
	mu      sync.Mutex
	sentAt  map[string]time.Time // by event id
	delays  []time.Duration
	sender  *webhook.Sender
	org     string
}

// webhooks measures the rate of deliveries, to one endpoint and to many, and the time from the commit of an event to
// its arrival. Deliveries to one endpoint are sequential, so the round trip limits that rate.
func (b *bench) webhooks(ctx context.Context, base run) (out []deliveries, took delay, err error) {
	keeper, err := secret.New(b.config.SecretKey)
	if err != nil {
		return nil, took, err
	}
	h := &hooks{pool: b.server.pool, keeper: keeper, sentAt: map[string]time.Time{}, org: ident.New(ident.Organization)}
	h.sink = httptest.NewServer(http.HandlerFunc(h.receive))
	defer h.sink.Close()
	if err := db.New().OrganizationInsert(ctx, h.pool,
		db.OrganizationInsertParams{ID: h.org, Name: "Webhooks", CreatedAt: clock.System{}.Now()}); err != nil {
		return nil, took, err
	}
	// Without the guard, which would refuse the sink on this machine.
	h.sender = webhook.NewSender(webhook.Options{
		Pool: h.pool, Keeper: keeper, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
		Dial: (&net.Dialer{}).DialContext, Service: "Rail",
	})
	for _, q := range []struct{ endpoints, events int }{{1, 1000}, {manyEndpoints, 10000}} {
		programs, err := h.programs(ctx, q.endpoints)
		if err != nil {
			return nil, took, err
		}
		if _, _, err := h.drain(ctx, programs, q.events/warmShare, b.meter); err != nil {
			return nil, took, err
		}
		rate, used, err := h.drain(ctx, programs, q.events, b.meter)
		if err != nil {
			return nil, took, err
		}
		out = append(out, deliveries{q.endpoints, rate})
		fmt.Fprintf(b.Out, "webhooks: %.0f deliveries/s to %d endpoints%s, each %d us of the database and %d bytes of its log\n",
			rate, q.endpoints, was("%.0f", base.deliveries(q.endpoints)), used.database.Microseconds()/int64(q.events),
			used.log/int64(q.events))
	}
	took, err = h.delay(ctx, time.Duration(b.Seconds)*time.Second)
	fmt.Fprintf(b.Out, "webhooks: from commit to arrival p50 %.1f ms, p99 %.1f ms at %d events/s over %d endpoints\n",
		took.P50, took.P99, eventsPerSec, manyEndpoints)
	return out, took, err
}

// receive counts a delivery, and notes how long its event took, if that is measured.
func (h *hooks) receive(_ http.ResponseWriter, r *http.Request) {
	at := time.Now()
	_, _ = io.Copy(io.Discard, r.Body) // a body that is cut off counts as arrived
	h.arrived.Add(1)
	h.mu.Lock()
	if sent, ok := h.sentAt[r.Header.Get("Rail-Event-Id")]; ok {
		h.delays = append(h.delays, at.Sub(sent))
	}
	h.mu.Unlock()
}

// programs creates n programs with one endpoint each, and returns their ids.
func (h *hooks) programs(ctx context.Context, n int) ([]string, error) {
	q, now := db.New(), clock.System{}.Now()
	out := make([]string, n)
	for i := range out {
		out[i] = ident.New(ident.Program)
		err := q.ProgramInsert(ctx, h.pool, db.ProgramInsertParams{
			ID: out[i], OrgID: h.org, Name: "P", ProductName: "P", WebsiteURL: "https://p.example", Currency: "USD",
			Status: "active", Subdomain: "p", CookieDays: 30, AttributionModel: db.AttributionModelLast, TimeZone: "UTC",
			URLParams: []string{}, PayoutTerm: "net_30", PayoutMethods: []string{}, StatementPrefix: "P",
			BlockedCountries: []string{}, CreatedAt: now, UpdatedAt: now,
		})
		if err != nil {
			return nil, err
		}
		// An endpoint for all types of events.
		id := ident.New(ident.Endpoint)
		sealed, err := h.keeper.Seal([]byte(webhook.NewSecret()), webhook.SecretPlace(id, false))
		if err != nil {
			return nil, err
		}
		err = q.WebhookEndpointInsert(ctx, h.pool, db.WebhookEndpointInsertParams{
			ID: id, OrgID: h.org, ProgramID: out[i], URL: h.sink.URL, EventTypes: []string{}, Enabled: true, Secret: sealed,
			CreatedAt: now,
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// record commits n events in one transaction and wakes the sender, as the server does. The type of the
// event does not matter; this one has the smallest body.
func (h *hooks) record(ctx context.Context, program string, n int) error {
	r := event.Recorder{RequestID: "req_bench", Now: clock.System{}.Now()}
	for range n {
		r.Record(h.org, event.Subject{ProgramID: program, ID: "part_bench"}, events.AffiliateDeleted(api.AffiliateDeletedData{
			PartnerID: "part_bench",
		}))
	}
	if err := r.Flush(ctx, h.pool); err != nil {
		return err
	}
	// The clock starts at the commit; a delivery may come before its time is noted, and is
	// then not counted.
	at := time.Now()
	h.mu.Lock()
	for _, id := range r.IDs() {
		h.sentAt[id] = at
	}
	h.mu.Unlock()
	h.sender.Wake()
	return nil
}

// drain measures the rate at which a queue of events empties, and what that costs. Each program has one endpoint. The
// sender starts when all events are there.
func (h *hooks) drain(ctx context.Context, programs []string, events int, m meter) (perSecond float64, used spent, err error) {
	for _, p := range programs {
		if err := h.record(ctx, p, events/len(programs)); err != nil {
			return 0, used, err
		}
	}
	// The sender ends with the measurement.
	ctx, stop := context.WithCancel(ctx)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer stop()
	h.arrived.Store(0)
	before, began := m.read(0), time.Now()
	sending.Go(func() { h.sender.Run(ctx) })
	// A millisecond is little against the seconds that this takes.
	for h.arrived.Load() < int64(events) {
		time.Sleep(time.Millisecond)
	}
	perSecond = float64(events) / time.Since(began).Seconds()
	return perSecond, m.read(0).since(before), nil
}

// delay measures the time from commit to arrival at a steady rate, which is far below what the sender
// can do: it is the time of an idle queue.
func (h *hooks) delay(ctx context.Context, length time.Duration) (delay, error) {
	programs, err := h.programs(ctx, manyEndpoints)
	if err != nil {
		return delay{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go h.sender.Run(ctx)
	// Start and first look at the queue are not part of it.
	time.Sleep(time.Second)
	h.mu.Lock()
	h.delays = nil
	h.mu.Unlock()
	// One event a tick, to one endpoint after the other.
	tick := time.NewTicker(time.Second / eventsPerSec)
	defer tick.Stop()
	end := time.Now().Add(length)
	for i := 0; time.Now().Before(end); i++ {
		<-tick.C
		if err := h.record(ctx, programs[i%len(programs)], 1); err != nil {
			return delay{}, err
		}
	}
	// Time for the last ones to arrive.
	time.Sleep(time.Second)
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.Sort(h.delays)
	// A median of nothing would look like a very fast sender.
	if len(h.delays) == 0 {
		return delay{}, fmt.Errorf("nothing arrived")
	}
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	return delay{ms(h.delays[len(h.delays)/2]), ms(h.delays[len(h.delays)*99/100])}, nil
}
