package handlers_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"rail/schema"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/wait"
	"rail/server/postgres/migrate"
)

// TestNoConnections: while the database refuses connections, requests get 503 at once. When it
// accepts them again, the server works without a restart.
func TestNoConnections(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t)
	name := "few_" + strings.ToLower(owner.Org[len(owner.Org)-10:])
	run := func(sql string) {
		t.Helper()
		_, err := owner.Pool.Exec(t.Context(), strings.ReplaceAll(sql, "few", name))
		require.NoError(t, err)
	}
	run("CREATE ROLE few LOGIN")
	t.Cleanup(func() { _, _ = owner.Pool.Exec(t.Context(), "DROP ROLE IF EXISTS "+name) })
	run("GRANT pg_read_all_data, pg_write_all_data TO few")
	dsn, err := url.Parse(owner.DSN)
	require.NoError(t, err)
	query := dsn.Query()
	query.Set("user", name)
	dsn.RawQuery = query.Encode()
	s := apitest.On(t, dsn.String(), clock.NewManual(owner.Clock.Now().Time))
	program := s.Program()
	run("ALTER ROLE few CONNECTION LIMIT 0")
	run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'few'")
	wait.Until(t, func() bool {
		var left int
		err := owner.Pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE usename = $1", name).Scan(&left)
		return err == nil && left == 0
	})
	for _, a := range apitest.AtOnce(20, func(i int) apitest.Answer {
		if i%2 == 0 {
			return s.Get("/v1/programs/" + program)
		}
		return s.Post("/v1/partners", M{"program_id": program, "email": fmt.Sprintf("p%d@example.com", i)})
	}) {
		require.Equal(t, 503, a.Status, "%s", a.Raw)
		require.NotEmpty(t, a.Header.Get("Retry-After"))
	}
	run("ALTER ROLE few CONNECTION LIMIT -1")
	s.Must(200, s.Get("/v1/programs/"+program))
	s.Partner(program)
	require.EqualValues(t, 1, s.Get("/v1/partners?program_id="+program).Int("total_count"),
		"what was refused wrote nothing")
}

// TestStopsUnderLoad: a server that is asked to stop finishes its requests. Every write that it
// committed was acknowledged.
func TestStopsUnderLoad(t *testing.T) {
	t.Parallel()
	base := apitest.Real(t)
	stops := 3
	if os.Getenv("RAIL_TEST_FULL") == "1" {
		stops = 20
	}
	for round := range stops {
		p := apitest.StartProcess(t, base)
		program := p.Program()
		answered := make([]int, 6)
		var all sync.WaitGroup
		ready := make(chan bool, 1)
		for i := range answered {
			all.Go(func() {
				client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
				for n := 0; ; n++ {
					body := fmt.Sprintf(`{"program_id":%q,"email":"p%d-%d@example.com"}`, program, i, n)
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/v1/partners", strings.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					r.Header.Set("Authorization", "Bearer "+p.Key)
					r.Header.Set("Content-Type", "application/json")
					res, err := client.Do(r)
					if err != nil {
						return // the server no longer accepts connections
					}
					if res.Body.Close() != nil || res.StatusCode == http.StatusTooManyRequests {
						continue
					}
					if res.StatusCode != http.StatusCreated {
						t.Errorf("%d while it stops", res.StatusCode)
					}
					if answered[i]++; answered[i] == 3 {
						select {
						case ready <- true:
						default:
						}
					}
				}
			})
		}
		<-ready
		require.NoError(t, p.Cmd.Process.Signal(syscall.SIGTERM))
		all.Wait()
		require.NoError(t, p.Cmd.Wait(), "it ends well")
		var acknowledged, written int
		for _, n := range answered {
			acknowledged += n
		}
		require.NoError(t,
			base.Pool.QueryRow(t.Context(), "SELECT count(*) FROM partners WHERE program_id = $1", program).Scan(&written))
		require.Equal(t, acknowledged, written, "round %d", round)
	}
}

// TestStoppedReplica: a replica that is suspended in the middle of a write blocks the others for
// ten seconds at most. The write is rolled back when it resumes.
func TestStoppedReplica(t *testing.T) {
	t.Parallel()
	if os.Getenv("RAIL_TEST_FULL") != "1" {
		t.Skip("set RAIL_TEST_FULL=1")
	}
	of := apitest.Processes(t, apitest.Real(t), 2)
	stopped, other := of[0], of[1]
	e := other.Server.Earner()
	e.Flow(e.ProgramID)
	partner, _ := e.Referrer(1000)
	sale := e.Get("/v1/sales?program_id=" + e.ProgramID).Data()[0]["id"].(string)
	lock, err := other.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), "SELECT 1 FROM commissions WHERE sale_id = $1 FOR UPDATE", sale)
	require.NoError(t, err)
	answer := make(chan apitest.Answer, 1)
	go func() { answer <- stopped.Post("/v1/sales/"+sale+"/refund", nil) }()
	wait.ForLocks(t, other.Pool, "", 1)
	require.NoError(t, stopped.Cmd.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, lock.Rollback(t.Context()))
	var refunded apitest.Answer
	began := time.Now()
	wait.Until(t, func() bool {
		refunded = other.Post("/v1/sales/"+sale+"/refund", nil)
		return refunded.Status == 200
	})
	require.Less(t, time.Since(began), 15*time.Second)
	require.NoError(t, stopped.Cmd.Process.Signal(syscall.SIGCONT))
	require.Contains(t, []int{200, 503}, (<-answer).Status)
	require.Equal(t, refunded.String("refunded_at"), other.Get("/v1/sales/"+sale).String("refunded_at"))
	require.Equal(t, 1, apitest.Tally(other.Server, e.ProgramID, "sale.refunded"))
	require.Equal(t, json.Number("0"),
		other.Must(200, other.Get("/v1/partners/"+partner+"?include=stats")).Body["stats"].(M)["commissions_minor"])
}

// next is the migration of a future release, with typical changes.
const next = `SET LOCAL lock_timeout = '2s';
	ALTER TABLE sales ADD COLUMN channel text, ADD COLUMN weight bigint NOT NULL DEFAULT 1;
	ALTER TABLE partners ADD COLUMN rank bigint;
	CREATE TABLE channels (id text PRIMARY KEY, program_id text NOT NULL);
	CREATE INDEX sales_weight_idx ON sales (program_id, weight);
	CREATE INDEX commissions_amount_idx ON commissions (program_id, amount_minor);`

// TestMigrationUnderLoad: replicas answer while the tables of the next release are created, and
// continue with them.
func TestMigrationUnderLoad(t *testing.T) {
	t.Parallel()
	base := apitest.Real(t)
	of := apitest.Processes(t, base, 2)
	e := of[0].Server.Earner()
	e.Flow(e.ProgramID)
	e.Referrer(1000)
	customer := e.Get("/v1/customers?program_id=" + e.ProgramID).Data()[0]["id"]
	files := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(schema.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[path] = &fstest.MapFile{}
			files[path].Data, err = fs.ReadFile(schema.FS, path)
		}
		return err
	}))
	files["999999_next.up.sql"], files["999999_next.down.sql"] = &fstest.MapFile{Data: []byte(next)}, &fstest.MapFile{}
	var sold atomic.Int64
	var loads sync.WaitGroup
	over := make(chan struct{})
	for i := range 6 {
		p := of[i%2]
		loads.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				a := p.Post("/v1/sales", M{
					"program_id": e.ProgramID, "customer_id": customer, "external_charge_id": fmt.Sprintf("m%d-%d", i, n),
					"amount_minor": 500, "currency": "USD",
				})
				read := p.Get("/v1/partners?include=stats&program_id=" + e.ProgramID)
				if a.Status == 201 {
					sold.Add(1)
				}
				if a.Status != 201 && a.Status != 429 || read.Status != 200 && read.Status != 429 {
					t.Errorf("%d %s, %d %s", a.Status, a.Raw, read.Status, read.Raw)
				}
			}
		})
	}
	several := func() bool { return sold.Load() > 20 }
	wait.Until(t, several)
	require.NoError(t, migrate.From(files).Up(t.Context(), base.DSN))
	sold.Store(0)
	wait.Until(t, several, "the tables are new, the program is not")
	close(over)
	loads.Wait()
	for _, p := range of {
		require.Equal(t, 200, p.Get("/readyz").Status)
	}
}
