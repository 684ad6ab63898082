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
)

// statement is one that the server sent.
type statement struct {
	sql  string
	args []any
}

// captured is what the server sent for one request, by round trips.
type captured struct {
	draw  draw
	at    time.Time
	trips [][]statement
}

// tracer notes statements by round trips.
type tracer struct {
	mu    sync.Mutex
	trips [][]statement
}

func (t *tracer) add(trip ...statement) {
	var kept []statement
	for _, s := range trip {
		s.sql = plain(s.sql)
		if s.sql != "" && !strings.Contains(s.sql, "api_keys") { // the key is looked up once a second
			kept = append(kept, s)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(kept) > 0 {
		t.trips = append(t.trips, kept)
	}
}

// plain is a statement without the comment lines that sqlc puts first.
func plain(sql string) string {
	var lines []string
	for line := range strings.Lines(sql) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}

// TraceQueryStart notes a statement that travels alone.
func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	t.add(statement{d.SQL, d.Args})
	return ctx
}

// TraceQueryEnd does nothing.
func (t *tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart notes the statements of one batch.
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

// capture sends a few requests of a load to a handler whose pool is traced, and
// returns what the last one made the server send.
func capture(h http.Handler, t *tracer, key string, l load, w world) (captured, error) {
	var out captured
	for range 3 {
		d := l.pick(w, rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)))
		d.Fresh = time.Now().UnixMicro()
		ask := l.ask(d)
		r := httptest.NewRequest(ask.Method, ask.Path, strings.NewReader(ask.Body))
		r.Header = ask.header(key)
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

func (r request) header(key string) http.Header {
	h := http.Header{"Authorization": {"Bearer " + key}}
	if r.Body != "" {
		h.Set("Content-Type", "application/json")
	}
	if r.Key != "" {
		h.Set("Idempotency-Key", r.Key)
	}
	return h
}
