package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/secret"
	"rail/server/telemetry/tracing"
	"rail/server/work"
)

// lease is the right to send to an endpoint. Each lease has a new token, so that results of a lost lease are not
// written.
type lease struct {
	endpoint string
	token    int64
}

// result is the outcome of an attempt for the writer, which answers on done.
type result struct {
	lease   lease
	d       db.WebhookNextRow
	outcome Outcome
	status  db.DeliveryStatus
	next    clock.Time
	at      clock.Time // end of the attempt
	done    chan verdict
}

// verdict is the writer's answer. stands is false if the lease was lost or the endpoint is disabled or deleted;
// same is true if the endpoint has not changed since it was read; quick is true for a quick acknowledgement.
type verdict struct{ stands, same, quick bool }

// work serves one endpoint until nothing is due, the turn is over, the lease is lost, or an attempt failed or
// was slow; it reports whether more may be due. A slow receiver thus leaves its place to another endpoint.
func (s *Sender) work(ctx context.Context, l lease) (more bool) {
	client := NewClient(s.Service, s.Dial)
	defer client.Close()
	began := clock.Real()
	var last *bool // whether the last attempt was quick
	for more = true; more && ctx.Err() == nil && time.Since(began) < turn; {
		due, err := s.next(ctx, l)
		if err != nil || len(due) == 0 {
			more = false
			break
		}
		v := s.sendAll(ctx, client, l, due, began)
		if last, more = &v.quick, v.stands; !v.quick {
			break
		}
	}
	s.release(ctx, l, last)
	return more
}

// next reads the first due deliveries up to the horizon: an event that may still be committed before them must
// not be skipped.
func (s *Sender) next(ctx context.Context, l lease) ([]db.WebhookNextRow, error) {
	h, err := s.settled(ctx, maxHorizonAge)
	if err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	p := db.WebhookNextParams{
		EndpointID: l.endpoint, Owner: s.owner, Token: l.token, Now: &now, Horizon: h.End, Lim: readAhead,
	}
	p.Classes, p.Belows = h.Arrays()
	return queries.WebhookNext(ctx, s.Pool, p)
}

// release returns a lease. It retries while the database is unavailable: a live sender's lease is never taken,
// so the endpoint would have to wait until the lease expires. quick is the result of the last attempt, nil if
// there was none.
func (s *Sender) release(ctx context.Context, l lease, quick *bool) {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), Deadline)
	defer cancel()
	for {
		err := queries.WebhookRelease(limit, s.Pool, db.WebhookReleaseParams{
			Quick: quick, EndpointID: l.endpoint, Owner: s.owner, Token: l.token,
		})
		if err == nil || ctx.Err() != nil || limit.Err() != nil {
			return
		}
		_ = clock.Wait(limit, releaseEvery)
	}
}

// sendAll sends the deliveries in order, and returns the last verdict. It stops early after an attempt that was
// not quick, if the endpoint has changed, or if the turn, which started at began, is over.
func (s *Sender) sendAll(ctx context.Context, client *Client, l lease, due []db.WebhookNextRow,
	began time.Time) (v verdict) {
	for i, d := range due {
		if i > 0 && (ctx.Err() != nil || time.Since(began) >= turn) {
			break
		}
		if v = s.sendOne(ctx, client, l, d); !v.stands || !v.same || !v.quick {
			break
		}
	}
	return v
}

// sendOne makes one attempt and waits until its result is written: the next delivery must not be sent on a lost
// lease.
func (s *Sender) sendOne(ctx context.Context, client *Client, l lease, d db.WebhookNextRow) verdict {
	now := s.Clock.Now()
	secrets, err := Sealed{
		Endpoint: l.endpoint, Secret: d.Secret, Previous: d.PreviousSecret, PreviousExpiresAt: d.PreviousExpiresAt,
	}.Live(s.Keeper, now)
	if err != nil {
		s.endpoints.Note(l.endpoint, fmt.Errorf("the secret cannot be decrypted: %w", err))
		return verdict{}
	}
	r := result{lease: l, d: d, status: db.DeliveryStatusDelivered, done: make(chan verdict, 1)}
	ctx, span := s.Tracer.Deliver(context.WithoutCancel(ctx), tracing.Delivery{
		ID: d.ID, Endpoint: l.endpoint, Event: d.EventType, RequestID: d.RequestID, Attempt: int(d.Attempts) + 1,
	})
	r.outcome = client.Send(ctx, Message{
		URL:        d.URL,
		EventID:    d.EventID,
		DeliveryID: d.ID,
		Type:       d.EventType,
		RequestID:  d.RequestID,
		Attempt:    int(d.Attempts) + 1,
		Body:       []byte(d.Body),
		Secrets:    secrets,
	}, clock.Wall(s.Clock).Now().Time) // the receiver compares it with its own clock
	r.outcome.Start = now.Time
	span.Attempted(r.outcome.Code, r.outcome.Err)
	if r.at = s.Clock.Now(); r.outcome.Err != "" {
		var again bool
		if r.next, again = Next(int(d.Attempts)+1, now); again {
			r.status = db.DeliveryStatusRetrying
		} else {
			r.status = db.DeliveryStatusFailed
		}
	}
	s.results <- r
	v := <-r.done
	s.countAttempt(r)
	v.quick = r.outcome.Err == "" && r.outcome.Took < quick
	return v
}

// countAttempt counts an attempt, and tracks outages of its endpoint.
func (s *Sender) countAttempt(r result) {
	s.outcomes.WithLabelValues(string(r.status)).Inc()
	var err error
	if r.outcome.Err != "" {
		err = errors.New(r.outcome.Err)
	}
	s.endpoints.Note(r.lease.endpoint, err)
}

// Sealed has the stored secrets of an endpoint. Previous may be nil; it also signs until PreviousExpiresAt.
type Sealed struct {
	Endpoint          string
	Secret, Previous  []byte
	PreviousExpiresAt *clock.Time
}

// Live opens the secrets that sign at now, newest first.
func (s Sealed) Live(keeper *secret.Keeper, now clock.Time) ([]string, error) {
	current, err := keeper.Open(s.Secret, SecretPlace(s.Endpoint, false))
	if err != nil || s.Previous == nil || !s.PreviousExpiresAt.After(now.Time) {
		return []string{string(current)}, err
	}
	previous, err := keeper.Open(s.Previous, SecretPlace(s.Endpoint, true))
	return []string{string(current), string(previous)}, err
}

// SecretPlace returns the place for sealing an endpoint's secret.
func SecretPlace(endpointID string, previous bool) string {
	if previous {
		return "webhook_endpoints.previous_secret/" + endpointID
	}
	return "webhook_endpoints.secret/" + endpointID
}

// write writes results. Concurrent results share a transaction, so that many endpoints wait for the disk once.
func (s *Sender) write(ctx context.Context) {
	for {
		var batch []result
		select {
		case <-ctx.Done():
			return
		case r := <-s.results:
			batch = append(batch, r)
		}
		for more := true; more && len(batch) < maxBusy; {
			select {
			case r := <-s.results:
				batch = append(batch, r)
			default:
				more = false
			}
		}
		leased := s.storeAll(ctx, batch)
		for _, r := range batch {
			row, ok := leased[r.d.ID]
			r.done <- verdict{stands: ok && row.Enabled, same: ok && row.Version.Equal(r.d.Version.Time)}
		}
	}
}

// releaseEvery is the interval between retries of a release.
const releaseEvery = 100 * time.Millisecond

// storeTimeout bounds the writing of results: a hanging connection must not delay every endpoint.
const storeTimeout = 10 * time.Second

// storeAll writes results together or, if that fails, one by one, so that a bad result does not affect the
// others. It returns the results whose lease was still valid, by delivery.
func (s *Sender) storeAll(ctx context.Context, batch []result) map[string]db.WebhookResultsRow {
	var leased map[string]db.WebhookResultsRow
	err := work.Retry(ctx, func() (err error) {
		leased, err = s.store(ctx, batch)
		return err
	})
	s.steps.Note("results", err)
	if err != nil {
		leased = map[string]db.WebhookResultsRow{}
		for _, r := range batch {
			one, err := s.store(ctx, []result{r})
			if err != nil {
				s.Log.Error("webhooks: result", "delivery", r.d.ID, "error", err)
			}
			maps.Copy(leased, one)
		}
	}
	for _, r := range batch {
		if _, ok := leased[r.d.ID]; ok && r.status == db.DeliveryStatusFailed {
			if err := s.turnOff(ctx, r); err != nil {
				s.Log.Error("webhooks: disabling endpoint", "endpoint", r.lease.endpoint, "error", err)
			}
		}
	}
	return leased
}

// store writes results in one statement, which skips lost leases.
func (s *Sender) store(ctx context.Context, batch []result) (map[string]db.WebhookResultsRow, error) {
	p := db.WebhookResultsParams{Owner: s.owner}
	for _, r := range batch {
		p.Ids = append(p.Ids, r.d.ID)
		p.EndpointIds = append(p.EndpointIds, r.lease.endpoint)
		p.Tokens = append(p.Tokens, r.lease.token)
		p.Statuses = append(p.Statuses, string(r.status))
		p.Attempts = append(p.Attempts, r.d.Attempts+1)
		p.ResponseCodes = append(p.ResponseCodes, int32(r.outcome.Code))
		p.Errors = append(p.Errors, r.outcome.Err)
		p.Durations = append(p.Durations, r.outcome.Took.Milliseconds())
		p.Attempted = append(p.Attempted, clock.At(r.outcome.Start))
		p.Next = append(p.Next, r.next)
		p.Finished = append(p.Finished, r.at)
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	rows, err := queries.WebhookResults(ctx, s.Pool, p)
	leased := map[string]db.WebhookResultsRow{}
	for _, row := range rows {
		leased[row.ID] = row
	}
	return leased, err
}

// turnOff disables the endpoint of a delivery that failed for good, if its last twenty deliveries all failed,
// over at least five days. It locks the endpoint before the deliveries, as the operations do.
func (s *Sender) turnOff(ctx context.Context, r result) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		off, err := queries.WebhookDisable(ctx, tx, db.WebhookDisableParams{
			Now: r.at, EndpointID: r.lease.endpoint, Since: r.at.Days(-30),
		})
		for _, e := range off {
			reason := "The endpoint was turned off: its last 20 events all failed, over five days."
			s.endpoints.Forget(e.ID)
			s.Log.Warn("webhooks: endpoint turned off after lasting failure", "endpoint", e.ID, "program", e.ProgramID)
			if _, err := cancelSome(ctx, tx, e, r.at, reason); err != nil {
				return err
			}
			if s.Disabled != nil {
				if err := s.Disabled(ctx, tx, e); err != nil {
					return err
				}
			}
		}
		return err
	})
}
