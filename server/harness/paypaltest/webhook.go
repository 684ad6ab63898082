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
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
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

// A hook is a registered address.
type hook struct {
	ID         string      `json:"id"`
	URL        string      `json:"url"`
	EventTypes []eventType `json:"event_types"`
	Links      []link      `json:"links"`
}

type eventType struct {
	Name string `json:"name"`
}

func (h *hook) wants(name string) bool {
	return slices.ContainsFunc(h.EventTypes, func(e eventType) bool { return e.Name == "*" || e.Name == name })
}

// Register registers an address for all events, or for the named ones, and returns the id of the webhook.
func (s *Server) Register(address string, eventTypes ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if eventTypes == nil {
		eventTypes = []string{"*"}
	}
	types := make([]eventType, len(eventTypes))
	for i, name := range eventTypes {
		types[i].Name = name
	}
	return s.register(address, types).ID
}

func (s *Server) register(address string, types []eventType) *hook {
	h := &hook{ID: s.next(17, "webhook"), URL: address, EventTypes: types}
	h.Links = []link{s.link("self", "GET", "/v1/notifications/webhooks/"+h.ID)}
	s.hooks = append(s.hooks, h)
	return h
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
		"links":        []link{s.link("self", "GET", b.path())},
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
			"links":         []link{s.link("self", "GET", "/v1/notifications/webhooks-events/"+id)},
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

// hookFault returns the fault of a webhook: the next one that a test set, else by the plan.
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
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // so that the connection is used again
	return response.StatusCode, nil
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

// verify reports whether the fake signed a webhook, with a certificate that is to be trusted.
func (s *Server) verify(_ *http.Request, body []byte) answer {
	var v struct {
		Algo    string          `json:"auth_algo"`
		CertURL string          `json:"cert_url"`
		ID      string          `json:"transmission_id"`
		Sig     string          `json:"transmission_sig"`
		Time    string          `json:"transmission_time"`
		HookID  string          `json:"webhook_id"`
		Event   json.RawMessage `json:"webhook_event"`
	}
	if json.Unmarshal(body, &v) != nil {
		return fail(http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	if slices.Contains([]string{v.Algo, v.CertURL, v.ID, v.Sig, v.Time, v.HookID, string(v.Event)}, "") {
		return invalid(detail{Field: "webhook_event", Location: "body", Issue: "Required field missing"})
	}
	status := "FAILURE"
	l := s.authority.leaves[v.CertURL[strings.LastIndexByte(v.CertURL, '/')+1:]]
	known := slices.ContainsFunc(s.hooks, func(h *hook) bool { return h.ID == v.HookID })
	signature, err := base64.StdEncoding.DecodeString(v.Sig)
	if l != nil && l.kind == CertValid && known && err == nil && v.Algo == "SHA256withRSA" {
		digest := sha256.Sum256(message(v.ID, v.Time, v.HookID, v.Event))
		if rsa.VerifyPKCS1v15(&l.key.PublicKey, crypto.SHA256, digest[:], signature) == nil {
			status = "SUCCESS"
		}
	}
	return answer{status: http.StatusOK, body: map[string]string{"verification_status": status}}
}

// createHook registers an address.
func (s *Server) createHook(_ *http.Request, body []byte) answer {
	var h hook
	if json.Unmarshal(body, &h) != nil {
		return fail(http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	address, err := url.Parse(h.URL)
	if err != nil || address.Host == "" || len(h.URL) > 2048 {
		return invalid(detail{Field: "url", Location: "body", Issue: "Not a valid webhook URL"})
	}
	if len(h.EventTypes) == 0 || len(h.EventTypes) > 500 {
		return invalid(detail{Field: "event_types", Location: "body", Issue: "Must have 1 to 500 elements"})
	}
	if slices.ContainsFunc(s.hooks, func(other *hook) bool { return other.URL == h.URL }) {
		return fail(http.StatusBadRequest, "WEBHOOK_URL_ALREADY_EXISTS")
	}
	return answer{status: http.StatusCreated, body: s.register(h.URL, h.EventTypes)}
}

func (s *Server) listHooks(*http.Request, []byte) answer {
	return answer{status: http.StatusOK, body: map[string]any{"webhooks": append([]*hook{}, s.hooks...)}}
}

func (s *Server) showHook(r *http.Request, _ []byte) answer {
	n := s.findHook(r)
	if n < 0 {
		return unknownID()
	}
	return answer{status: http.StatusOK, body: s.hooks[n]}
}

func (s *Server) deleteHook(r *http.Request, _ []byte) answer {
	n := s.findHook(r)
	if n < 0 {
		return unknownID()
	}
	s.hooks = slices.Delete(s.hooks, n, n+1)
	return answer{status: http.StatusNoContent}
}

func (s *Server) findHook(r *http.Request) int {
	return slices.IndexFunc(s.hooks, func(h *hook) bool { return h.ID == r.PathValue("id") })
}
