// Package bar tests the service against the reliability bar, the stages G1 to
// G13: two server processes and one PostgreSQL under generated requests, races,
// kills and crashes. Each stage ends with an audit that must find nothing. A stage
// that could not do its work fails too: a kill that hit nothing proves nothing.
package bar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"rail/server/money/ledger/check"
)

// Options selects the stages and sizes.
type Options struct {
	Smoke bool
	Seed  uint64
	Only  []string // names of stages; all when empty
	Bug   string   // run only the seeded bugs whose names contain this text
	Out   io.Writer
}

// Size is the size of a run: full, or smoke for a check within minutes.
type Size struct{ Smoke bool }

// of returns full or, in a smoke run, smoke.
func (s Size) of(full, smoke int) int {
	if s.Smoke {
		return smoke
	}
	return full
}

// stage is one part of the bar.
type stage struct {
	name, title string
	run         func(ctx context.Context, sys *system, size Size) (figures, error)
}

// figures counts what a stage did, in the order of printing.
type figures []figure

// figure is a number and its label.
type figure struct {
	what  string
	value string
}

func (f *figures) add(what string, value any) { *f = append(*f, figure{what, fmt.Sprint(value)}) }

// stages lists the bar in the order in which it runs. G10 comes after those whose bugs it
// sows, and G11 near the end, since it loads the machine most.
func stages() []stage {
	return []stage{
		{"g1", "G1 vectors", publishedVectors},
		{"g2", "G2 tenancy", tenancy},
		{"g3", "G3 scopes", scopes},
		{"g4", "G4 idempotency", idempotency},
		{"g5", "G5 paging", paging},
		{"g6", "G6 races", races},
		{"g7", "G7 crashes", crashes},
		{"g8", "G8 webhooks", webhooks},
		{"g9", "G9 fuzz", fuzz},
		{"g13", "G13 rails", paidByRails},
		{"g10", "G10 the bar itself", seededBugs},
		{"g11", "G11 neighbours", neighbours},
		{"g12", "G12 attacks", underAttack},
	}
}

// Names returns the names of the stages.
func Names() []string {
	var out []string
	for _, s := range stages() {
		out = append(out, s.name)
	}
	return out
}

// row is a line of the table.
type row struct {
	stage   stage
	figures figures
	took    time.Duration
	err     error
}

// Run runs the stages and prints the table of figures. Its error joins what all
// stages found.
func Run(ctx context.Context, o Options) (err error) {
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("no stage is called %q; there are %v", name, Names())
		}
	}
	binary, remove, err := build(ctx, nil)
	if err != nil {
		return err
	}
	defer remove()
	c, err := newCluster(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	sys, err := newSystem(ctx, c, binary, o.Seed)
	if err != nil {
		return err
	}
	defer sys.close()
	sys.bug = o.Bug
	var rows []row
	for _, s := range stages() {
		if len(o.Only) > 0 && !slices.Contains(o.Only, s.name) {
			continue
		}
		r := sys.stage(ctx, s, Size{o.Smoke})
		fmt.Fprintln(o.Out, r)
		rows = append(rows, r)
		err = errors.Join(err, r.err)
	}
	table(o.Out, o, rows)
	return err
}

// stage runs one stage. Faults in answers and findings of the audit fail it too: a stage
// need not know the equations of the books that its requests might break.
func (sys *system) stage(ctx context.Context, s stage, size Size) row {
	began := time.Now()
	sys.take() // faults of the stage before are in its own row
	f, err := s.run(ctx, sys, size)
	r := row{stage: s, figures: f, took: time.Since(began)}
	if found, auditErr := check.Full(ctx, sys.pool, check.Options{Keeper: sys.keeper, Connections: 2}); auditErr != nil || len(found.Findings) > 0 {
		err = errors.Join(err, auditErr, fmt.Errorf("the audit finds %d: %v", len(found.Findings), first(found.Findings, 5)))
	}
	if faults, n := sys.take(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d faults:\n%s", n, strings.Join(faults, "\n")))
	}
	if err != nil {
		r.err = fmt.Errorf("%s (BAR_SEED=%d): %w", s.title, sys.seed, err)
	}
	return r
}

// first returns at most n of a list.
func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// String returns the row as it is printed while the bar runs.
func (r row) String() string {
	if r.err != nil {
		return fmt.Sprintf("FAIL %s, %.1f s: %v", r.stage.title, r.took.Seconds(), r.err)
	}
	return fmt.Sprintf("ok   %s, %.1f s: %s", r.stage.title, r.took.Seconds(), r.figures)
}

// String returns the figures as one cell of the table.
func (f figures) String() string {
	parts := make([]string, len(f))
	for i, one := range f {
		parts[i] = one.value + " " + one.what
	}
	return strings.Join(parts, ", ")
}

// table prints the rows as Markdown, for the record of a run.
func table(out io.Writer, o Options, rows []row) {
	fmt.Fprint(out, "\n| stage | figures | seconds |\n|---|---|---|\n")
	var total time.Duration
	for _, r := range rows {
		text := r.figures.String()
		if r.err != nil {
			text = "**failed** " + text
		}
		fmt.Fprintf(out, "| %s | %s | %.0f |\n", r.stage.title, text, r.took.Seconds())
		total += r.took
	}
	size := "full"
	if o.Smoke {
		size = "smoke"
	}
	fmt.Fprintf(out, "\nBAR_SEED=%d, %s size, %.0f s; the audit was clean after every stage that passed.\n", o.Seed, size,
		total.Seconds())
}

// temporary makes a directory with search permission for PostgreSQL's account.
func temporary() (string, error) {
	dir, err := os.MkdirTemp("", "rail-bar-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711) // nothing secret
}
