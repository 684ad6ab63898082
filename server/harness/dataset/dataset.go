// Package dataset fills a database with the data of a large customer, by SQL alone:
// skewed as in production, the same in every run, and with books in which rail audit
// finds nothing. The query plan tests and the load test of package scale use it. The
// load test of package bench uses its even form.
package dataset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"rail/server/clock"
	"rail/server/money/report"
	"rail/server/postgres"
)

// Size is the number of rows of the large tables. There are as many commissions as
// sales, each with two or three ledger entries.
type Size struct{ Partners, Customers, Referrals, Clicks, Sales int }

// Full is the size at which no cost may be above that of a tenth of it.
var Full = Size{Partners: 20_000, Customers: 1_000_000, Referrals: 1_000_000, Clicks: 10_000_000, Sales: 3_000_000}

// The smallest numbers of rows: with fewer partners, some programs would have none.
const (
	minPartners = 200
	minOthers   = 2000
)

// Times returns the size multiplied by factor, at least the smallest numbers of rows.
func (s Size) Times(factor float64) Size {
	by := func(n, least int) int { return max(least, int(float64(n)*factor)) }
	return Size{
		by(s.Partners, minPartners), by(s.Customers, minOthers), by(s.Referrals, minOthers), by(s.Clicks, minOthers),
		by(s.Sales, minOthers),
	}
}

// The organizations of a dataset that "bench load" or package scale loads.
const (
	Big   = "org_01000000000000000000000big"
	Small = "org_010000000000000000000small"
)

// The numbers in the ids of the even form begin with these, so that all numbers of a type have one length, and those of
// two types differ.
const (
	FirstProgram  = 31_00000
	FirstPartner  = 32_00000
	FirstCustomer = 40_000000
	FirstSale     = 5_00000000
)

// Programs is the number of programs.
const Programs = 20

// Options selects the data.
type Options struct {
	Size
	// Even is the form for package bench. Partners, customers and sales are dealt out in turn, tables that sales do not
	// need are empty, and all rows are of Org. Each program has one flow. The first partner has the last Hot customers
	// too.
	Even bool
	Hot  int
	// Until is the end of the two years of data.
	Until clock.Time
	// Org owns the dataset, except for two of the twenty programs, which Other owns.
	Org, Other string
	// Log prints progress; it may be nil.
	Log func(format string, args ...any)
}

// ErrInUse is returned for a database with an organization or another session: a load
// drops its indexes for a while and does not check its constraints.
var ErrInUse = errors.New("the database is in use")

// ID returns the id of the nth object of a type.
func ID(prefix string, n int) string { return fmt.Sprintf("%s_01%024d", prefix, n) }

// settings makes two sessions load as fast as possible. Triggers and foreign keys are
// off: the rows are valid by construction, which a test checks.
var settings = map[string]string{
	"session_replication_role": "replica", "synchronous_commit": "off", "maintenance_work_mem": "512MB",
	"work_mem": "256MB", "statement_timeout": "0",
	"idle_in_transaction_session_timeout": "0", "jit": "off", "search_path": "public, made",
	"max_parallel_maintenance_workers": "0", "max_parallel_workers_per_gather": "0",
}

// connections is how many statements run at once; a small machine has two processors.
const connections = 2

// Load fills the database and sums its reports, which the server's job would have done
// daily.
func Load(ctx context.Context, dsn string, o Options) error {
	began := time.Now()
	if err := Fill(ctx, dsn, o); err != nil {
		return err
	}
	o.log("rows and indexes after %.0f s; summing the reports", time.Since(began).Seconds())
	pool, err := postgres.Open(ctx, dsn, postgres.Options{MaxConns: connections})
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := report.Sum(ctx, pool, o.Until); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, "ANALYZE report_sums, report_spans"); err != nil {
		return err
	}
	o.log("loaded in %.0f s", time.Since(began).Seconds())
	return nil
}

// log prints progress, if anybody wants it.
func (o Options) log(format string, args ...any) {
	if o.Log != nil {
		o.Log(format, args...)
	}
}

// filler is a load in progress.
type filler struct {
	Options
	pool    *pgxpool.Pool
	numbers *strings.Replacer
}

// Fill fills the database at dsn, which must be at the current schema. The role must be allowed to set
// session_replication_role. Load does so too, and sums the reports; tests of plans do without those.
func Fill(ctx context.Context, dsn string, o Options) error {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return err
	}
	cfg.MaxConns = connections
	maps.Copy(cfg.ConnConfig.RuntimeParams, settings)
	f := &filler{Options: o}
	if f.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return err
	}
	defer f.pool.Close()
	span := 730
	if o.Even {
		span = 365
	}
	// A longer name comes before its own prefix.
	f.numbers = strings.NewReplacer("#partners", fmt.Sprint(o.Partners), "#customers", fmt.Sprint(o.Customers),
		"#referrals", fmt.Sprint(o.Referrals), "#dealt", fmt.Sprint(o.Customers-o.Hot), "#even", fmt.Sprint(o.Even),
		"#span", fmt.Sprint(span),
		"#program", fmt.Sprint(FirstProgram), "#partner", fmt.Sprint(FirstPartner), "#customer", fmt.Sprint(FirstCustomer),
		"#sales", fmt.Sprint(o.Sales), "#sale", fmt.Sprint(FirstSale),
		"#open", ID("com", o.Sales-min(open, o.Sales/2)), "#org", o.Org, "#other", o.Other,
		"#until", o.Until.Format("2006-01-02 15:04:05Z"))
	return f.fill(ctx)
}

// fill runs the phases one after the other: a statement may read rows of an earlier phase only.
func (f *filler) fill(ctx context.Context) error {
	if err := f.unused(ctx); err != nil {
		return err
	}
	indexes, err := f.dropIndexes(ctx)
	if err != nil {
		return err
	}
	dealt := skewedFunctions
	if f.Even {
		dealt = evenFunctions
	}
	if err := f.run(ctx, "CREATE SCHEMA made;"+dealt+functions); err != nil {
		return err
	}
	// In a phase two tables fill at once, so none may read another.
	for _, phase := range phases {
		var inserts []string
		for _, t := range phase {
			if !f.Even || slices.Contains(evenTables, t.table()) {
				inserts = append(inserts, f.insert(t))
			}
		}
		if err := f.run(ctx, inserts...); err != nil {
			return err
		}
	}
	// The counters were not kept meanwhile, since their triggers were off.
	if err := f.run(ctx, "DROP SCHEMA made CASCADE", marked, "SELECT recount_tallies()"); err != nil {
		return err
	}
	f.log("%d indexes", len(indexes))
	if err := f.run(ctx, indexes...); err != nil {
		return err
	}
	// Plans need statistics, and reads of an index alone the visibility map.
	var vacuums []string
	for _, name := range append(tables(), "tallies") {
		vacuums = append(vacuums, "VACUUM (ANALYZE) "+name)
	}
	return f.run(ctx, vacuums...)
}

// unused returns ErrInUse for a database that others may need during the load. It waits a second for sessions that end.
func (f *filler) unused(ctx context.Context) error {
	for try := 1; ; try++ {
		var organizations, sessions int
		err := f.pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM organizations),
			(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid())`).Scan(&organizations, &sessions)
		switch {
		case err != nil:
			return fmt.Errorf("database: %w", allowed(err))
		case organizations == 0 && sessions == 0:
			return nil
		case organizations > 0 || try == 10:
			return fmt.Errorf("%w: it has %d organizations and %d other sessions", ErrInUse, organizations, sessions)
		}
		if err := clock.Wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// insert returns the statement that fills a table.
func (f *filler) insert(t table) string {
	head := "INSERT INTO " + t.name + " "
	if t.rows != nil {
		n := fmt.Sprint(t.rows(f.Size))
		head += "WITH g AS MATERIALIZED (SELECT n FROM generate_series(0, " + n + " - 1) n) "
		return head + strings.ReplaceAll(t.sql, "$n", n)
	}
	return head + t.sql
}

// run starts statements in their order, two at a time, and returns the first error.
func (f *filler) run(ctx context.Context, statements ...string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(connections)
	for _, sql := range statements {
		group.Go(func() error {
			// The simple protocol takes several statements in one text, as functions has.
			done, err := f.pool.Exec(ctx, f.numbers.Replace(sql), pgx.QueryExecModeSimpleProtocol)
			if err != nil {
				return fmt.Errorf("%.60s: %w", sql, allowed(err))
			}
			if name, isInsert := strings.CutPrefix(sql, "INSERT INTO "); isInsert {
				name, _, _ = strings.Cut(name, " ")
				f.log("%9d %s", done.RowsAffected(), name)
			}
			return nil
		})
	}
	return group.Wait()
}

// allowed adds to an error for missing privileges what the role needs.
func allowed(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" {
		return fmt.Errorf("%w (the role must be a superuser's, or have been granted SET on session_replication_role)", err)
	}
	return err
}

// dropIndexes drops the indexes that no constraint owns and returns the statements that
// create them, those of the large tables first.
func (f *filler) dropIndexes(ctx context.Context) ([]string, error) {
	rows, err := f.pool.Query(ctx,
		`SELECT replace(pg_get_indexdef(x.indexrelid), ' ON ONLY ', ' ON '), x.indexrelid::regclass::text FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid
		WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = x.indexrelid)
		ORDER BY c.relname IN ('sales', 'commissions', 'clicks', 'ledger_entries') DESC, 1`)
	if err != nil {
		return nil, fmt.Errorf("indexes: %w", allowed(err))
	}
	var indexes, names []string
	var definition, name string
	_, err = pgx.ForEachRow(rows, []any{&definition, &name}, func() error {
		indexes, names = append(indexes, definition), append(names, name)
		return nil
	})
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return indexes, f.run(ctx, "DROP INDEX "+strings.Join(names, ", "))
}
