package apitest

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/app"
	"rail/server/postgres"
)

// Trips records each round trip to the database by the names of its queries.
type Trips struct {
	mu    sync.Mutex
	names []string
}

var (
	queryName = regexp.MustCompile(`^-- name: (\w+)`)
	ofKey     = regexp.MustCompile(`^APIKey`) // the authentication's own
)

func (t *Trips) note(sql string, more ...string) {
	name := sql
	if m := queryName.FindStringSubmatch(sql); m != nil {
		name = m[1]
	}
	for _, s := range more {
		if m := queryName.FindStringSubmatch(s); m != nil {
			s = m[1]
		}
		name += "+" + s
	}
	if ofKey.MatchString(name) || name == "-- ping" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names = append(t.names, name)
}

// Take returns the round trips since the last call.
func (t *Trips) Take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.names
	t.names = nil
	return out
}

// TraceQueryStart records a query.
func (t *Trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	t.note(d.SQL)
	return ctx
}

// TraceQueryEnd does nothing.
func (t *Trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart records the queries of a batch as one round trip.
func (t *Trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	var all []string
	for _, q := range d.Batch.QueuedQueries {
		all = append(all, q.SQL)
	}
	t.note(all[0], all[1:]...)
	return ctx
}

// TraceBatchQuery does nothing.
func (t *Trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd does nothing.
func (t *Trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TracePrepareStart records that a statement is prepared.
func (t *Trips) TracePrepareStart(ctx context.Context, _ *pgx.Conn, d pgx.TracePrepareStartData) context.Context {
	t.note("prepare", d.SQL)
	return ctx
}

// TracePrepareEnd does nothing.
func (t *Trips) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

// Traced starts another server on the database of s, whose one connection is traced.
func (s *Server) Traced() (*Server, *Trips) {
	s.T.Helper()
	tracer := &Trips{}
	pool, err := postgres.Open(s.T.Context(), s.DSN, postgres.Options{MaxConns: 1, Tracer: tracer})
	require.NoError(s.T, err)
	s.T.Cleanup(pool.Close)
	a, err := app.New(s.Config, pool, s.Clock, slog.New(slog.DiscardHandler))
	require.NoError(s.T, err)
	web := httptest.NewServer(a.Handler())
	s.T.Cleanup(web.Close)
	traced := *s
	traced.URL = web.URL
	return &traced, tracer
}
