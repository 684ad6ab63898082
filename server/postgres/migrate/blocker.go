package migrate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/server/clock"
)

// applicationName is how sessions of migrations are known in pg_stat_activity.
const applicationName = "rail migrate"

// watchEvery is how often is looked who keeps a migration waiting. It waits two seconds each time.
const watchEvery = 200 * time.Millisecond

// blocker finds a session that keeps a migration waiting. A role sees the statements of its own sessions alone,
// unless it may read all statistics.
const blocker = `SELECT b.pid, b.application_name, coalesce(b.query, '') FROM pg_stat_activity w
	CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) p (pid) JOIN pg_stat_activity b ON b.pid = p.pid
	WHERE w.datname = current_database() AND w.application_name = '` + applicationName + `' ORDER BY b.xact_start LIMIT 1`

// inTheWay knows which session has kept a migration waiting the last time.
type inTheWay struct {
	end  func()
	mu   sync.Mutex
	last string
}

// watchFor looks who keeps migrations waiting, until stop is called. Where it cannot look, it knows nobody.
func watchFor(ctx context.Context, dsn string) *inTheWay {
	w := &inTheWay{}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return
		}
		defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it was only read
		for clock.Wait(ctx, watchEvery) == nil {
			w.look(ctx, conn)
		}
	}()
	w.end = func() { cancel(); <-done }
	return w
}

func (w *inTheWay) look(ctx context.Context, conn *pgx.Conn) {
	var pid int
	var name, query string
	if conn.QueryRow(ctx, blocker).Scan(&pid, &name, &query) != nil {
		return
	}
	if text := []rune(strings.Join(strings.Fields(query), " ")); len(text) > 200 {
		query = string(text[:200]) + "…"
	} else {
		query = string(text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = fmt.Sprintf("; session %d (%s) was in the way, with: %s", pid, name, query)
}

// stop ends the look-out, if there is one.
func (w *inTheWay) stop() {
	if w != nil {
		w.end()
	}
}

// String returns what follows in a message; "" where nobody was seen.
func (w *inTheWay) String() string {
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}
