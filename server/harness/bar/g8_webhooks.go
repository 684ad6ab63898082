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

// webhooks is G8: receivers of every kind, order, one request at a time, and signatures. G7 tests deliveries during
// kills. The retry schedule of 63 hours needs a manual clock and has a separate test.
func webhooks(ctx context.Context, sys *system, size Size) (figures, error) {
	h := &hooks{sys: sys, endpoints: map[string]string{}}
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

// hooks is the state of G8.
type hooks struct {
	sys       *system
	o         *org
	program   string
	bad       *badReceiver
	tls       *httptest.Server
	expected  []behaviour
	endpoints map[string]string // ids, by the name of the behaviour
	good      answer            // endpoint of the healthy receiver
}

// close ends the receivers.
func (h *hooks) close() {
	_ = h.bad.listener.Close() // nothing is lost
	h.tls.Close()
}

// endpoint creates an endpoint of the current program for some types of events.
func (h *hooks) endpoint(ctx context.Context, url string, types ...string) answer {
	return h.o.object(ctx, "/v1/webhook_endpoints", M{"program_id": h.program, "url": url, "event_types": types})
}

// prepare creates an endpoint for a receiver of each kind, with one event for each.
func (h *hooks) prepare(ctx context.Context, size Size) (err error) {
	if h.o, err = h.sys.org(ctx, "Hooks"); err != nil {
		return err
	}
	if h.bad, err = newReceiver(h.sys.sink.keep("/redirected")); err != nil {
		return err
	}
	h.tls = httptest.NewUnstartedServer(http.NotFoundHandler())
	h.tls.Config.ErrorLog = log.New(io.Discard, "", 0) // no caller trusts its certificate, on purpose
	h.tls.StartTLS()
	for _, b := range behaviours() {
		if size.Smoke && (b.name == "late" || b.name == "too-late" || b.name == "silent" || b.name == "drip") {
			continue // takes ten seconds each
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

// perProgram is below the quota of endpoints of a program, which is 20.
const perProgram = 15

// receive creates an endpoint for a behaviour, in another program when one is full.
func (h *hooks) receive(ctx context.Context, b behaviour, url string) {
	if len(h.expected)%perProgram == 0 {
		h.begin(ctx)
	}
	h.expected = append(h.expected, b)
	h.endpoints[b.name] = h.endpoint(ctx, url, "affiliate.created").text("id")
}

// begin records an event in the program, if there is one, and creates the next
// program. The event comes last, so that every endpoint of the program gets it.
func (h *hooks) begin(ctx context.Context) {
	if h.program != "" {
		h.o.object(ctx, "/v1/partners", M{"program_id": h.program, "email": h.sys.unique("hook") + "@example.com"})
	}
	h.program = h.o.createID(ctx, "/v1/programs", M{
		"name": "Hooks", "website_url": "https://hooks.example", "currency": "USD",
	})
}

// healthy sends many events to a healthy receiver while others hang. They must
// arrive in order, one at a time, soon and signed. All are about one partner, whose changes
// a receiver would apply in the wrong order.
func (h *hooks) healthy(ctx context.Context, n int, f *figures) error {
	h.good = h.endpoint(ctx, h.sys.sink.keep("/healthy"), "affiliate.updated")
	partner := h.o.object(ctx, "/v1/partners",
		M{"program_id": h.program, "email": h.sys.unique("hook") + "@example.com"}).text("id")
	for i := range n {
		h.o.object(ctx, "/v1/partners/"+partner, M{"first_name": fmt.Sprint("Ada ", i)})
	}
	var got []received
	limit := time.Now().Add(30 * time.Second)
	began := time.Now()
	for len(got) < n && time.Now().Before(limit) {
		got = h.sys.sink.got("/healthy")
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	if len(got) != n {
		return fmt.Errorf("%d of %d events arrived at a receiver that is well", len(got), n)
	}
	if most := h.sys.sink.atOnce("/healthy"); most != 1 {
		h.sys.fault("%d requests at once to one endpoint", most)
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
		h.sys.fault("events came out of order")
	}
	f.add("events in order, one at a time, signed", n)
	f.add("ms until the last arrived", time.Since(began).Milliseconds())
	return nil
}

// order returns the ids of the events in the order in which they must arrive.
func (h *hooks) order(ctx context.Context) ([]string, error) {
	rows, err := h.sys.pool.Query(ctx,
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

// signed checks both signatures of a delivery, that neither verifies another body or secret, and that no header
// contains credentials. A receiver is not asked to compress, because its response is not read.
func (h *hooks) signed(r received) {
	secret := h.good.text("secret")
	for _, check := range []func(http.Header, []byte, string, time.Time) error{verify.Signature, verify.Standard} {
		if err := check(r.header, []byte(r.body), secret, r.arrived); err != nil {
			h.sys.fault("a delivery does not verify: %v", err)
		}
		if check(r.header, []byte(r.body+" "), secret, r.arrived) == nil ||
			check(r.header, []byte(r.body), "whsec_AAAA", r.arrived) == nil {
			h.sys.fault("a changed delivery verifies")
		}
	}
	for _, name := range []string{"Authorization", "Cookie", "Accept-Encoding"} {
		if r.header.Get(name) == "gzip" || name != "Accept-Encoding" && r.header.Get(name) != "" {
			h.sys.fault("a delivery carries %s", name)
		}
	}
}

// outcomes waits for the first attempt at each receiver and checks its result. That no
// redirect was followed is seen by what did not come to its target.
func (h *hooks) outcomes(ctx context.Context, f *figures) error {
	limit := time.Now().Add(25 * time.Second) // an attempt is given up after ten
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
			h.sys.fault("a receiver that is %q: %v", b.name, d.body)
		}
		if b.delivered {
			delivered++
		}
		if b.do != nil && h.bad.requests(b.name) == 0 {
			return errors.New("nothing came to " + b.name)
		}
	}
	if n := len(h.sys.sink.got("/redirected")); n > 0 {
		h.sys.fault("%d redirects were followed", n)
	}
	f.add("kinds of receivers", len(h.expected))
	f.add("valid receivers", delivered)
	return nil
}

// replay checks that a replay is a new delivery of the same bytes.
func (h *hooks) replay(ctx context.Context) {
	before := h.sys.sink.got("/healthy")
	first := before[len(before)-1]
	h.o.post(ctx, "/v1/webhook_deliveries/"+first.header.Get("Rail-Delivery-Id")+"/replay", nil)
	for range 250 {
		if got := h.sys.sink.got("/healthy"); len(got) > len(before) {
			again := got[len(got)-1]
			if again.body != first.body || again.header.Get("Rail-Event-Id") != first.header.Get("Rail-Event-Id") ||
				again.header.Get("Rail-Delivery-Id") == first.header.Get("Rail-Delivery-Id") {
				h.sys.fault("a replay is another event: %s, first %s", again.body, first.body)
			}
			return
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return
		}
	}
	h.sys.fault("a replay never came")
}
