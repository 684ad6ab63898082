// Package check checks the equations of money over the whole database, in one snapshot, while the service runs.
// It writes only the mark of a clean audit, from which an incremental audit starts.
//
// A finding begins with the name of its equation. Each equation is stated beside its name in equations.go, and
// `rail audit` prints it. Some numbers have no separate equation:
//
//	M14  a payout that is not eligible has no commissions: part of M10
//	M17  a paid commission of a refunded sale is clawed back in whole, once: part of M16
//	M23  a customer whose sales are all refunded is refunded: not always true, since
//	     the API may set the status afterwards
//	M24  everything earned is in some bucket: follows from M01 to M05
//	M26  a paid payout never changes: a trigger of the database
//	M27  lists of commissions sum to the balances shown
//	M28  the commissions listed for a payout sum to it
//	M29  the rows of a report sum to its totals
//	M30  a report's previous period is the report of that period
//	M31  the figures of include[]=stats are sums of the lists
//	M32  a refund's answer names what it voided and clawed back
//	M35  a deleted partner leaves only its ledger, which still sums up: foreign
//	     keys, with M04
//
// M27 to M32 are about answers of the API, which its tests compare.
package check

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/secret"
)

// Finding is one row, or sum of rows, that breaks an equation.
type Finding struct {
	Equation string // name of the equation
	What     string // id of the row or object
	Message  string
}

// String returns the finding as one line.
func (f Finding) String() string { return f.Equation + " " + f.What + ": " + f.Message }

// Rows is the number of rows of a table, or of sealed values of one kind.
type Rows struct {
	Table string
	N     int64
}

// Check is the result of one equation.
type Check struct {
	Equation
	Rows     []Rows
	Took     time.Duration
	Findings int // at most 100
}

// Report lists what an audit checked and found.
type Report struct {
	Checks   []Check
	Findings []Finding
	// Rows counts the rows in the database or, in an incremental audit, the rows read.
	Rows []Rows
	Took time.Duration
	// Since is the mark where an incremental audit started, nil for a full one.
	Since *Mark
	mark  Mark
}

// Mark is the time of an audit without findings.
type Mark struct {
	At, Full clock.Time // time of this audit, and of the last full one
	afterID  int64
	horizon  uint64
}

// Options are the options of an audit.
type Options struct {
	// Keeper opens sealed values to check them; nil skips that check.
	Keeper *secret.Keeper
	// Connections is the number of connections that share the work: at least one, at most those of the pool.
	Connections int
	// SinceLast restricts the audit to partners changed since the last clean audit, and to equations that can be
	// checked for single partners. Without such an audit, it checks everything.
	SinceLast bool
	// Progress, if not nil, is called after each equation, one call at a time.
	Progress func(name string, done, of int)
}

// Run checks every equation in one snapshot and returns at most a hundred findings for each.
func Run(ctx context.Context, pool *pgxpool.Pool) ([]Finding, error) {
	r, err := Full(ctx, pool, Options{})
	return r.Findings, err
}

// Full is Run with a full report.
func Full(ctx context.Context, pool *pgxpool.Pool, o Options) (Report, error) {
	a := audit{Options: o, pool: pool}
	err := a.inTx(ctx, "", a.run)
	return a.report, err
}

// Pass stores the mark of an audit without findings: the next incremental audit starts there.
func (r *Report) Pass(ctx context.Context, pool *pgxpool.Pool) error {
	return queries.AuditSave(ctx, pool, db.AuditSaveParams{
		AuditedAt: r.mark.At, AfterID: r.mark.afterID, Horizon: r.mark.horizon, Whole: r.Since == nil,
	})
}

// Size returns the number of rows of a table.
func (r *Report) Size(table string) int64 {
	for _, t := range r.Rows {
		if t.Table == table {
			return t.N
		}
	}
	return 0
}
