package check

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"rail/gen/db"
	"rail/server/clock"
)

// longTimeouts gives statements that scan whole tables more time than a request gets, and suitable plans. It
// also lets a connection stay idle in its transaction while it waits for the others.
const longTimeouts = "SET LOCAL statement_timeout = '15min'; SET LOCAL idle_in_transaction_session_timeout = '15min';" +
	"SET LOCAL enable_seqscan = on"

// audit is a running audit. Its first connection exports the snapshot for the others, and keeps it until they
// are done.
type audit struct {
	Options
	pool     *pgxpool.Pool
	partners []string   // the partners changed since the last audit; nil for all
	todo     []Equation // the equations to check, in the order of the report
	report   Report

	mu          sync.Mutex
	begun, done int
	found       [][]Finding // of each of todo
}

// inTx runs work in a transaction, in the given snapshot or, without one, in a new one.
func (a *audit) inTx(ctx context.Context, snapshot string, work func(context.Context, pgx.Tx) error) error {
	tx, err := a.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	if snapshot != "" {
		// The statement takes no parameters; the database made the name.
		_, err = tx.Exec(ctx, "SET TRANSACTION SNAPSHOT '"+snapshot+"'")
	}
	if err == nil {
		_, err = tx.Exec(ctx, longTimeouts)
	}
	if err == nil {
		err = work(ctx, tx)
	}
	// Nothing was written, so a rollback is as good as a commit.
	return errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
}

// run checks everything; the connection of tx takes part.
func (a *audit) run(ctx context.Context, tx pgx.Tx) error {
	start := clock.Real()
	m, err := queries.AuditSnapshot(ctx, tx)
	if err != nil {
		return err
	}
	a.report.mark = Mark{m.AuditedAt, m.AuditedAt, m.AfterID, m.Horizon}
	if err := a.choose(ctx, tx); err != nil {
		return err
	}
	if err := a.spread(ctx, tx, m.Snapshot); err != nil {
		return err
	}
	if a.Keeper != nil && a.report.Since == nil {
		start := clock.Real()
		c, found, err := checkSealed(ctx, tx, a.Keeper)
		if err != nil {
			return fmt.Errorf("audit %s: %w", c.Name, err)
		}
		a.report.Checks, a.found = append(a.report.Checks, c.result(start, found)), append(a.found, found)
	}
	for i, c := range a.report.Checks {
		for _, f := range a.found[i] {
			f.Equation = c.Name
			a.report.Findings = append(a.report.Findings, f)
		}
	}
	a.report.Took = time.Since(start)
	return nil
}

// choose decides on the scope: every row, or the partners changed since the last audit.
func (a *audit) choose(ctx context.Context, tx pgx.Tx) error {
	if a.SinceLast {
		last, err := queries.AuditLast(ctx, tx)
		if err != nil {
			return err
		}
		if len(last) > 0 {
			return a.since(ctx, tx, last[0])
		}
	}
	a.todo = equations
	rows, err := queries.AuditRows(ctx, tx)
	for _, row := range rows {
		a.report.Rows = append(a.report.Rows, Rows{row.Name, row.N})
	}
	return err
}

func (a *audit) since(ctx context.Context, tx pgx.Tx, m db.AuditLastRow) (err error) {
	a.report.Since = &Mark{m.AuditedAt, m.WholeAt, m.AfterID, m.Horizon}
	a.partners, err = queries.AuditPartnersSince(ctx, tx,
		db.AuditPartnersSinceParams{AfterID: m.AfterID, Horizon: m.Horizon, AuditedAt: m.AuditedAt})
	for _, e := range equations {
		if e.partial {
			e.Tables = []string{"partners"}
			a.todo = append(a.todo, e)
		}
	}
	a.report.Rows = []Rows{{"partners", int64(len(a.partners))}}
	return err
}

// spread checks the equations over several connections.
func (a *audit) spread(ctx context.Context, tx pgx.Tx, snapshot string) error {
	a.report.Checks, a.found = make([]Check, len(a.todo)), make([][]Finding, len(a.todo))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.work(ctx, tx) })
	for range min(a.Connections, int(a.pool.Config().MaxConns)) - 1 {
		group.Go(func() error { return a.inTx(ctx, snapshot, a.work) })
	}
	return group.Wait()
}

// work checks the remaining equations, from the last on: those of reports and totals take longest.
func (a *audit) work(ctx context.Context, tx pgx.Tx) error {
	for {
		a.mu.Lock()
		a.begun++
		i := len(a.todo) - a.begun
		a.mu.Unlock()
		if i < 0 {
			return nil
		}
		if err := a.check(ctx, tx, i); err != nil {
			return fmt.Errorf("audit %s: %w", a.todo[i].Name, err)
		}
	}
}

// check checks equation i.
func (a *audit) check(ctx context.Context, tx pgx.Tx, i int) error {
	start, c := clock.Real(), Check{Equation: a.todo[i]}
	found, err := c.find(ctx, tx, a.partners)
	if err != nil {
		return err
	}
	for _, table := range c.Tables {
		c.Rows = append(c.Rows, Rows{table, a.report.Size(table)})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Checks[i], a.found[i] = c.result(start, found), found
	a.done++
	if a.Progress != nil {
		a.Progress(c.Name, a.done, len(a.todo))
	}
	return nil
}

// result completes the check with its duration and findings.
func (c Check) result(start time.Time, found []Finding) Check {
	c.Took, c.Findings = time.Since(start), len(found)
	return c
}
