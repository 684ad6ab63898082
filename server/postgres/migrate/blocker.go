package migrate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/server/clock"
	"rail/server/locale/plain"
)

// applicationName identifies sessions of migrations in pg_stat_activity.
const applicationName = "rail migrate"

// watchEvery is the time between checks of which session blocks a migration. A migration waits two seconds.
const watchEvery = 200 * time.Millisecond

// blocker selects a session that blocks a migration. A role sees the statements of other
// roles only if it may read all statistics.
const blocker = `SELECT b.pid, b.application_name, coalesce(b.query, '') FROM pg_stat_activity w
	CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) p (pid) JOIN pg_stat_activity b ON b.pid = p.pid
	WHERE w.datname = current_database() AND w.application_name = '` + applicationName + `' ORDER BY b.xact_start LIMIT 1`

// maxQuery bounds the text of a blocking session's statement, in characters.
const maxQuery = 200

// inTheWay records the session that last blocked a migration.
type inTheWay struct {
	end  func()
	mu   sync.Mutex
	last string
}

// watchFor records the sessions that block migrations, until stop is called. It records none if it
// cannot connect.
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
			w.query(ctx, conn)
		}
	}()
	w.end = func() { cancel(); <-done }
	return w
}

func (w *inTheWay) query(ctx context.Context, conn *pgx.Conn) {
	var pid int
	var name, query string
	if conn.QueryRow(ctx, blocker).Scan(&pid, &name, &query) != nil {
		return
	}
	query = plain.Short(strings.Join(strings.Fields(query), " "), maxQuery)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = fmt.Sprintf("; session %d (%s) was in the way, with: %s", pid, name, query)
}

// stop ends the watch.
func (w *inTheWay) stop() {
	if w != nil {
		w.end()
	}
}

// String returns the suffix of a message, or "" if no session was seen.
func (w *inTheWay) String() string {
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}
