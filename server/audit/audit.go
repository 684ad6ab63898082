// Package audit checks the equations of money over the whole database, in one
// snapshot, while the service runs. It changes nothing.
//
// The equations are those of reliability, 2.3, by their names. M14 is part of
// M10 and M17 of M16; M19 follows from M16 with M18, M24 from M01 to M05, M35
// from foreign keys with M04. M26 is a trigger of the database. M23 does not
// hold: the API may set the status of a refunded customer. M27 to M32 speak of
// the API's answers, which its tests compare.
package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/rules"
)

// most is how many findings of one equation are reported.
const most = 100

// timeout bounds each statement of the audit: they read whole tables, which the
// time allowed to a request does not cover.
const timeout = "SET LOCAL statement_timeout = '15min'"

// Finding is one row, or sum of rows, that breaks an equation.
type Finding struct {
	Equation string // M01 to M34 (reliability, 2.3), outcome, left out, reports, report levels or totals
	What     string // the id that breaks it
	Message  string
}

// String returns the finding as one line.
func (f Finding) String() string { return f.Equation + " " + f.What + ": " + f.Message }

// Run checks every equation and returns what breaks them, at most a hundred
// findings an equation. All of them see the same moment.
func Run(ctx context.Context, pool *pgxpool.Pool) ([]Finding, error) {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	findings, err := run(ctx, tx)
	// Nothing was written, so a rollback ends it as well as a commit would.
	return findings, errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
}

func run(ctx context.Context, tx pgx.Tx) ([]Finding, error) {
	if _, err := tx.Exec(ctx, timeout); err != nil {
		return nil, err
	}
	var all []Finding
	for _, e := range equations {
		found, err := e(ctx, tx)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

var queries = db.New()

// equation returns what breaks one equation.
type equation func(ctx context.Context, tx pgx.Tx) ([]Finding, error)

var equations = []equation{
	check("M01", queries.AuditM01), check("M02", queries.AuditM02), check("M03", queries.AuditM03),
	check("M04", queries.AuditM04), check("M05", queries.AuditM05), check("M06", queries.AuditM06),
	check("M07", queries.AuditM07), check("M08", queries.AuditM08), check("M09", queries.AuditM09),
	check("M10", queries.AuditM10), check("M11", queries.AuditM11), check("M12", queries.AuditM12), check("M13", queries.AuditM13),
	check("M15", queries.AuditM15), check("M16", queries.AuditM16), check("M18", queries.AuditM18), check("M20", queries.AuditM20),
	check("M21", queries.AuditM21), check("M22", queries.AuditM22), check("M25", queries.AuditM25), check("M33", queries.AuditM33),
	check("M34", queries.AuditM34), currencies, check("outcome", queries.AuditOutcome), check("left out", queries.AuditLeftOut),
	check("reports", queries.AuditReportDays), check("report levels", queries.AuditReportLevels),
	check("totals", queries.AuditTallies),
}

// currencies is the part of M34 that a list decides.
func currencies(ctx context.Context, tx pgx.Tx) ([]Finding, error) {
	used, err := queries.AuditCurrencies(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("audit M34: %w", err)
	}
	var out []Finding
	for _, code := range used {
		if !rules.ValidCurrency(code) {
			out = append(out, Finding{Equation: "M34", What: code, Message: "is no currency of ISO 4217"})
		}
	}
	return out, nil
}

// breach is the shape of every row of queries/audit.sql.
type breach struct {
	What    string
	Message string
}

func check[R ~struct {
	What    string
	Message string
}](name string, query func(context.Context, db.DBTX, int32) ([]R, error)) equation {
	return func(ctx context.Context, tx pgx.Tx) ([]Finding, error) {
		rows, err := query(ctx, tx, most)
		if err != nil {
			return nil, fmt.Errorf("audit %s: %w", name, err)
		}
		out := make([]Finding, len(rows))
		for i, row := range rows {
			b := breach(row)
			out[i] = Finding{Equation: name, What: b.What, Message: b.Message}
		}
		return out, nil
	}
}
