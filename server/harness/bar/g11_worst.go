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

	"rail/server/auth"
	"rail/server/clock"
	"rail/server/event"
)

// attacker is the organization that does its worst.
type attacker struct {
	w                *world
	o                *org
	own              things // of the program whose sales meet the large flows
	batched          string // the program with many partners to pay
	slug             string
	hooked           []string // programs of receivers that hang
	receiver         *hole
	keys             map[string]string // one with the usual limit for each attack that has one
	http             *http.Client
	endpoints, due   int
	flows, flowBytes int
}

const (
	endpointsEach = 20  // as many as a program may have
	mostFlows     = 40  // where the service bounds neither their number nor their size
	floods        = 100 // requests a second of a caller
)

func newAttacker(ctx context.Context, w *world, size Size) (a *attacker, err error) {
	a = &attacker{w: w, keys: map[string]string{}, http: &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 32},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if a.o, err = w.org(ctx, "Worst"); err != nil {
		return nil, err
	}
	for _, attack := range []string{"sales", "reports", "lists"} {
		if a.keys[attack], err = w.limitedKey(ctx, a.o.id, true, auth.DefaultRateLimit, "read", "write"); err != nil {
			return nil, err
		}
	}
	if a.receiver, err = newHole(); err != nil {
		return nil, err
	}
	program := func() string {
		return a.o.made(ctx, "/v1/programs", M{
			"name": "Worst", "website_url": "https://worst.example", "currency": "USD", "holding_period_days": 0,
		})
	}
	a.own = things{"prg_": program()}
	a.own["part_"] = a.o.partner(ctx, a.own)
	a.own["cus_"] = a.o.made(ctx, "/v1/customers", M{
		"program_id": a.own["prg_"], "partner_id": a.own["part_"], "email": w.unique("buyer") + "@example.com",
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

// largeFlows adds flows as large, and as many, as the service takes: what it
// refuses is made smaller.
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
			"program_id": a.own["prg_"], "name": a.w.unique("large"), "rate_type": "percent", "rate_value": 1000,
			"branches": branches,
		}
		raw, _ := json.Marshal(body) // of texts and numbers
		if answer := a.o.post(ctx, "/v1/flows", body); answer.status/100 != 2 {
			leaves /= 2
			continue
		}
		a.flows, a.flowBytes = a.flows+1, max(a.flowBytes, len(raw))
	}
}

// partners are made of one that the API has made and that has a commission due,
// with all that belongs to it, by SQL: forty thousand by requests take minutes.
func (a *attacker) partners(ctx context.Context) error {
	model := a.o.partner(ctx, things{"prg_": a.batched})
	a.o.object(ctx, "/v1/commissions", M{"program_id": a.batched, "partner_id": model, "amount_minor": 700, "reason": "x"})
	return pgx.BeginFunc(ctx, a.w.pool, func(tx pgx.Tx) error {
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
				" FROM commissions k JOIN audit_log_entries t ON t.target_id = k.id, generate_series(2, $2) g WHERE k.partner_id = $1 AND k.id NOT LIKE 'com_0000%'",
			"INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)" +
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

// copied is the id of the gth copy.
func copied(prefix string) string { return "'" + prefix + "_0' || lpad(g::text, 25, '0')" }

// queue gives each receiver that hangs events to wait for.
func (a *attacker) queue(ctx context.Context, events int) error {
	for _, p := range a.hooked {
		r := event.Recorder{Now: clock.System{}.Now()}
		for range events {
			r.Record(a.o.id, "affiliate.deleted", event.Subject{ProgramID: p, ID: "part_none"}, M{"partner_id": "part_none"})
		}
		tx, err := a.w.pool.Begin(ctx)
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

// close ends what still hangs.
func (a *attacker) close(ctx context.Context) error {
	a.receiver.close()
	_, err := a.w.pool.Exec(ctx, "UPDATE webhook_endpoints SET enabled = false WHERE org_id = $1", a.o.id)
	return err
}

// attack is one thing that callers do again and again, each at most so often.
type attack struct {
	name    string
	callers int
	every   time.Duration
	call    func() call
	// what came of it: answers, refusals, and 503 for what takes too long
	done, refused, away atomic.Int64
}

type attacks []*attack

// attack goes on until ctx ends; in a smoke run with one caller each, at a third
// of the pace.
func (a *attacker) attack(ctx context.Context, list attacks, size Size) {
	var all sync.WaitGroup
	for _, one := range list {
		one.every *= time.Duration(size.of(1, 3))
		for range size.of(one.callers, 1) {
			all.Go(func() {
				for ctx.Err() == nil {
					began := time.Now()
					a.hit(ctx, one)
					_ = pause(ctx, one.every-time.Since(began)) // the loop sees the end
				}
			})
		}
	}
	all.Wait()
}

func (a *attacker) worst() attacks {
	program := "?program_id=" + a.own["prg_"]
	large := strings.Repeat("x", 1<<20-100)
	return attacks{
		{name: "sales over large flows", callers: 2, every: 5 * time.Second / floods, call: func() call {
			return call{method: "POST", path: "/v1/sales", key: a.keys["sales"], body: M{
				"program_id": a.own["prg_"], "customer_id": a.own["cus_"], "external_charge_id": a.w.unique("ch"),
				"amount_minor": 5000, "currency": "USD",
			}}
		}},
		{name: "batches", callers: 1, every: 5 * time.Second / floods, call: func() call {
			return call{
				method: "POST", path: "/v1/payout_batches", key: a.o.key,
				body: M{"program_id": a.batched, "period_end": time.Now().UTC().Format(time.RFC3339Nano)},
			}
		}},
		{name: "reports", callers: 2, every: time.Second / floods, call: func() call { // of a century, and of three years
			from := []string{"1926-01-01", "2024-01-01"}[a.w.turn.Load()%2]
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

// hit sends one request of an attack. The attacker may be refused, and away is
// what it gets for what takes too long; it must never cause an error.
func (a *attacker) hit(ctx context.Context, one *attack) {
	c := one.call()
	var raw []byte
	switch b := c.body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	default:
		raw, _ = json.Marshal(b) // of texts and numbers
	}
	at := a.w.processes[int(a.w.turn.Add(1))%len(a.w.processes)].addr
	r, err := http.NewRequestWithContext(ctx, c.method, "http://"+at+c.path, bytes.NewReader(raw))
	if err != nil {
		a.w.fault("%s: %v", one.name, err)
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
			one.refused.Add(1) // a body that nobody reads ends its connection
		}
		return
	}
	defer res.Body.Close()               //nolint:errcheck // it is read to its end
	_, _ = io.Copy(io.Discard, res.Body) // the end of the attack cuts it off
	switch {
	case res.StatusCode == http.StatusServiceUnavailable:
		one.away.Add(1)
	case res.StatusCode >= 500:
		a.w.fault("%s answered %d", one.name, res.StatusCode)
	case res.StatusCode >= 400:
		one.refused.Add(1)
	default:
		one.done.Add(1)
	}
}

// String is what came of an attack.
func (one *attack) String() string {
	return fmt.Sprintf("%d, %d, %d", one.done.Load(), one.refused.Load(), one.away.Load())
}

// came tells which attacks came to nothing.
func (list attacks) came() (err error) {
	for _, one := range list {
		if one.done.Load()+one.refused.Load()+one.away.Load() == 0 {
			err = errors.Join(err, fmt.Errorf("no attack by %s was answered", one.name))
		}
	}
	return err
}

// hole takes connections and never answers.
type hole struct {
	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]bool
}

func newHole() (*hole, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	h := &hole{listener: l, open: map[net.Conn]bool{}}
	if err == nil {
		go h.serve()
	}
	return h, err
}

func (h *hole) url() string { return "http://" + h.listener.Addr().String() + "/" }

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
			_, _ = io.Copy(io.Discard, c) // until the sender gives up
			_ = c.Close()
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.open, c)
		}()
	}
}

// held is how many wait for an answer now.
func (h *hole) held() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}

func (h *hole) close() {
	_ = h.listener.Close() // nothing is lost
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.open {
		_ = c.Close()
	}
}
