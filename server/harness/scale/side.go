package scale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/app"
	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/dataset"
	"rail/server/jobs"
	"rail/server/postgres"
	"rail/server/secret"
)

// side is a server on one of the two databases. There is no network: requests call the handler.
type side struct {
	pool    *pgxpool.Pool
	handler http.Handler
	jobs    []jobs.Job
	key     string // API key of the large organization
	now     clock.Time
	dir     string
	end     func() error      // stops the private database; else nil
	values  map[string]string // by table and column, of one row
	size    string            // estimated number of sales, for the heading
}

// newSide starts the server with its clock at the end of the dataset. end, which may be nil, closes the
// database; it is called by close, not where newSide fails.
func newSide(ctx context.Context, dsn string, end func() error) (*side, error) {
	pool, err := postgres.Open(ctx, dsn, postgres.Options{MaxConns: 4})
	if err != nil {
		return nil, err
	}
	s := &side{pool: pool, values: map[string]string{}}
	if err := s.setUp(ctx); err != nil {
		pool.Close()
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	s.end = end
	return s, nil
}

// setUp finds out when the dataset ends, and makes the handler, the jobs and a key for them.
func (s *side) setUp(ctx context.Context) error {
	// The dataset spans two years and its organization is as old.
	err := s.pool.QueryRow(ctx, "SELECT created_at + interval '730 days' FROM organizations WHERE id = $1",
		dataset.Big).Scan(&s.now)
	if err != nil {
		return fmt.Errorf("the database does not have the data of bench load: %w", err)
	}
	// The planner's estimate, since a count would read the whole table.
	var sales float64
	if err := s.pool.QueryRow(ctx,
		"SELECT reltuples FROM pg_class WHERE oid = 'sales'::regclass").Scan(&sales); err != nil {
		return err
	}
	s.size = fmt.Sprintf("%.0fk", sales/1000)
	// A folder for the secret key alone; the database has its own.
	if s.dir, err = os.MkdirTemp("", "rail-scale-"); err != nil {
		return err
	}
	cfg, err := config.Load(map[string]string{"RAIL_DATA_DIR": s.dir})
	if err != nil {
		return err
	}
	keeper, err := secret.New(cfg.SecretKey)
	if err != nil {
		return err
	}
	// The clock stands still, so that all rounds ask for the same days.
	still, log := clock.NewManual(s.now.Time), slog.New(slog.DiscardHandler)
	a, err := app.New(cfg, s.pool, still, log)
	if err != nil {
		return err
	}
	mails, err := app.Mail(cfg, s.pool, keeper, still, log)
	if err != nil {
		return err
	}
	s.handler = a.Handler()
	// The clock of the jobs is later than every step, the times of which are arguments.
	s.jobs = jobs.All(jobs.Deps{Pool: s.pool, Keeper: keeper, Clock: clock.NewManual(s.now.Days(60).Time),
		RetentionDays:   cfg.RetentionDays,
		FraudMonitoring: true, Outbox: mails.Outbox, Mail: mails.Sender})
	s.key, err = dataset.Key{Org: dataset.Big, Live: true, Limit: dataset.NoLimit, Scopes: []string{"read", "write"}}.Insert(ctx,
		s.pool, keeper, s.now)
	return err
}

// close closes the pool, and the database where that is private.
func (s *side) close() error {
	s.pool.Close()
	err := os.RemoveAll(s.dir)
	if s.end != nil {
		err = errors.Join(err, s.end())
	}
	return err
}

// errTooSlow is returned for a request whose statement ran into its time limit.
var errTooSlow = errors.New("too slow to be answered")

// ask sends a request and returns how long a successful answer took.
func (s *side) ask(ctx context.Context, r request) (time.Duration, error) {
	url, err := s.url(ctx, r)
	if err != nil {
		return 0, err
	}
	sent, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	// Set by a network otherwise; the rate limit of addresses reads the second.
	sent.Host, sent.RemoteAddr = "127.0.0.1", "127.0.0.1:1"
	sent.Header.Set("Authorization", "Bearer "+s.key)
	got := httptest.NewRecorder()
	began := time.Now()
	s.handler.ServeHTTP(got, sent)
	took := time.Since(began)
	// The answer to a statement that ran into the database's time limit.
	if got.Code == http.StatusServiceUnavailable {
		return took, errTooSlow
	}
	if got.Code >= http.StatusMultipleChoices {
		return 0, fmt.Errorf("%s (%s): %d %.300s", r.name, url, got.Code, got.Body)
	}
	return took, nil
}

// url returns the request's URL with values for the names of tables in braces.
func (s *side) url(ctx context.Context, r request) (string, error) {
	to := r.url
	for _, m := range placeholder.FindAllStringSubmatch(r.url, -1) {
		value, err := s.value(ctx, m[1], cmp.Or(m[2], "id"))
		if err != nil {
			return "", fmt.Errorf("%s: %w", r.name, err)
		}
		to = strings.Replace(to, m[0], value, 1)
	}
	return to, nil
}

// value returns a column of a row of the largest program, always the same row: the smallest value. It
// is looked up once.
func (s *side) value(ctx context.Context, table, column string) (string, error) {
	if v, ok := s.values[table+"."+column]; ok {
		return v, nil
	}
	program := "program_id"
	if table == "programs" {
		program = "id"
	}
	var v string
	err := s.pool.QueryRow(ctx, "SELECT min("+column+") FROM "+table+" WHERE "+program+" = $1",
		dataset.ID("prg", 0)).Scan(&v)
	s.values[table+"."+column] = v
	return v, err
}
