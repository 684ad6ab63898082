// Package sample loads and removes a realistic program, "Northwind Notes", so that lists, balances and reports
// can be tried at once, with a year of data. The rules of the other packages write it, at times in the past. Its
// rows have sample_ ids, are never paid and emit no events (decisions, 24).
package sample

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
	"rail/server/work"
)

// ErrLoaded is returned for an organization with a sample program.
var ErrLoaded = errors.New("the organization has a sample program; clear it before loading another")

// ErrNoOrganization is returned for an unknown organization.
var ErrNoOrganization = errors.New("there is no such organization")

var queries = db.New()

// Load adds the sample program to an organization, with the data of a year up to now: every list has objects in
// each of its states. It does so in one transaction, and seals the program's secrets with keeper. It returns
// ErrLoaded if there is a sample.
func Load(ctx context.Context, pool *pgxpool.Pool, keeper *secret.Keeper, orgID string, now clock.Time) error {
	return load(ctx, pool, keeper, orgID, now, full)
}

// load is Load of a size.
func load(ctx context.Context, pool *pgxpool.Pool, keeper *secret.Keeper, orgID string, now clock.Time, of size) error {
	return within(ctx, pool, orgID, now, func(u *work.Unit, programs []string) error {
		if len(programs) > 0 {
			return ErrLoaded
		}
		// As in requests: the plans that follow must not read whole tables.
		if _, err := u.Tx.Exec(ctx, "SET LOCAL enable_seqscan = off"); err != nil {
			return err
		}
		if err := newBuilder(keeper, now, of).build(ctx, u); err != nil {
			return err
		}
		return analyze(ctx, u)
	})
}

// Clear deletes the sample program of an organization with everything in it, including later additions. The
// ledger keeps its entries and gets new ones that remove their money. Without a sample program, Clear does
// nothing.
func Clear(ctx context.Context, pool *pgxpool.Pool, orgID string) error {
	return within(ctx, pool, orgID, clock.System{}.Now(), func(u *work.Unit, programs []string) error {
		for _, id := range programs {
			if err := clearProgram(ctx, u, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// within runs do in a unit of work that locks the organization and its sample programs.
func within(ctx context.Context, pool *pgxpool.Pool, orgID string, now clock.Time,
	do func(u *work.Unit, programs []string) error) error {
	u := work.NewRun(pool, work.Actor{Kind: work.Operator}, now).For(orgID)
	u.Sample = true
	err := u.Within(ctx, func(u *work.Unit) error {
		if _, err := u.Tx.Exec(ctx, pgtx.Unhurried); err != nil {
			return err
		}
		if _, err := queries.SampleLockOrganization(ctx, u.Tx, orgID); errors.Is(err, pgx.ErrNoRows) {
			return ErrNoOrganization
		} else if err != nil {
			return err
		}
		programs, err := queries.SamplePrograms(ctx, u.Tx, orgID)
		if err != nil {
			return err
		}
		return do(u, programs)
	})
	if err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	return nil
}

// catalogue lists the tables with rows of a program, each with the tables to which it refers. It omits tables that
// are only appended to, and the counts of triggers.
const catalogue = `SELECT c.relname, array(SELECT r.relname FROM pg_constraint f JOIN pg_class r ON r.oid = f.confrelid
		WHERE f.conrelid = c.oid AND f.contype = 'f' AND r.oid <> c.oid)::text[]
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'program_id'
	WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
		AND c.relname NOT IN ('tallies', 'tally_entries')
		AND NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = c.relname || '_append_only')
	ORDER BY c.relname`

// owned lists the tables of the catalogue, referring tables before referenced ones.
func owned(ctx context.Context, u *work.Unit) (tables []string, err error) {
	rows, err := u.Tx.Query(ctx, catalogue)
	if err != nil {
		return nil, err
	}
	refers, table, to := map[string][]string{}, "", []string(nil)
	if _, err = pgx.ForEachRow(rows, []any{&table, &to}, func() error {
		refers[table], to = to, nil
		return nil
	}); err != nil {
		return nil, err
	}
	var place func(table string)
	place = func(table string) {
		to, left := refers[table]
		delete(refers, table)
		for _, next := range to {
			place(next)
		}
		if left {
			tables = append(tables, table)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(refers)) {
		place(table)
	}
	slices.Reverse(tables)
	return tables, nil
}

// clearProgram deletes the rows of a program. The partners are locked first, so that nothing of theirs changes
// at the same time.
func clearProgram(ctx context.Context, u *work.Unit, id string) error {
	if _, err := queries.SampleLockPartners(ctx, u.Tx,
		db.SampleLockPartnersParams{ProgramID: id, OrgID: u.OrgID}); err != nil {
		return err
	}
	if err := queries.SampleLedgerRemove(ctx, u.Tx,
		db.SampleLedgerRemoveParams{CreatedAt: u.Now, ProgramID: id, OrgID: u.OrgID}); err != nil {
		return err
	}
	tables, err := owned(ctx, u)
	if err != nil {
		return err
	}
	for _, table := range tables {
		sql := "DELETE FROM " + pgx.Identifier{table}.Sanitize() + " WHERE program_id = $1 AND org_id = $2"
		if _, err := u.Tx.Exec(ctx, sql, id, u.OrgID); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	if err := queries.SampleStatementCounters(ctx, u.Tx,
		db.SampleStatementCountersParams{ProgramID: id, OrgID: u.OrgID}); err != nil {
		return err
	}
	return queries.SampleDeleteProgram(ctx, u.Tx, db.SampleDeleteProgramParams{ID: id, OrgID: u.OrgID})
}

// analyze updates the statistics of the filled tables: without them, query plans for so many new rows are bad.
// It skips other tables, above all the catalogs that all databases share.
func analyze(ctx context.Context, u *work.Unit) error {
	tables, err := owned(ctx, u)
	if err != nil {
		return err
	}
	_, err = u.Tx.Exec(ctx, "ANALYZE programs, ledger_entries, "+strings.Join(tables, ", "))
	return err
}

// number returns n with leading zeros.
func number(n, width int) string {
	s := strconv.Itoa(n)
	return strings.Repeat("0", max(width-len(s), 0)) + s
}
