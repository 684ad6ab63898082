package event_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"rail/gen/api"
	"rail/gen/events"
	"rail/server/event"
	"rail/server/harness/pgtest"
	"rail/server/postgres/migrate"
)

// TestPartitionsComeUnderLoad takes a full table of events into partitions
// while four connections write. None of their writes fails, nothing is lost, and the
// order of events goes on.
func TestPartitionsComeUnderLoad(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	require.NoError(t, migrate.To(t.Context(), dsn, 33))
	pool := pgtest.Pool(t, dsn)
	_, err := pool.Exec(t.Context(), `INSERT INTO events (id, org_id, program_id, type, subject_id, body, created_at)
		SELECT 'evt_01' || lpad(n::text, 24, '0'), 'org_1', 'prg_1', 'affiliate.deleted', 'part_1', repeat('x', 500), now() FROM generate_series(1, 100000) n`)
	require.NoError(t, err)

	done, stop := context.WithCancel(t.Context())
	defer stop()
	var writers errgroup.Group
	var written [4]int
	var longest [4]time.Duration
	for i := range written {
		writers.Go(func() error {
			for done.Err() == nil {
				r := event.Recorder{Now: now}
				r.Record("org_1", event.Subject{ProgramID: "prg_1", PartnerID: "part_1", ID: "part_1"},
					events.AffiliateDeleted(api.AffiliateDeletedData{PartnerID: "part_1"}))
				began := time.Now()
				if err := r.Flush(t.Context(), pool); err != nil {
					return err
				}
				longest[i] = max(longest[i], time.Since(began))
				written[i]++
			}
			return nil
		})
	}
	more := func(n int) {
		for goal, count := -1, 0; goal < 0 || count < goal; {
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE id >= 'evt_02'").Scan(&count))
			if goal < 0 {
				goal = count + n
			}
		}
	}
	more(200)
	require.NoError(t, migrate.Up(t.Context(), dsn))
	more(200)
	stop()
	require.NoError(t, writers.Wait())
	t.Logf("%d events of each writer, %s the longest that one took", written, longest)
	var all, numbers, astray int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*), count(DISTINCT seq),
		count(*) FILTER (WHERE tableoid <> 'events_first'::regclass) FROM events`).Scan(&all, &numbers, &astray))
	require.Equal(t, 100_000+written[0]+written[1]+written[2]+written[3], all)
	require.Equal(t, all, numbers)
	require.Zero(t, astray)
	var orderly bool
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT min(seq) FILTER (WHERE id >= 'evt_02') > max(seq) FILTER (WHERE id < 'evt_02') FROM events`).Scan(&orderly))
	require.True(t, orderly)
}
