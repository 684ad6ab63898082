package bar

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// stuck is the longest that a write may wait for a definite answer while the database accepts connections.
const stuck = 15 * time.Second

// crashes is G7: processes and the database are killed under load, and connections
// are cut between a commit and its answer. No acknowledged write may be lost.
//
// 503 is allowed only during the kills, when an API without its database has no other answer. It must not be 500,
// because clients retry only a 503.
func crashes(ctx context.Context, sys *system, size Size) (figures, error) {
	dir, err := temporary()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	o, err := sys.org(ctx, "Crashes")
	if err != nil {
		return nil, err
	}
	s := &storm{sys: sys, o: o, dir: dir, patience: stuck}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	sys.unavailable.Store(true)
	err = s.rage(ctx, size)
	sys.unavailable.Store(false)
	if err != nil {
		return nil, err
	}
	var f figures
	if err := s.verify(ctx, &f); err != nil {
		return nil, err
	}
	if err := s.delivered(ctx, &f); err != nil {
		return nil, err
	}
	if err := s.streamed(ctx, size, &f); err != nil {
		return nil, err
	}
	return f, s.cuts(ctx, size.of(500, 25), &f)
}

// storm is the state of G7: the load and the kills under it. Its counts of what clients
// saw show that the kills hit something.
type storm struct {
	sys       *system
	o         *org
	dir       string
	program   string
	payees    []string
	customers []string
	journals  []*journal
	quiet     atomic.Bool // kills have ended; clients finish their writes

	kills, crashes   int
	cut, unavailable atomic.Int64 // answers seen by clients
	mu               sync.Mutex
	longest          time.Duration // from a client's first failure to its answer
	patience         time.Duration // the longest wait for an answer, not counting the database's recoveries
	killed           time.Time     // when the database was killed; zero while it accepts connections
	recovery         time.Duration // the total time of recoveries that have ended
	answered         time.Time     // the last definite answer
	stop             time.Duration // the longest time without one, since it was last set back
	slowest          time.Duration // from the database's answer to the API's
}

// prepare makes a program whose events all go to one receiver, and a dozen customers of a
// dozen partners: few enough that clients meet on the same balances.
func (s *storm) prepare(ctx context.Context) error {
	s.program = s.o.createID(ctx, "/v1/programs", M{
		"name": "Storm", "website_url": "https://storm.example", "currency": "USD", "holding_period_days": 0,
	})
	s.o.createID(ctx, "/v1/webhook_endpoints", M{"program_id": s.program, "url": s.sys.sink.keep("/storm")})
	s.o.createID(ctx, "/v1/flows", M{"program_id": s.program, "name": "All", "rate_type": "percent", "rate_value": 2000})
	for range 12 {
		payee := s.o.createID(ctx, "/v1/partners", M{"program_id": s.program, "email": s.sys.unique("storm") + "@example.com"})
		s.payees = append(s.payees, payee)
		s.customers = append(s.customers, s.o.createID(ctx, "/v1/customers", M{"program_id": s.program, "partner_id": payee}))
	}
	for i := range 12 {
		j, err := newJournal(s.dir, i)
		if err != nil {
			return err
		}
		s.journals = append(s.journals, j)
	}
	return nil
}

// rage runs the clients during the kills. They finish their last writes afterwards, so
// that every request has a definite answer in the journals.
func (s *storm) rage(ctx context.Context, size Size) error {
	g, run := errgroup.WithContext(ctx)
	for i := range s.journals {
		g.Go(func() error { return s.client(run, i) })
	}
	err := s.kill(run, size.of(100, 6), size.of(20, 2), s.sys.random("g7", 1000))
	s.quiet.Store(true)
	if err := errors.Join(err, g.Wait()); err != nil {
		return err
	}
	if s.cut.Load() == 0 || s.unavailable.Load() == 0 {
		return fmt.Errorf("clients saw %d cut connections and %d answers of 503: the kills hit nothing", s.cut.Load(),
			s.unavailable.Load())
	}
	return nil
}

// kill kills processes and the database in turn. A quarter of the database's crashes
// kill the postmaster, which leaves its lock files and shared memory behind. The pauses
// differ, so that the kills meet requests in all their parts.
func (s *storm) kill(ctx context.Context, kills, crashes int, rnd *rand.Rand) error {
	for n := range kills {
		if err := pause(ctx, time.Duration(200+rnd.IntN(400))*time.Millisecond); err != nil {
			return err
		}
		p := s.sys.processes[rnd.IntN(len(s.sys.processes))]
		if err := p.kill(); err != nil {
			return err
		}
		s.kills++
		if (n+1)*crashes/kills > s.crashes { // also while a process is down
			if err := s.crash(ctx, s.crashes%4 == 3, rnd); err != nil {
				return err
			}
		}
		if err := p.again(ctx); err != nil {
			return err
		}
	}
	if s.kills != kills || s.crashes != crashes {
		return fmt.Errorf("%d kills and %d crashes instead of %d and %d", s.kills, s.crashes, kills, crashes)
	}
	return nil
}

// crash crashes the database and waits until a server answers again. Servers must not need
// a restart for it.
func (s *storm) crash(ctx context.Context, postmaster bool, rnd *rand.Rand) error {
	if err := s.recoverDatabase(ctx, postmaster, rnd); err != nil {
		return err
	}
	up := time.Now()
	for {
		a, err := s.sys.send(ctx, call{method: "GET", path: "/v1/programs", key: s.o.key})
		if err == nil && a.status == 200 {
			break
		}
		if time.Since(up) > 5*time.Second {
			return fmt.Errorf("no answer 5 s after the database was back: %d %s %w", a.status, a.raw, err)
		}
	}
	s.slowest = max(s.slowest, time.Since(up))
	return nil
}

// recoverDatabase kills the database and waits until it accepts connections again.
func (s *storm) recoverDatabase(ctx context.Context, postmaster bool, rnd *rand.Rand) error {
	s.beginRecovery()
	defer s.endRecovery()
	if postmaster {
		if err := s.sys.cluster.killPostmaster(); err != nil {
			return err
		}
	} else if err := s.killBackend(ctx, rnd); err != nil {
		return err
	}
	s.crashes++
	if err := pause(ctx, 50*time.Millisecond); err != nil { // the crash must have begun
		return err
	}
	return s.sys.cluster.answers(ctx)
}

// beginRecovery notes that the database is about to be killed.
func (s *storm) beginRecovery() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = time.Now()
}

// endRecovery notes that the recovery is over.
func (s *storm) endRecovery() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recovery += time.Since(s.killed)
	s.killed = time.Time{}
}

// recoveries returns the total time of the database's recoveries until now. A recovery syncs every file of the data
// directory first: on a disk that other tests load, it takes longer than the patience of a client.
func (s *storm) recoveries() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed.IsZero() {
		return s.recovery
	}
	return s.recovery + time.Since(s.killed)
}

// killBackend kills a session's process, after which PostgreSQL ends all sessions and
// recovers: shared memory may be damaged. That is quicker than the loss of the postmaster,
// and connections break in another way.
func (s *storm) killBackend(ctx context.Context, rnd *rand.Rand) error {
	rows, err := s.sys.pool.Query(ctx,
		`SELECT pid FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`)
	if err != nil {
		return err
	}
	var pids []int
	for rows.Next() {
		var pid int
		if err := rows.Scan(&pid); err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	if err := rows.Err(); err != nil || len(pids) == 0 {
		return fmt.Errorf("no backend to kill: %w", err)
	}
	if err := syscall.Kill(pick(rnd, pids), syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return s.killBackend(ctx, rnd) // it was one of a server that had just been killed
}

// client writes until the storm is over, and keeps a journal of acknowledged writes. Sales
// are most of them; refunds, batches and payments move the money that these make, and tags
// are work that a repeated request could easily do twice.
func (s *storm) client(ctx context.Context, n int) error {
	rnd := s.sys.random("g7", n)
	j := s.journals[n]
	var sales []string
	for !s.quiet.Load() {
		path, body := "/v1/sales", text(M{
			"program_id": s.program, "customer_id": pick(rnd, s.customers), "external_charge_id": s.sys.unique("ch"),
			"amount_minor": 1000 + rnd.IntN(9000), "currency": "USD",
		})
		switch r := rnd.IntN(20); {
		case r < 3 && len(sales) > 0:
			path, body = "/v1/sales/"+pick(rnd, sales)+"/refund", "{}"
		case r == 3:
			path, body = "/v1/payout_batches", text(M{
				"program_id": s.program, "period_end": time.Now().UTC().Format(time.RFC3339Nano), "partner_id": pick(rnd, s.payees),
			})
		case r == 4:
			if id := s.payout(ctx, rnd); id != "" {
				path, body = "/v1/payouts/"+id+"/mark_paid", "{}"
			}
		case r < 8:
			path, body = "/v1/tags", text(M{"program_id": s.program, "name": s.sys.unique("tag")})
		}
		key := s.sys.unique("storm")
		a, err := s.retry(ctx, call{
			method: "POST", path: path, key: s.o.key, body: body, header: pairs([]string{"Idempotency-Key", key}),
		})
		if err != nil {
			return err
		}
		if path == "/v1/sales" && a.status == 201 {
			sales = append(sales, a.text("id"))
		}
		if err := j.add(key, path, body, a); err != nil {
			return err
		}
	}
	return nil
}

// payout returns a pending payout to mark as paid, or "" where there is none or no answer.
func (s *storm) payout(ctx context.Context, rnd *rand.Rand) string {
	a, err := s.sys.send(ctx, call{
		method: "GET", path: "/v1/payouts?status=pending&program_id=" + s.program, key: s.o.key,
	})
	if err != nil || a.status != 200 || len(a.data()) == 0 {
		return ""
	}
	return pick(rnd, a.data()).text("id")
}

// retry repeats a request until the answer is definite, as clients do: a broken
// connection and 503 say nothing about what was done.
func (s *storm) retry(ctx context.Context, c call) (answer, error) {
	began, recoveries := time.Now(), s.recoveries()
	for {
		a, err := s.sys.send(ctx, c)
		switch {
		case err != nil:
			s.cut.Add(1)
		case a.status == 503:
			s.unavailable.Add(1)
			if a.header.Get("Retry-After") == "" {
				s.sys.fault("503 without Retry-After: %s", a.raw)
			}
		case a.status == 409 && a.code() == "idempotency_in_progress":
		default:
			s.mu.Lock()
			s.longest = max(s.longest, time.Since(began))
			if !s.answered.IsZero() {
				s.stop = max(s.stop, time.Since(s.answered))
			}
			s.answered = time.Now()
			s.mu.Unlock()
			return a, nil
		}
		if time.Since(began)-(s.recoveries()-recoveries) > s.patience {
			return a, fmt.Errorf("%s has no answer after %s: %d %s %w", c.path, s.patience, a.status, a.raw, err)
		}
		if err := pause(ctx, 15*time.Millisecond); err != nil {
			return a, err
		}
	}
}

// verify compares the clients' journals with the service: each acknowledged write
// replays the same bytes, and each sale exists once with its event.
func (s *storm) verify(ctx context.Context, f *figures) error {
	var all []entry
	for _, j := range s.journals {
		entries, err := j.read()
		if err != nil {
			return err
		}
		all = append(all, entries...)
	}
	// An answer of 400 is not stored, so that it cannot be replayed.
	charges, lost := map[string]bool{}, 0
	for _, e := range all {
		a := s.o.post(ctx, e.Path, e.Body, "Idempotency-Key", e.Key)
		if e.Status != 400 && (a.status != e.Status || hashOf(a.raw) != e.Hash || !a.replayed()) {
			lost++
			s.sys.fault("acknowledged and lost: %s %s was %d, is %d %s", e.Path, e.Body, e.Status, a.status, a.raw)
		}
		if e.Path != "/v1/sales" || e.Status != 201 {
			continue
		}
		now := s.o.get(ctx, "/v1/sales/"+e.ID)
		if now.text("external_charge_id") != a.text("external_charge_id") ||
			now.int("amount_minor") != a.int("amount_minor") {
			s.sys.fault("a sale that was acknowledged is another: %s, %s", now.raw, a.raw)
		}
		charges[now.text("external_charge_id")] = true
	}
	var sales, recorded int
	err := s.sys.pool.QueryRow(ctx,
		`SELECT (SELECT count(*) FROM sales WHERE program_id = $1),
			(SELECT count(DISTINCT subject_id) FROM events WHERE program_id = $1 AND type = 'sale.created')`,
		s.program).Scan(&sales, &recorded)
	if err != nil {
		return err
	}
	if sales != len(charges) || recorded != sales || sales == 0 {
		s.sys.fault("%d sales and %d events of them for %d acknowledged charges", sales, recorded, len(charges))
	}
	f.add("API kills", s.kills)
	f.add("database crashes", s.crashes)
	f.add("acknowledged writes", len(all))
	f.add("lost", lost)
	f.add("cut connections", s.cut.Load())
	f.add("responses of 503, none of 500", s.unavailable.Load())
	f.add("ms at most to a definite response", s.longest.Milliseconds())
	f.add("ms of recoveries", s.recovery.Milliseconds())
	f.add("ms from the database's return to the first response", s.slowest.Milliseconds())
	return nil
}

// delivered waits until every event of the storm has arrived, and checks their order,
// repetitions and delays. An event may come twice, when its sender was killed between the
// receiver's answer and the commit that notes it.
func (s *storm) delivered(ctx context.Context, f *figures) error {
	order, err := s.events(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	last := began // when an event arrived
	var got []received
	bodies := map[string]string{}
	for len(bodies) < len(order) && time.Since(last) < 4*s.patience {
		before := len(got)
		if got = s.sys.sink.got("/storm"); len(got) > before {
			last = time.Now()
		}
		clear(bodies)
		for _, r := range got {
			bodies[r.header.Get("Rail-Event-Id")] = r.body
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	arrived := time.Since(began)
	missing := 0
	for id := range order {
		if _, ok := bodies[id]; !ok {
			missing++
		}
	}
	if missing > 0 {
		s.sys.fault("%d of %d events never arrived: %s", missing, len(order), s.undelivered(ctx))
	}
	f.add("events delivered", len(bodies))
	f.add("twice", len(got)-len(bodies))
	if order, err = s.events(ctx); err != nil { // jobs record events after the storm
		return err
	}
	f.add("out of order", s.inversions(got, order))
	longest := longestPause(got)
	f.add("ms at most between two", longest.Milliseconds())
	f.add("ms from the end of the load to the last", arrived.Milliseconds())
	if longest > s.patience+s.recovery+30*time.Second { // a lease taken as the database died ends after half a minute
		s.sys.fault("an endpoint of senders that live stood still for %s", longest)
	}
	// A sender that was killed may have left a request that the receiver still reads.
	if most := s.sys.sink.atOnce("/storm"); most > 1+s.kills+s.crashes {
		s.sys.fault("%d requests at once to one endpoint", most)
	}
	return nil
}

// undelivered describes the state of the deliveries that have not arrived: what is missing
// a minute after a storm cannot be found out later.
func (s *storm) undelivered(ctx context.Context) (report string) {
	err := s.sys.pool.QueryRow(ctx, `SELECT format('%s events without a delivery; deliveries %s; leases %s; activity %s',
		(SELECT count(*) FROM events e
			WHERE e.program_id = $1 AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.id)),
		(SELECT json_object_agg(x.status, x.n) FROM (
			SELECT d.status, count(*) || ' next ' || coalesce(min(d.next_attempt_at)::text, 'never') ||
				' ' || coalesce(min(d.error), '') AS n
			FROM webhook_deliveries d WHERE d.program_id = $1 GROUP BY 1) x),
		(SELECT json_agg(l) FROM webhook_leases l JOIN webhook_endpoints w ON w.id = l.endpoint_id WHERE w.program_id = $1),
		(SELECT json_agg(json_build_array(a.state, now() - a.xact_start, left(a.query, 80))) FROM pg_stat_activity a
			WHERE a.xact_start IS NOT NULL AND a.pid <> pg_backend_pid()))`, s.program).Scan(&report)
	if err != nil {
		return err.Error()
	}
	return report
}

// events maps the ids of the storm's events to their positions in the event order.
func (s *storm) events(ctx context.Context) (map[string]int, error) {
	rows, err := s.sys.pool.Query(ctx, "SELECT id FROM events WHERE program_id = $1 ORDER BY seq", s.program)
	if err != nil {
		return nil, err
	}
	order := map[string]int{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		order[id] = len(order)
	}
	return order, rows.Err()
}

// inversions counts first arrivals behind that of a later event. Repeated deliveries
// must have the same bytes.
func (s *storm) inversions(got []received, order map[string]int) (n int) {
	last, seen := -1, map[string]string{}
	for _, r := range got {
		id := r.header.Get("Rail-Event-Id")
		if before, again := seen[id]; again {
			if before != r.body {
				s.sys.fault("event %s came twice with other bytes", id)
			}
			continue
		}
		seen[id] = r.body
		at, ok := order[id]
		if !ok {
			s.sys.fault("event %s arrived and is not there", id)
		}
		if at < last {
			n++
		}
		last = max(last, at)
	}
	return n
}

// longestPause returns the longest time between two arrivals. Events that never
// arrived are counted by delivered.
func longestPause(got []received) (longest time.Duration) {
	for i := 1; i < len(got); i++ {
		longest = max(longest, got[i].arrived.Sub(got[i-1].arrived))
	}
	return longest
}
