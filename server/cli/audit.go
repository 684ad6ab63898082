package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rail/server/clock"
	"rail/server/money/ledger/check"
)

// auditConnections is the default number of connections of an audit.
const auditConnections = 4

// audited is the JSON of an audit.
type audited struct {
	// Organizations is the number of organizations, omitted in an incremental audit.
	Organizations int64     `json:"organizations"`
	Since         *since    `json:"since"`
	TookMS        int64     `json:"took_ms"`
	Checks        []checked `json:"checks"`
	Findings      []finding `json:"findings"`
}

// since is the JSON of an incremental audit's start, with the partners changed since.
type since struct {
	At       clock.Time `json:"at"`
	WholeAt  clock.Time `json:"whole_at"`
	Partners int64      `json:"partners"`
}

// checked is the JSON of one equation, with the rows that it read.
type checked struct {
	Equation string           `json:"equation"`
	Says     string           `json:"says"`
	Rows     map[string]int64 `json:"rows"`
	TookMS   int64            `json:"took_ms"`
	Findings int              `json:"findings"`
}

// finding is the JSON of a violated equation.
type finding struct {
	Equation string `json:"equation"`
	What     string `json:"what"`
	Message  string `json:"message"`
}

// runAudit checks the configured database. It writes only the mark of a clean audit, so that it may run beside
// servers at any time.
func runAudit(fs *pflag.FlagSet) action {
	connections := fs.Int("connections", auditConnections, "`N` connections that share the work, at least 1")
	since := toggle(fs, "since-last", "check only partners changed since the last clean audit")
	return func(ctx context.Context, env *Env, _ []string) error {
		if *connections < 1 {
			return usagef("--connections must be at least 1")
		}
		return withDatabase(ctx, env, func(d *database) error {
			o := check.Options{Keeper: d.keeper, Connections: *connections, SinceLast: *since}
			return d.audit(ctx, env, o)
		})
	}
}

// audit checks the data, prints every equation with its result, and returns errFindings if one is violated.
func (d *database) audit(ctx context.Context, env *Env, o check.Options) error {
	o.Progress = func(name string, done, of int) {
		env.progress.say("%d of %d checks done, last %s", done, of, name)
	}
	r, err := check.Full(ctx, d.pool, o)
	if err != nil {
		// Findings are printed like a clean result, since scripts that read the JSON need both.
		return err
	}
	if o.SinceLast && r.Since == nil {
		fmt.Fprintln(env.Err, "this database has no clean audit yet: checking everything")
	}
	if err := env.print(auditOf(r), func() []string { return auditTable(r) }); err != nil {
		return err
	}
	if len(r.Findings) > 0 {
		return errFindings
	}
	if err := r.Pass(ctx, d.pool); err != nil {
		fmt.Fprintf(env.Err, "the audit is clean, but could not be recorded for --since-last: %s\n", err)
	}
	return nil
}

// auditHelp describes when an audit may run, and what its result covers.
func auditHelp() string {
	return `All equations are checked in one snapshot, while servers run. The audit changes no data; it only records that it was clean. Each
equation shows the number of rows it read: an audit of no rows finds nothing. Of sealed values (payout details, webhook secrets,
stored answers) one of each kind is opened with the secret key.

--since-last is for an hourly audit, beside a nightly full one. It checks all data of partners with new ledger entries or events, and
no others. It misses manual changes to old rows, and missing rows, and does not check report sums, totals of lists, refunds, first
sales, events, batches at PayPal, hand-overs to rails, currencies and sealed values.
`
}

// auditOf converts a report to its JSON form.
func auditOf(r check.Report) audited {
	out := audited{
		Organizations: r.Size("organizations"), TookMS: r.Took.Milliseconds(), Findings: make([]finding, len(r.Findings)),
	}
	if r.Since != nil {
		out.Since = &since{r.Since.At, r.Since.Full, r.Size("partners")}
	}
	// A map, so that the JSON names each count; the table has the order of the checks.
	for _, c := range r.Checks {
		rows := map[string]int64{}
		for _, n := range c.Rows {
			rows[n.Table] = n.N
		}
		out.Checks = append(out.Checks, checked{c.Name, c.Statement, rows, c.Took.Milliseconds(), c.Findings})
	}
	for i, f := range r.Findings {
		out.Findings[i] = finding(f)
	}
	return out
}

// auditTable returns a line for each equation, then the findings below their equation, and the total at the end,
// since people look at the last line of a terminal.
func auditTable(r check.Report) []string {
	lines := []string{"EQUATION\tFOUND\tTIME\tSTATEMENT AND ROWS"}
	var found []string
	for _, c := range r.Checks {
		lines = append(lines,
			fmt.Sprintf("%s\t%d\t%s\t%s (%s)", c.Name, c.Findings, c.Took.Round(time.Millisecond), c.Statement, tableSizes(c.Rows)))
		if c.Findings > 0 {
			found = append(found, "", c.Name+" is broken: "+c.Statement)
		}
		for _, f := range r.Findings {
			if f.Equation == c.Name {
				found = append(found, "  "+f.String())
			}
		}
	}
	result := "no findings"
	if n := len(r.Findings); n > 0 {
		result = fmt.Sprintf("%s (at most 100 of each equation are listed)", counted(n, "finding"))
	}
	sum := fmt.Sprintf("%s over %s in %s: %s", counted(len(r.Checks), "check"), auditScope(r), r.Took.Round(time.Millisecond), result)
	return append(append(lines, found...), "", sum)
}

// auditScope describes the scope of an audit.
func auditScope(r check.Report) string {
	if r.Since != nil {
		return fmt.Sprintf("%s changed since %s (the last full audit was at %s)",
			counted(r.Size("partners"), "partner"), r.Since.At, r.Since.Full)
	}
	return fmt.Sprintf("%s, %s, %s and %s", counted(r.Size("organizations"), "organization"), counted(r.Size("sales"), "sale"),
		counted(r.Size("commissions"), "commission"), counted(r.Size("ledger_entries"), "ledger entry"))
}

// tableSizes returns the sizes of the tables that an equation reads. The check of sealed values has none in a database
// without any.
func tableSizes(rows []check.Rows) string {
	parts := make([]string, len(rows))
	for i, r := range rows {
		parts[i] = fmt.Sprintf("%d %s", r.N, rowsOf(r))
	}
	if len(parts) == 0 {
		return "nothing sealed"
	}
	return strings.Join(parts, ", ")
}

// rowsOf names rows in singular or plural: tables have plural names, kinds of sealed values singular ones.
func rowsOf(r check.Rows) string {
	noun := strings.ReplaceAll(r.Table, "_", " ")
	if many := strings.HasSuffix(noun, "s"); many && r.N == 1 {
		return single(noun)
	} else if !many {
		return plural(r.N, noun)
	}
	return noun
}
