package paypaltest

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A delivery that fails is tried again for three days.
const (
	mostTries  = 25
	retryEvery = 72 * time.Hour / mostTries
)

// events has the event of each state. A reversal has none.
var events = map[Status]string{
	Success:   "SUCCEEDED",
	Failed:    "FAILED",
	Unclaimed: "UNCLAIMED",
	OnHold:    "HELD",
	Returned:  "RETURNED",
	Blocked:   "BLOCKED",
	Refunded:  "REFUNDED",
}

// WebhookFault is a failure of one webhook.
type WebhookFault string

// The faults of webhooks.
const (
	WebhookFine   WebhookFault = ""
	WebhookLost   WebhookFault = "lost"
	WebhookTwice  WebhookFault = "twice"  // two deliveries of one event
	WebhookLate   WebhookFault = "late"   // one hour to ten days late
	WebhookLast   WebhookFault = "last"   // after all others that are due when it is delivered
	WebhookForged WebhookFault = "forged" // a changed body with the signature of the true one comes before it, once
	WebhookRotate WebhookFault = "rotate" // the first with a new certificate
)

// WebhookPlan has the probability of each fault of a webhook.
type WebhookPlan struct {
	Lost, Twice, Late, Last, Forged, Rotate float64
}

// FaultWebhooks gives the next webhooks one fault each, in order.
func (s *Server) FaultWebhooks(faults ...WebhookFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hookFaults = append(s.hookFaults, faults...)
}

// A delivery is a webhook to be sent. It has the state of its event's time.
type delivery struct {
	hook      *hook
	eventID   string
	eventType string
	body      []byte
	signed    []byte // the body that the signature is for
	due       time.Time
	last      bool
	rotate    bool
	once      bool
	tries     int
}

func (s *Server) notifyItem(it *item, event string, at time.Time) {
	if event != "" {
		s.notify("PAYMENT.PAYOUTS-ITEM."+event, "payouts_item", it.id, s.show(it, true), at)
	}
}

// notifyBatch notifies of the state of a batch, without its items.
func (s *Server) notifyBatch(b *batch, event string, at time.Time) {
	s.notify("PAYMENT.PAYOUTSBATCH."+event, "payouts", b.id, map[string]any{
		"batch_header": s.headerOf(b),
		"links":        []link{s.link("self", b.path())},
	}, at)
}

// notify queues an event for each address that wants it.
func (s *Server) notify(name, resourceType, key string, resource any, at time.Time) {
	for _, h := range s.hooks {
		if !h.wants(name) {
			continue
		}
		id := "WH-" + s.next(17, "event") + "-" + s.next(17, "event")
		body := encode(map[string]any{
			"id":            id,
			"event_version": "1.0",
			"create_time":   stamp(at),
			"resource_type": resourceType,
			"event_type":    name,
			"summary":       strings.ToLower(strings.ReplaceAll(name, ".", " ")),
			"resource":      resource,
			"links":         []link{s.link("self", "/v1/notifications/webhooks-events/"+id)},
		})
		s.enqueue(delivery{hook: h, eventID: id, eventType: name, body: body, signed: body, due: at}, name+" "+key)
	}
}

// enqueue queues a delivery with its fault.
func (s *Server) enqueue(d delivery, key string) {
	switch s.hookFault(key) {
	case WebhookLost:
		return
	case WebhookTwice:
		s.queue = append(s.queue, new(d))
	case WebhookLate:
		d.due = d.due.Add(s.between(time.Hour, 10*24*time.Hour, "late", key))
	case WebhookLast:
		d.last = true
	case WebhookForged:
		forged := d
		forged.body, forged.once = lie(d.body), true
		s.queue = append(s.queue, &forged)
	case WebhookRotate:
		d.rotate = true
	}
	s.queue = append(s.queue, &d)
}

// hookFault returns the fault of a webhook: the next fault that a test set, or a fault by the plan.
func (s *Server) hookFault(key string) WebhookFault {
	if len(s.hookFaults) > 0 {
		f := s.hookFaults[0]
		s.hookFaults = s.hookFaults[1:]
		return f
	}
	p := s.config.Plan.Webhooks
	for _, c := range []struct {
		p     float64
		fault WebhookFault
	}{
		{p.Lost, WebhookLost},
		{p.Twice, WebhookTwice},
		{p.Late, WebhookLate},
		{p.Last, WebhookLast},
		{p.Forged, WebhookForged},
		{p.Rotate, WebhookRotate},
	} {
		if s.chance(c.p, "webhook "+string(c.fault), key) {
			return c.fault
		}
	}
	return WebhookFine
}

var state = regexp.MustCompile(`"(transaction|batch)_status":"[A-Z]+"`)

// lie returns a body with another state.
func lie(body []byte) []byte {
	return state.ReplaceAllFunc(body, func(old []byte) []byte {
		name, value, _ := bytes.Cut(old, []byte(":"))
		to := `"SUCCESS"`
		if string(value) == to {
			to = `"DENIED"`
			if bytes.HasPrefix(name, []byte(`"transaction`)) {
				to = `"FAILED"`
			}
		}
		return append(append(bytes.Clone(name), ':'), to...)
	})
}

// Delivery is the record of one attempt to deliver a webhook.
type Delivery struct {
	EventID   string
	EventType string
	URL       string
	Body      []byte
	Status    int // the status of the answer; 0 if there was none
	Err       error
}

// Webhooks delivers the webhooks that are due, one after the other. A delivery without a 2xx answer is due again
// later, up to 25 times in three days.
func (s *Server) Webhooks(ctx context.Context) []Delivery {
	var out []Delivery
	for _, d := range s.takeDue() {
		out = append(out, s.deliver(ctx, d))
	}
	return out
}

// Queued returns the number of webhooks to be delivered, now or later.
func (s *Server) Queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	return len(s.queue)
}

// takeDue removes the due deliveries from the queue, and returns them in their order.
func (s *Server) takeDue() []*delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	now := s.now()
	var due, rest []*delivery
	for _, d := range s.queue {
		if d.due.After(now) {
			rest = append(rest, d)
		} else {
			due = append(due, d)
		}
	}
	s.queue = rest
	slices.SortStableFunc(due, func(a, b *delivery) int {
		if a.last != b.last {
			return cmp.Compare(order(a.last), order(b.last))
		}
		return a.due.Compare(b.due)
	})
	return due
}

func order(last bool) int {
	if last {
		return 1
	}
	return 0
}

// deliver sends a webhook.
func (s *Server) deliver(ctx context.Context, d *delivery) Delivery {
	out := Delivery{EventID: d.eventID, EventType: d.eventType, URL: d.hook.URL, Body: d.body}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.hook.URL, bytes.NewReader(d.body))
	if err == nil {
		s.sign(request.Header, d)
		out.Status, err = post(s.config.Client, request)
	}
	out.Err = err
	if (err != nil || out.Status/100 != 2) && !d.once && d.tries < mostTries {
		s.retry(d)
	}
	return out
}

func post(client *http.Client, request *http.Request) (int, error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // so that the connection is used again
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

func (s *Server) retry(d *delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.tries++
	d.due = s.now().Add(retryEvery)
	s.queue = append(s.queue, d)
}

// sign sets the headers of a webhook. Each attempt has its own transmission.
func (s *Server) sign(h http.Header, d *delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.rotate {
		s.useCertificate(CertValid)
		d.rotate = false
	}
	l := s.signer()
	id, at := transmissionID(s.next(32, "transmission")), stamp(s.now())
	digest := sha256.Sum256(message(id, at, d.hook.ID, d.signed))
	signature := must(rsa.SignPKCS1v15(rand.Reader, l.key, crypto.SHA256, digest[:]))
	h.Set("Content-Type", "application/json")
	h.Set("PAYPAL-TRANSMISSION-ID", id)
	h.Set("PAYPAL-TRANSMISSION-TIME", at)
	h.Set("PAYPAL-TRANSMISSION-SIG", base64.StdEncoding.EncodeToString(signature))
	h.Set("PAYPAL-CERT-URL", s.url+"/v1/notifications/certs/"+l.id)
	h.Set("PAYPAL-AUTH-ALGO", "SHA256withRSA")
}

// transmissionID writes an id in the form of a UUID.
func transmissionID(id string) string {
	id = strings.ToLower(id)
	return strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:32]}, "-")
}

// message returns the text that PayPal signs.
func message(id, at, webhookID string, body []byte) []byte {
	return fmt.Appendf(nil, "%s|%s|%s|%d", id, at, webhookID, crc32.ChecksumIEEE(body))
}
