// Package sample loads and removes a realistic program, "Northwind Notes", so that lists, balances and reports
// can be tried at once, with a year of data. Its rows have sample_ ids, are never paid and emit no events
// (decisions, 24).
package sample

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
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
	// Outside of the transaction, which holds locks: a slow machine needs seconds for it.
	b := newBuilder(orgID, now, keeper)
	if err := b.build(); err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	return within(ctx, pool, orgID, func(tx pgx.Tx, programs []string) error {
		if len(programs) > 0 {
			return ErrLoaded
		}
		if err := b.copy(ctx, tx); err != nil {
			return err
		}
		return b.analyze(ctx, tx)
	})
}

// Clear deletes the sample program of an organization with everything in it, including later additions. The
// ledger keeps its entries and gets new ones that remove their money. Without a sample program, Clear does
// nothing.
func Clear(ctx context.Context, pool *pgxpool.Pool, orgID string) error {
	return within(ctx, pool, orgID, func(tx pgx.Tx, programs []string) error {
		for _, id := range programs {
			if err := clearProgram(ctx, tx, orgID, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// within runs f in a transaction that locks the organization and its sample programs.
func within(ctx context.Context, pool *pgxpool.Pool, orgID string, f func(tx pgx.Tx, programs []string) error) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, pgtx.Unhurried); err != nil {
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

// owned lists the tables with rows of a program, referring tables before referenced ones. The ledger and the
// audit log are append-only and not included.
var owned = []string{
	"commissions", "payouts", "payout_runs", "payout_batches", "refunds", "sales", "webhook_deliveries",
	"webhook_endpoints", "customer_external_ids", "customer_duplicates", "customer_merges", "customers", "clicks", "referrals", "tracking_values", "links", "coupons",
	"risk_flags", "resources", "campaign_recipients", "campaigns", "sequence_enrolments", "sequence_steps", "sequences",
	"mail_unsubscribes", "inbox_waits", "inbox_events", "charge_aliases", "opt_outs", "processor_connections", "publishable_keys", "portal_settings", "portal_logos", "flows", "join_requests", "applications", "magic_links", "portal_sessions", "tax_form_statuses",
	"partner_note_files", "partner_notes", "partner_addresses", "balances", "report_sums", "report_spans", "report_marks", "partner_tags", "partners", "tags",
	"groups", "events",
}

// clearProgram deletes the rows of a program. The partners are locked first, so that nothing of theirs changes
// at the same time.
func clearProgram(ctx context.Context, tx pgx.Tx, orgID, id string) error {
	if _, err := queries.SampleLockPartners(ctx, tx,
		db.SampleLockPartnersParams{ProgramID: id, OrgID: orgID}); err != nil {
		return err
	}
	now := clock.System{}.Now()
	if err := queries.SampleLedgerRemove(ctx, tx,
		db.SampleLedgerRemoveParams{CreatedAt: now, ProgramID: id, OrgID: orgID}); err != nil {
		return err
	}
	for _, table := range owned {
		sql := "DELETE FROM " + pgx.Identifier{table}.Sanitize() + " WHERE program_id = $1 AND org_id = $2"
		if _, err := tx.Exec(ctx, sql, id, orgID); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	return queries.SampleDeleteProgram(ctx, tx, db.SampleDeleteProgramParams{ID: id, OrgID: orgID})
}

// number returns n with leading zeros.
func number(n, width int) string {
	s := strconv.Itoa(n)
	for len(s) < width {
		s = "0" + s
	}
	return s
}
