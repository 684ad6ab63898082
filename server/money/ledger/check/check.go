// Package check checks the equations of money over the whole database, in one
// snapshot, while the service runs. It changes nothing.
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
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/secret"
)

// most is how many findings of one equation are reported.
const most = 100

// timeout bounds each statement of the audit: they read whole tables, which the
// time allowed to a request does not cover.
const timeout = "SET LOCAL statement_timeout = '15min'"

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
	Findings int // most means that many or more
}

// Report is everything that an audit has checked, and what it has found.
type Report struct {
	Checks   []Check
	Findings []Finding
	// Rows is what there is in all.
	Rows []Rows
	Took time.Duration
}

// Run checks every equation and returns what breaks them, at most a hundred
// findings an equation. All of them see the same moment.
func Run(ctx context.Context, pool *pgxpool.Pool) ([]Finding, error) {
	r, err := Full(ctx, pool, nil)
	return r.Findings, err
}

// Full is Run with what it has checked. With a keeper it opens sealed values too.
func Full(ctx context.Context, pool *pgxpool.Pool, keeper *secret.Keeper) (Report, error) {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return Report{}, err
	}
	r, err := full(ctx, tx, keeper)
	// Nothing was written, so a rollback ends it as well as a commit would.
	return r, errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
}

func full(ctx context.Context, tx pgx.Tx, keeper *secret.Keeper) (r Report, err error) {
	begun := clock.Real()
	if _, err := tx.Exec(ctx, timeout); err != nil {
		return r, err
	}
	if r.Rows, err = count(ctx, tx); err != nil {
		return r, err
	}
	for _, e := range equations {
		if err := r.check(ctx, tx, e); err != nil {
			return r, err
		}
	}
	if keeper != nil {
		start := clock.Real()
		c, found, err := sealed(ctx, tx, keeper)
		if err != nil {
			return r, fmt.Errorf("audit %s: %w", c.Name, err)
		}
		r.add(c, found, start)
	}
	r.Took = time.Since(begun)
	return r, nil
}

// count returns the sizes of the tables, of which the organizations are one.
func count(ctx context.Context, tx pgx.Tx) ([]Rows, error) {
	rows, err := queries.AuditRows(ctx, tx)
	out := make([]Rows, len(rows))
	for i, row := range rows {
		out[i] = Rows{row.Name, row.N}
	}
	return out, err
}

func (r *Report) check(ctx context.Context, tx pgx.Tx, e Equation) error {
	start := clock.Real()
	found, err := e.find(ctx, tx)
	if err != nil {
		return fmt.Errorf("audit %s: %w", e.Name, err)
	}
	c := Check{Equation: e}
	for _, table := range e.Over {
		c.Rows = append(c.Rows, Rows{table, r.Size(table)})
	}
	r.add(c, found, start)
	return nil
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

func (r *Report) add(c Check, found []Finding, start time.Time) {
	for i := range found {
		found[i].Equation = c.Name
	}
	c.Took, c.Findings = time.Since(start), len(found)
	r.Checks, r.Findings = append(r.Checks, c), append(r.Findings, found...)
}
