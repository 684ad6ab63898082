// Package check checks the equations of money over the whole database, in one
// snapshot, while the service runs. It changes nothing but the note of what was
// found to be in order, which an audit of what changed begins at.
//
// A finding begins with the name of its equation. What that says stands beside
// the name in equations.go, and `rail audit` prints it. Numbers without an equation
// of their own:
//
//	M14  a payout that is not eligible has nothing: part of M10
//	M17  a paid commission of a refunded sale is clawed back in whole, once: part of M16
//	M23  a customer all of whose sales are refunded is refunded: is not always so, since
//	     the API may set the status afterwards
//	M24  all that was earned is in some bucket: follows from M01 to M05
//	M26  a paid payout never changes: a trigger of the database
//	M27  lists of commissions sum to the balances that are shown
//	M28  the commissions listed for a payout sum to it
//	M29  the rows of a report sum to its totals
//	M30  a report's previous period is the report of that period
//	M31  the figures of include[]=stats are sums of what lists show
//	M32  a refund's answer names what it voided and clawed back
//	M35  a deleted partner leaves nothing but its ledger, which still adds up: foreign
//	     keys, with M04
//
// M27 to M32 speak of the API's answers, which its tests compare.
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
	Equation string // its name
	What     string // the id that breaks it
	Message  string
}

// String returns the finding as one line.
func (f Finding) String() string { return f.Equation + " " + f.What + ": " + f.Message }

// Rows is how many rows a table, or a kind of sealed values, has.
type Rows struct {
	Table string
	N     int64
}

// Check is what came of one equation.
type Check struct {
	Equation
	Rows     []Rows
	Took     time.Duration
	Findings int // 100 means that many or more
}

// Report is everything that an audit has checked, and what it has found.
type Report struct {
	Checks   []Check
	Findings []Finding
	// Rows is what there is in all, or what was looked at of it.
	Rows []Rows
	Took time.Duration
	// Since is the audit after which it looked, nil where it looked at all.
	Since *Mark
	mark  Mark
}

// Mark is an audit that found nothing.
type Mark struct {
	At, Whole clock.Time // when it was, and when the last one of all was
	afterID   int64
	horizon   uint64
}

// Options say how an audit goes about it.
type Options struct {
	// Keeper opens sealed values too; nil leaves them.
	Keeper *secret.Keeper
	// Connections is over how many the equations are spread, at least one and at most those of the pool.
	Connections int
	// SinceLast looks at those partners alone of whom something was written since the last audit that found nothing,
	// by the equations that can be asked of some partners. Where there was none, it looks at all.
	SinceLast bool
	// Progress is called when an equation is done, never twice at once; nil for nobody.
	Progress func(name string, done, of int)
}

// Run checks every equation and returns what breaks them, at most a hundred
// findings an equation. All of them see the same moment.
func Run(ctx context.Context, pool *pgxpool.Pool) ([]Finding, error) {
	r, err := Full(ctx, pool, Options{})
	return r.Findings, err
}

// Full is Run with what it has checked.
func Full(ctx context.Context, pool *pgxpool.Pool, o Options) (Report, error) {
	a := audit{Options: o, pool: pool}
	err := a.in(ctx, "", a.run)
	return a.report, err
}

// Pass notes an audit that found nothing: the next of what changed begins there.
func (r *Report) Pass(ctx context.Context, pool *pgxpool.Pool) error {
	return queries.AuditPassed(ctx, pool, db.AuditPassedParams{
		AuditedAt: r.mark.At, AfterID: r.mark.afterID, Horizon: r.mark.horizon, Whole: r.Since == nil,
	})
}

// Size is how many rows a table has.
func (r *Report) Size(table string) int64 {
	for _, t := range r.Rows {
		if t.Table == table {
			return t.N
		}
	}
	return 0
}
