// Package audit checks the equations of money over the whole database, in one
// snapshot, while the service runs. It changes nothing.
package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
)

// most is how many findings of one equation are reported.
const most = 100

// timeout bounds each statement of the audit: they read whole tables, which the
// time allowed to a request does not cover.
const timeout = "SET LOCAL statement_timeout = '15min'"

// Finding is one row, or sum of rows, that breaks an equation.
type Finding struct {
	Equation string // M01 to M10, M12, M13, M16, M18, M20 (reliability, 2.3), or outcome
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
	check("M10", queries.AuditM10), check("M12", queries.AuditM12), check("M13", queries.AuditM13),
	check("M16", queries.AuditM16), check("M18", queries.AuditM18), check("M20", queries.AuditM20), check("outcome", queries.AuditOutcome),
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
