package webhook

import (
	"context"
	"errors"
	"sync"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/event"
)

// Limits of concurrent pings, each of which may take ten seconds. An organization leaves places to others, and
// its postbacks leave some to its own endpoints.
const (
	maxPings         = 8
	maxPingsOfOrg    = 3
	maxPostbackPings = 2
)

// errBegun is a programming error: a transaction must not wait for a receiver.
var errBegun = errors.New("webhook: a ping within a transaction that has begun")

// Ping sends a test event of a type, "" for the first type of the endpoint, and returns the result (decisions,
// 163). It does not retry. It reads the endpoint outside of the unit's transaction, which begins with the
// commit: none is open while the receiver answers.
func (s *Endpoints) Ping(ctx context.Context, u *work.Unit, endpointID, kind string) (db.WebhookLogRow, error) {
	var sent db.WebhookLogRow
	if u.Tx.Begun() {
		return sent, errBegun
	}
	e, err := Get(ctx, u.Outside(), endpointID)
	if err != nil {
		return sent, err
	}
	done, ok := s.pings.begin(e)
	if !ok {
		return sent, tooManyPings()
	}
	defer done()
	if kind, err = testType(e, kind); err != nil {
		return sent, err
	}
	if sent, err = s.sendTest(ctx, u, e, kind); err != nil {
		return sent, err
	}
	return sent, insertDelivery(ctx, u, sent.WebhookDelivery)
}

// tooManyPings refuses a ping with a Retry-After of a second.
func tooManyPings() error {
	const words = "Too many endpoint tests are running; try again in a moment."
	p := problem.New(problem.RateLimitExceeded, words)
	p.RetryAfter = 1
	return p
}

// sendTest sends a test event once, and returns the row of its delivery, which is not written yet.
func (s *Endpoints) sendTest(
	ctx context.Context, u *work.Unit, e db.WebhookEndpoint, kind string,
) (db.WebhookLogRow, error) {
	d := db.WebhookDelivery{
		ID: ident.New(ident.Delivery), OrgID: e.OrgID, ProgramID: e.ProgramID, EndpointID: e.ID,
		EventID: ident.New(ident.TestEvent), EventType: kind, Attempts: 1, IsTest: true, LastAttemptAt: &u.Now,
		FinishedAt: &u.Now, CreatedAt: u.Now, Status: db.DeliveryStatusDelivered,
	}
	body, err := TestEvent(kind, d.EventID, u.Now, e.PartnerID != nil)
	if err != nil {
		return db.WebhookLogRow{}, err
	}
	sealed := Sealed{Endpoint: e.ID, Secret: e.Secret, Previous: e.PreviousSecret, PreviousExpiresAt: e.PreviousExpiresAt}
	secrets, err := sealed.Live(s.Keeper, u.Now)
	if err != nil {
		return db.WebhookLogRow{}, err
	}
	client := NewClient(s.Service, s.Guard.DialContext)
	defer client.Close()
	o := client.Send(ctx, Message{
		URL: e.URL, EventID: d.EventID, DeliveryID: d.ID, Type: kind, RequestID: u.RequestID, Attempt: 1, Body: body,
		Secrets: secrets,
	}, clock.Wall(s.Clock).Now().Time)
	text := string(body)
	d.Body, d.DurationMs, d.Error = &text, new(o.Took.Milliseconds()), opt.OrNil(o.Err)
	if o.Code > 0 {
		d.ResponseCode = new(int32(o.Code))
	}
	if o.Err != "" {
		d.Status = db.DeliveryStatusFailed
	}
	return db.WebhookLogRow{WebhookDelivery: d, Sent: text}, nil
}

// testType returns the requested type, or else the endpoint's first.
func testType(e db.WebhookEndpoint, eventType string) (string, error) {
	switch {
	case eventType != "":
		if e.PartnerID != nil && !event.PartnerVisible(eventType) {
			return "", notForPartners("event_type")
		}
		return eventType, nil
	case len(e.EventTypes) > 0:
		return e.EventTypes[0], nil
	case e.PartnerID != nil:
		return "referral.created", nil
	}
	return "affiliate.created", nil
}

// pings counts running pings for each limit: overall, by organization, by its postbacks, and by partner.
type pings struct {
	mu     sync.Mutex
	atWork map[string]int
}

// begin takes a place under every limit that applies to the endpoint, or none; done returns them.
func (p *pings) begin(e db.WebhookEndpoint) (done func(), ok bool) {
	bounds := map[string]int{"": maxPings, e.OrgID: maxPingsOfOrg}
	if e.PartnerID != nil {
		bounds[e.OrgID+"/postbacks"], bounds[*e.PartnerID] = maxPostbackPings, 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for of, most := range bounds {
		if p.atWork[of] >= most {
			return nil, false
		}
	}
	if p.atWork == nil {
		p.atWork = map[string]int{}
	}
	for of := range bounds {
		p.atWork[of]++
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for of := range bounds {
			if p.atWork[of]--; p.atWork[of] == 0 {
				delete(p.atWork, of)
			}
		}
	}, true
}
