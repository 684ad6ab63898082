package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/server/postgres/pgtx/share"
)

// statement is a statement of the server, with its arguments as Go values.
type statement struct {
	sql  string
	args []any
}

// captured has the statements of one request by round trips, and its inputs.
type captured struct {
	draw  draw
	at    time.Time
	trips [][]statement
}

// tracer records statements by round trips. It implements pgx.QueryTracer and pgx.BatchTracer: a batch
// is one trip.
type tracer struct {
	mu    sync.Mutex
	trips [][]statement
}

// add records a round trip, unless nothing of it is the request's own: the look-up of the API key is
// cached for a second, and the bound of a wait for a lock is that of shared transactions, which pgbench's
// are not.
func (t *tracer) add(trip ...statement) {
	var statements []statement
	for _, s := range trip {
		s.sql = plain(s.sql)
		if s.sql != "" && s.sql != share.LockWait && !strings.Contains(s.sql, "api_keys") {
			statements = append(statements, s)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(statements) > 0 {
		t.trips = append(t.trips, statements)
	}
}

// plain returns a statement without sqlc's first comment lines.
func plain(sql string) string {
	var lines []string
	for line := range strings.Lines(sql) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}

// TraceQueryStart records a statement with its own round trip.
func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	t.add(statement{d.SQL, d.Args})
	return ctx
}

// TraceQueryEnd does nothing.
func (t *tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart records the statements of a batch.
func (t *tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	var trip []statement
	for _, q := range d.Batch.QueuedQueries {
		trip = append(trip, statement{q.SQL, q.Arguments})
	}
	t.add(trip...)
	return ctx
}

// TraceBatchQuery does nothing.
func (t *tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd does nothing.
func (t *tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// capture sends a few requests of a load to a handler with a traced pool, and returns
// the statements of the last one: the first may fill caches.
func capture(h http.Handler, t *tracer, key string, l load, sz size) (captured, error) {
	var out captured
	// By the third, statements are prepared and the key is known.
	for range 3 {
		d := l.pick(sz, rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)))
		d.Fresh = time.Now().UnixMicro()
		ask := l.ask(d)
		r := httptest.NewRequest(ask.Method, ask.Path, strings.NewReader(ask.Body))
		r.Header = ask.header(key)
		// Only the statements of this request.
		t.trips = nil
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		if answer.Code >= 300 {
			return out, fmt.Errorf("%s: %d %s", l.name, answer.Code, answer.Body)
		}
		out = captured{d, time.Now(), t.trips}
	}
	return out, nil
}

// header returns the headers of a request.
func (r request) header(key string) http.Header {
	h := http.Header{}
	for _, line := range r.head(key) {
		h.Set(line[0], line[1])
	}
	return h
}
