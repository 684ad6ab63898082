package bar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"rail/server/outbound/webhook/verify"
)

// webhooks is G8: receivers of every kind, order, one request at a time, and
// signatures. That nothing is lost over kills is G7's; the schedule of 63 hours
// needs a moved clock, and is a test of its own.
func webhooks(ctx context.Context, w *world, size Size) (figures, error) {
	h := &hooks{w: w, endpoints: map[string]string{}}
	if err := h.prepare(ctx, size); err != nil {
		return nil, err
	}
	defer h.close()
	var f figures
	if err := h.healthy(ctx, size.of(400, 40), &f); err != nil {
		return nil, err
	}
	if err := h.outcomes(ctx, &f); err != nil {
		return nil, err
	}
	h.replay(ctx)
	return f, nil
}

type hooks struct {
	w         *world
	o         *org
	program   string
	bad       *badReceiver
	tls       *httptest.Server
	expected  []behaviour
	endpoints map[string]string // of behaviours, by name
	good      answer            // the endpoint of the healthy receiver
}

func (h *hooks) close() {
	_ = h.bad.listener.Close() // nothing is lost
	h.tls.Close()
}

func (h *hooks) endpoint(ctx context.Context, url string, types ...string) answer {
	return h.o.object(ctx, "/v1/webhook_endpoints", M{"program_id": h.program, "url": url, "event_types": types})
}

// prepare names a receiver of each kind and gives each one event.
func (h *hooks) prepare(ctx context.Context, size Size) (err error) {
	if h.o, err = h.w.org(ctx, "Hooks"); err != nil {
		return err
	}
	if h.bad, err = newReceiver(h.w.sink.keep("/redirected")); err != nil {
		return err
	}
	h.tls = httptest.NewUnstartedServer(http.NotFoundHandler())
	h.tls.Config.ErrorLog = log.New(io.Discard, "", 0) // that nobody trusts it is the point
	h.tls.StartTLS()
	for _, b := range behaviours() {
		if size.Smoke && (b.name == "late" || b.name == "too-late" || b.name == "silent" || b.name == "drip") {
			continue // ten seconds each
		}
		h.receive(ctx, b, h.bad.url(b.name))
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, url := range map[string]string{
		"refused": closed.URL, "self-signed": h.tls.URL, "no TLS": "https://" + h.bad.listener.Addr().String() + "/tls",
		"no name": "http://no-such-host.invalid/",
	} {
		h.receive(ctx, behaviour{name: name}, url)
	}
	h.begin(ctx)
	return nil
}

// perProgram keeps below the most endpoints that a program may have.
const perProgram = 15

func (h *hooks) receive(ctx context.Context, b behaviour, url string) {
	if len(h.expected)%perProgram == 0 {
		h.begin(ctx)
	}
	h.expected = append(h.expected, b)
	h.endpoints[b.name] = h.endpoint(ctx, url, "affiliate.created").text("id")
}

// begin gives the receivers of the program, if there is one, their event, and
// makes the next program.
func (h *hooks) begin(ctx context.Context) {
	if h.program != "" {
		h.o.object(ctx, "/v1/partners", M{"program_id": h.program, "email": h.w.unique("hook") + "@example.com"})
	}
	h.program = h.o.made(ctx, "/v1/programs", M{
		"name": "Hooks", "website_url": "https://hooks.example", "currency": "USD",
	})
}

// healthy sends many events to a receiver that is well while others hang: they
// come in order, one at a time, soon, and signed.
func (h *hooks) healthy(ctx context.Context, n int, f *figures) error {
	h.good = h.endpoint(ctx, h.w.sink.keep("/healthy"), "affiliate.updated")
	partner := h.o.object(ctx, "/v1/partners",
		M{"program_id": h.program, "email": h.w.unique("hook") + "@example.com"}).text("id")
	for i := range n {
		h.o.object(ctx, "/v1/partners/"+partner, M{"first_name": fmt.Sprint("Ada ", i)})
	}
	var got []received
	limit := time.Now().Add(30 * time.Second)
	began := time.Now()
	for len(got) < n && time.Now().Before(limit) {
		got = h.w.sink.got("/healthy")
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	if len(got) != n {
		return fmt.Errorf("%d of %d events arrived at a receiver that is well", len(got), n)
	}
	if most := h.w.sink.atOnce("/healthy"); most != 1 {
		h.w.fault("%d requests at once to one endpoint", most)
	}
	order, err := h.order(ctx)
	if err != nil {
		return err
	}
	var arrived []string
	for _, r := range got {
		arrived = append(arrived, r.header.Get("Rail-Event-Id"))
		h.signed(r)
	}
	if !slices.Equal(arrived, order) {
		h.w.fault("events came out of order")
	}
	f.add("events in order, one at a time, signed", n)
	f.add("ms until the last arrived", time.Since(began).Milliseconds())
	return nil
}

func (h *hooks) order(ctx context.Context) ([]string, error) {
	rows, err := h.w.pool.Query(ctx,
		"SELECT id FROM events WHERE program_id = $1 AND type = 'affiliate.updated' ORDER BY seq", h.program)
	if err != nil {
		return nil, err
	}
	var out []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

// signed checks both signatures of what arrived, and that neither fits anything
// else.
func (h *hooks) signed(r received) {
	secret := h.good.text("secret")
	for _, check := range []func(http.Header, []byte, string, time.Time) error{verify.Signature, verify.Standard} {
		if err := check(r.header, []byte(r.body), secret, r.arrived); err != nil {
			h.w.fault("a delivery does not verify: %v", err)
		}
		if check(r.header, []byte(r.body+" "), secret, r.arrived) == nil ||
			check(r.header, []byte(r.body), "whsec_AAAA", r.arrived) == nil {
			h.w.fault("a changed delivery verifies")
		}
	}
	for _, name := range []string{"Authorization", "Cookie", "Accept-Encoding"} {
		if r.header.Get(name) == "gzip" || name != "Accept-Encoding" && r.header.Get(name) != "" {
			h.w.fault("a delivery carries %s", name)
		}
	}
}

// outcomes waits for the first attempt at every receiver.
func (h *hooks) outcomes(ctx context.Context, f *figures) error {
	limit := time.Now().Add(25 * time.Second)
	delivered := 0
	for _, b := range h.expected {
		var d answer
		for d.int("attempts") == 0 {
			if list := h.o.get(ctx, "/v1/webhook_endpoints/"+h.endpoints[b.name]+"/deliveries").data(); len(list) > 0 {
				d = list[len(list)-1] // the oldest
			}
			if time.Now().After(limit) {
				return fmt.Errorf("no attempt at %s: %v", b.name, d.body)
			}
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
		if (d.text("status") == "delivered") != b.delivered {
			h.w.fault("a receiver that is %q: %v", b.name, d.body)
		}
		if b.delivered {
			delivered++
		}
		if b.do != nil && h.bad.requests(b.name) == 0 {
			return errors.New("nothing came to " + b.name)
		}
	}
	if n := len(h.w.sink.got("/redirected")); n > 0 {
		h.w.fault("%d redirects were followed", n)
	}
	f.add("kinds of receivers", len(h.expected))
	f.add("of them delivered to", delivered)
	return nil
}

// replay sends a delivery again: a new delivery of the same bytes.
func (h *hooks) replay(ctx context.Context) {
	before := h.w.sink.got("/healthy")
	first := before[len(before)-1]
	h.o.post(ctx, "/v1/webhook_deliveries/"+first.header.Get("Rail-Delivery-Id")+"/replay", nil)
	for range 250 {
		if got := h.w.sink.got("/healthy"); len(got) > len(before) {
			again := got[len(got)-1]
			if again.body != first.body || again.header.Get("Rail-Event-Id") != first.header.Get("Rail-Event-Id") ||
				again.header.Get("Rail-Delivery-Id") == first.header.Get("Rail-Delivery-Id") {
				h.w.fault("a replay is another event: %s, first %s", again.body, first.body)
			}
			return
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return
		}
	}
	h.w.fault("a replay never came")
}
