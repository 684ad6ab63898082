// Package sample loads and removes a believable program, "Northwind Notes", so
// that lists, balances and reports can be tried without a year of waiting. Its
// rows carry sample_ ids, are never paid and make no events (decisions, 24).
package sample

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
)

// ErrLoaded is returned where the organization has a sample program.
var ErrLoaded = errors.New("the organization has a sample program; clear it before loading another")

// ErrNoOrganization is returned for an id that no organization has.
var ErrNoOrganization = errors.New("there is no such organization")

// generous bounds the statements: they are larger than a request's.
const generous = "SET LOCAL statement_timeout = '2min'"

var queries = db.New()

// Load adds the sample program to an organization, as it would look had it run
// for a year up to now. All of it appears at once. A second one is refused with
// ErrLoaded.
func Load(ctx context.Context, pool *pgxpool.Pool, orgID string, now clock.Time) error {
	return within(ctx, pool, orgID, func(tx pgx.Tx, programs []string) error {
		loaded, err := queries.SampleLoaded(ctx, tx, db.SampleLoadedParams{OrgID: orgID, ProgramIds: programs})
		if err != nil {
			return err
		}
		if loaded {
			return ErrLoaded
		}
		b := newBuilder(orgID, now)
		if err := b.build(); err != nil {
			return err
		}
		return b.copy(ctx, tx)
	})
}

// Clear removes the sample program of an organization and everything in it,
// also what was added to it since. The ledger keeps its entries and says that
// their money is removed. Without a sample it does nothing.
//
// A program that the audit log speaks of cannot go: it stays, empty and paused.
func Clear(ctx context.Context, pool *pgxpool.Pool, orgID string) error {
	return within(ctx, pool, orgID, func(tx pgx.Tx, programs []string) error {
		tables, err := deletionOrder(ctx, tx)
		if err != nil {
			return err
		}
		for _, id := range programs {
			if err := clearProgram(ctx, tx, orgID, id, tables); err != nil {
				return err
			}
		}
		return nil
	})
}

// within runs f in a transaction that holds the organization and its sample
// programs.
func within(ctx context.Context, pool *pgxpool.Pool, orgID string, f func(tx pgx.Tx, programs []string) error) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, generous); err != nil {
			return err
		}
		if _, err := queries.SampleLockOrganization(ctx, tx, orgID); errors.Is(err, pgx.ErrNoRows) {
			return ErrNoOrganization
		} else if err != nil {
			return err
		}
		programs, err := queries.SamplePrograms(ctx, tx, orgID)
		if err != nil {
			return err
		}
		return f(tx, programs)
	})
	if err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	return nil
}

func clearProgram(ctx context.Context, tx pgx.Tx, orgID, id string, tables []string) error {
	if _, err := queries.SampleLockPartners(ctx, tx, db.SampleLockPartnersParams{ProgramID: id, OrgID: orgID}); err != nil {
		return err
	}
	now := clock.System{}.Now()
	if err := queries.SampleLedgerRemove(ctx, tx, db.SampleLedgerRemoveParams{CreatedAt: now, ProgramID: id, OrgID: orgID}); err != nil {
		return err
	}
	for _, table := range tables {
		sql := "DELETE FROM " + pgx.Identifier{table}.Sanitize() + " WHERE program_id = $1 AND org_id = $2"
		if _, err := tx.Exec(ctx, sql, id, orgID); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	gone, err := queries.SampleDeleteProgram(ctx, tx, db.SampleDeleteProgramParams{ID: id, OrgID: orgID})
	if err != nil || gone > 0 {
		return err
	}
	return empty(ctx, tx, orgID, id, now)
}

// empty leaves a program that is valid: paused, with its default group.
func empty(ctx context.Context, tx pgx.Tx, orgID, id string, now clock.Time) error {
	if _, err := queries.GroupInsert(ctx, tx, db.GroupInsertParams{
		ID: ident.NewSample(ident.Group), OrgID: orgID, ProgramID: id, Name: "Default", Slug: "default", IsDefault: true,
		CreatedAt: now, UpdatedAt: now,
	}); err != nil {
		return err
	}
	return queries.SamplePauseProgram(ctx, tx, db.SamplePauseProgramParams{UpdatedAt: now, ID: id, OrgID: orgID})
}

// history is what cannot be deleted.
var history = []string{"audit_log_entries", "ledger_entries"}

// deletionOrder lists the tables with rows of a program so that each comes
// after those that refer to it. It asks the database, so that a table made
// later is not forgotten.
func deletionOrder(ctx context.Context, tx pgx.Tx) ([]string, error) {
	tables, err := queries.SampleTables(ctx, tx)
	if err != nil {
		return nil, err
	}
	references, err := queries.SampleReferences(ctx, tx)
	if err != nil {
		return nil, err
	}
	var order, seen []string
	var visit func(table string)
	visit = func(table string) {
		if slices.Contains(seen, table) || !slices.Contains(tables, table) {
			return
		}
		seen = append(seen, table)
		for _, r := range references {
			if r.ToTable == table {
				visit(r.FromTable)
			}
		}
		order = append(order, table)
	}
	for _, table := range tables {
		visit(table)
	}
	return slices.DeleteFunc(order, func(t string) bool { return slices.Contains(history, t) }), nil
}

// number writes n with leading zeros.
func number(n, width int) string {
	s := strconv.Itoa(n)
	for len(s) < width {
		s = "0" + s
	}
	return s
}
