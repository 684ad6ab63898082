package bar

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/events"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/work/event"
)

// attacker is the organization that loads the service with all that it is allowed. It
// breaks no rule and no limit: nothing but the service's own bounds can stop it.
type attacker struct {
	sys              *system
	o                *org
	own              objects // objects of the program with the large flows
	batched          string  // program with many partners to pay
	slug             string
	hooked           []string // programs whose receivers hang
	receiver         *hole
	keys             map[string]string // one with the usual rate limit for each attack with a key
	http             *http.Client
	endpoints, due   int
	flows, flowBytes int
}

const (
	endpointsEach = 20  // the most that a program may have
	mostFlows     = 40  // a stop where the service sets no quota
	floods        = 100 // requests a second of each caller
)

// newAttacker prepares the attacks: large flows, hanging receivers, and a program with many partners to pay. Each
// attack has its own key, so that the rate limit of one does not stop the others.
func newAttacker(ctx context.Context, sys *system, size Size) (a *attacker, err error) {
	a = &attacker{sys: sys, keys: map[string]string{}, http: &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 32},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if a.o, err = sys.org(ctx, "Worst"); err != nil {
		return nil, err
	}
	for _, attack := range []string{"sales", "reports", "lists"} {
		if a.keys[attack], err = sys.limitedKey(ctx, a.o.id, true, auth.DefaultRateLimit, "read", "write"); err != nil {
			return nil, err
		}
	}
	if a.receiver, err = newHole(); err != nil {
		return nil, err
	}
	program := func() string {
		return a.o.createID(ctx, "/v1/programs", M{
			"name": "Worst", "website_url": "https://worst.example", "currency": "USD", "holding_period_days": 0,
		})
	}
	a.own = objects{"prg_": program()}
	a.own["part_"] = a.o.partner(ctx, a.own)
	a.own["cus_"] = a.o.createID(ctx, "/v1/customers", M{
		"program_id": a.own["prg_"], "partner_id": a.own["part_"], "email": sys.unique("buyer") + "@example.com",
	})
	link := a.o.object(ctx, "/v1/links", M{
		"program_id": a.own["prg_"], "partner_id": a.own["part_"], "destination_url": "https://worst.example/",
	})
	a.slug = link.text("short_url")[strings.LastIndex(link.text("short_url"), "/")+1:]
	a.largeFlows(ctx)
	for a.endpoints = 0; a.endpoints < size.of(1000, 60); {
		p := program()
		a.hooked = append(a.hooked, p)
		for range endpointsEach {
			a.o.object(ctx, "/v1/webhook_endpoints", M{"program_id": p, "url": a.receiver.url(), "event_types": []string{}})
			a.endpoints++
		}
	}
	a.batched = program()
	a.due = size.of(40_000, 1000)
	return a, a.partners(ctx)
}

// largeFlows adds as many flows as the service accepts, each as large as it
// accepts: a refused flow is tried again at a smaller size. The bounds are found out and
// not written here, so that the attack grows with them.
func (a *attacker) largeFlows(ctx context.Context) {
	for leaves := 200; leaves > 0 && a.flows < mostFlows; {
		branches := []M{}
		for left := leaves; left > 0; left -= 20 {
			conditions := []M{}
			for i := range min(left, 20) {
				values := []string{}
				for v := range 100 {
					values = append(values, fmt.Sprintf("product-%03d-%03d", i, v))
				}
				conditions = append(conditions, M{"field": "sale.product_id", "operator": "in", "value": values})
			}
			branches = append(branches, M{"conditions": conditions, "rate_type": "percent", "rate_value": 1000})
		}
		body := M{
			"program_id": a.own["prg_"], "name": a.sys.unique("large"), "rate_type": "percent", "rate_value": 1000,
			"branches": branches,
		}
		raw, _ := json.Marshal(body) // texts and numbers always encode
		if answer := a.o.post(ctx, "/v1/flows", body); answer.status/100 != 2 {
			leaves /= 2
			continue
		}
		a.flows, a.flowBytes = a.flows+1, max(a.flowBytes, len(raw))
	}
}

// partners copies, by SQL, a partner that the API created and that has a due
// commission, with all rows of it: 40,000 by requests take minutes.
func (a *attacker) partners(ctx context.Context) error {
	model := a.o.partner(ctx, objects{"prg_": a.batched})
	a.o.object(ctx, "/v1/commissions", M{"program_id": a.batched, "partner_id": model, "amount_minor": 700, "reason": "x"})
	return pgx.BeginFunc(ctx, a.sys.pool, func(tx pgx.Tx) error {
		for _, sql := range []string{
			"SET LOCAL statement_timeout = 0",
			"INSERT INTO partners SELECT (jsonb_populate_record(t, jsonb_build_object('id', " + copied("part") +
				", 'handle', 'due-' || g, 'email', 'due-' || g || '@example.com', 'mail_token', md5('due' || g)))).*" +
				" FROM partners t, generate_series(2, $2) g WHERE t.id = $1",
			"INSERT INTO commissions SELECT (jsonb_populate_record(t, jsonb_build_object('id', " + copied("com") +
				", 'partner_id', " + copied("part") + "))).*" +
				" FROM commissions t, generate_series(2, $2) g WHERE t.partner_id = $1",
			"INSERT INTO audit_log_entries SELECT (jsonb_populate_record(t, jsonb_build_object('id', " + copied("aud") +
				", 'target_id', " + copied("com") + "))).*" +
				" FROM commissions k JOIN audit_log_entries t ON t.target_id = k.id, generate_series(2, $2) g" +
				" WHERE k.partner_id = $1 AND k.id NOT LIKE 'com_0000%'",
			"INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket," +
				" to_bucket, amount_minor, created_at)" +
				" SELECT t.org_id, t.program_id, " + copied("part") + ", " + copied("com") +
				", t.currency, t.from_bucket, t.to_bucket, t.amount_minor, t.created_at" +
				" FROM ledger_entries t, generate_series(2, $2) g WHERE t.partner_id = $1",
			"INSERT INTO balances (id, org_id, program_id, partner_id, currency, updated_at) SELECT " + copied("bal") +
				", t.org_id, t.program_id, " + copied("part") + ", 'USD', t.created_at" +
				" FROM partners t, generate_series(2, $2) g WHERE t.id = $1",
		} {
			args := []any{model, a.due}
			if strings.HasPrefix(sql, "SET") {
				args = nil
			}
			if _, err := tx.Exec(ctx, sql, args...); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
}

// copied returns the SQL of the id of the gth copy.
func copied(prefix string) string { return "'" + prefix + "_0' || lpad(g::text, 25, '0')" }

// queue gives each hanging receiver a queue of events, written as the service writes
// them.
func (a *attacker) queue(ctx context.Context, count int) error {
	for _, p := range a.hooked {
		r := event.Recorder{Now: clock.System{}.Now()}
		for range count {
			about := event.Subject{ProgramID: p, ID: "part_none"}
			r.Record(a.o.id, about, events.AffiliateDeleted(api.AffiliateDeletedData{PartnerID: "part_none"}))
		}
		tx, err := a.sys.pool.Begin(ctx)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "SET LOCAL statement_timeout = 0")
		if err = errors.Join(err, r.Flush(ctx, tx)); err != nil {
			return errors.Join(err, tx.Rollback(ctx))
		}
		if err := tx.Commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close ends the connections that still hang.
func (a *attacker) close(ctx context.Context) error {
	a.receiver.close()
	_, err := a.sys.pool.Exec(ctx, "UPDATE webhook_endpoints SET enabled = false WHERE org_id = $1", a.o.id)
	return err
}

// attack is one kind of request that callers repeat, each at most once per every.
type attack struct {
	name    string
	callers int
	every   time.Duration
	call    func() call
	// successes, refusals, and 503 for requests that take too long
	done, refused, unavailable atomic.Int64
}

type attacks []*attack

// attack runs the attacks until ctx ends. A smoke run has one caller of each, at a
// third of the rate, since it shares the machine with the other tests.
func (a *attacker) attack(ctx context.Context, list attacks, size Size) {
	var all sync.WaitGroup
	for _, one := range list {
		one.every *= time.Duration(size.of(1, 3))
		for range size.of(one.callers, 1) {
			all.Go(func() {
				for ctx.Err() == nil {
					began := time.Now()
					a.sendAttack(ctx, one)
					_ = pause(ctx, one.every-time.Since(began)) // the loop checks ctx
				}
			})
		}
	}
	all.Wait()
}

// worst returns the attacks, each at the most that its caller may ask for. Each is of
// another kind of work: the rules of a sale, a long transaction, sums, a large page, and
// what comes without a key.
func (a *attacker) worst() attacks {
	program := "?program_id=" + a.own["prg_"]
	large := strings.Repeat("x", 1<<20-100)
	return attacks{
		{name: "sales over large flows", callers: 2, every: 5 * time.Second / floods, call: func() call {
			return call{method: "POST", path: "/v1/sales", key: a.keys["sales"], body: M{
				"program_id": a.own["prg_"], "customer_id": a.own["cus_"], "external_charge_id": a.sys.unique("ch"),
				"amount_minor": 5000, "currency": "USD",
			}}
		}},
		{name: "batches", callers: 1, every: 5 * time.Second / floods, call: func() call {
			return call{
				method: "POST", path: "/v1/payout_batches", key: a.o.key,
				body: M{"program_id": a.batched, "period_end": time.Now().UTC().Format(time.RFC3339Nano)},
			}
		}},
		{name: "reports", callers: 2, every: time.Second / floods, call: func() call {
			from := []string{"1926-01-01", "2024-01-01"}[a.sys.turn.Load()%2] // a century and three years
			return call{
				method: "GET", path: "/v1/reports" + program + "&dimension=period&granularity=day&to=2026-12-31&from=" + from,
				key: a.keys["reports"],
			}
		}},
		{name: "lists", callers: 2, every: time.Second / floods, call: func() call {
			return call{method: "GET", path: "/v1/commissions?program_id=" + a.batched + "&limit=100", key: a.keys["lists"]}
		}},
		{
			name: "short links", callers: 2, every: time.Second / floods,
			call: func() call { return call{method: "GET", path: "/r/" + a.slug} },
		},
		{name: "random keys", callers: 2, every: time.Second / floods, call: func() call {
			return call{method: "GET", path: "/v1/sales" + program, key: auth.NewToken(true)}
		}},
		{name: "bodies without a key", callers: 2, every: 10 * time.Second / floods, call: func() call {
			return call{method: "POST", path: "/v1/sales", body: `{"program_id": "` + large + `"}`}
		}},
	}
}

// sendAttack sends one request of an attack. The attacker may be refused, also with 503 for a slow request, but must
// not cause any other 5xx.
func (a *attacker) sendAttack(ctx context.Context, one *attack) {
	c := one.call()
	var raw []byte
	switch b := c.body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	default:
		raw, _ = json.Marshal(b) // texts and numbers always encode
	}
	at := a.sys.processes[int(a.sys.turn.Add(1))%len(a.sys.processes)].addr
	r, err := http.NewRequestWithContext(ctx, c.method, "http://"+at+c.path, bytes.NewReader(raw))
	if err != nil {
		a.sys.fault("%s: %v", one.name, err)
		return
	}
	r.Header.Set("X-Forwarded-For", "198.51.100.7")
	r.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := a.http.Do(r)
	if err != nil {
		if ctx.Err() == nil {
			one.refused.Add(1) // the server closes a connection whose body it does not read
		}
		return
	}
	defer res.Body.Close()               //nolint:errcheck // the body is read to its end
	_, _ = io.Copy(io.Discard, res.Body) // the end of the attack may cut the body off
	switch {
	case res.StatusCode == http.StatusServiceUnavailable:
		one.unavailable.Add(1)
	case res.StatusCode >= 500:
		a.sys.fault("%s answered %d", one.name, res.StatusCode)
	case res.StatusCode >= 400:
		one.refused.Add(1)
	default:
		one.done.Add(1)
	}
}

// String returns the three counts.
func (one *attack) String() string {
	return fmt.Sprintf("%d, %d, %d", one.done.Load(), one.refused.Load(), one.unavailable.Load())
}

// idle returns an error for each attack that had no answer.
func (list attacks) idle() (err error) {
	for _, one := range list {
		if one.done.Load()+one.refused.Load()+one.unavailable.Load() == 0 {
			err = errors.Join(err, fmt.Errorf("no attack by %s was answered", one.name))
		}
	}
	return err
}

// hole accepts connections and never answers: the receiver that costs a sender most.
type hole struct {
	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]bool
}

// newHole listens on a free port of this machine.
func newHole() (*hole, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	h := &hole{listener: l, open: map[net.Conn]bool{}}
	if err == nil {
		go h.serve()
	}
	return h, err
}

// url returns the address of the hole.
func (h *hole) url() string { return "http://" + h.listener.Addr().String() + "/" }

// serve reads what comes and answers nothing, until the sender gives up.
func (h *hole) serve() {
	for {
		c, err := h.listener.Accept()
		if err != nil {
			return // closed
		}
		h.mu.Lock()
		h.open[c] = true
		h.mu.Unlock()
		go func() {
			_, _ = io.Copy(io.Discard, c) // until the sender closes
			_ = c.Close()
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.open, c)
		}()
	}
}

// waiting returns how many connections wait for an answer now.
func (h *hole) waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}

// close ends all connections.
func (h *hole) close() {
	_ = h.listener.Close() // nothing is lost
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.open {
		_ = c.Close()
	}
}
