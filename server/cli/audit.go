package cli

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"rail/server/money/ledger/check"
)

// audited is how an audit is printed as JSON.
type audited struct {
	Organizations int64     `json:"organizations"`
	TookMS        int64     `json:"took_ms"`
	Checks        []checked `json:"checks"`
	Findings      []finding `json:"findings"`
}

// checked is how one equation is printed, with the rows that it was computed over.
type checked struct {
	Equation string           `json:"equation"`
	Says     string           `json:"says"`
	Rows     map[string]int64 `json:"rows"`
	TookMS   int64            `json:"took_ms"`
	Findings int              `json:"findings"`
}

// finding is how a broken invariant is printed.
type finding struct {
	Equation string `json:"equation"`
	What     string `json:"what"`
	Message  string `json:"message"`
}

// runAudit checks the configured database. It writes nothing, so that it may
// run beside servers at any time.
func runAudit(fs *flag.FlagSet) action {
	out := outputFlag(fs)
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			return d.audit(ctx, env, out)
		})
	}
}

// audit checks the data, prints every equation with its result, and returns
// errFindings where one is broken.
func (d *database) audit(ctx context.Context, env *Env, out output) error {
	r, err := check.Full(ctx, d.pool, d.keeper)
	if err != nil {
		// Findings are printed like a clean result: scripts that read the JSON need both.
		return err
	}
	if err := out.print(env.Out, auditOf(r), func() []string { return auditTable(r) }); err != nil {
		return err
	}
	if len(r.Findings) > 0 {
		return errFindings
	}
	return nil
}

// auditHelp says when an audit may run, and how far its result goes.
func auditHelp() string {
	return `All equations are computed in one snapshot, while servers work, and nothing is changed. With each goes how many rows it was
computed over: an audit of no rows has found nothing. Of what is sealed (payout details, webhook secrets, stored answers) one value
of each kind is opened with the secret key.
`
}

// auditOf returns a report in its JSON form.
func auditOf(r check.Report) audited {
	out := audited{
		Organizations: r.Size("organizations"), TookMS: r.Took.Milliseconds(), Findings: make([]finding, len(r.Findings)),
	}
	// A map, so that the JSON names each count; the table keeps the order of the check.
	for _, c := range r.Checks {
		rows := map[string]int64{}
		for _, n := range c.Rows {
			rows[n.Table] = n.N
		}
		out.Checks = append(out.Checks, checked{c.Name, c.Says, rows, c.Took.Milliseconds(), c.Findings})
	}
	for i, f := range r.Findings {
		out.Findings[i] = finding(f)
	}
	return out
}

// auditTable returns a line for each equation, then the findings below the equation that they
// break, and the sum at the end. Whoever reads a terminal looks at its last line.
func auditTable(r check.Report) []string {
	lines := []string{"EQUATION\tFOUND\tTIME\tWHAT HOLDS, AND OVER WHAT"}
	var found []string
	for _, c := range r.Checks {
		lines = append(lines,
			fmt.Sprintf("%s\t%d\t%s\t%s (%s)", c.Name, c.Findings, c.Took.Round(time.Millisecond), c.Says, over(c.Rows)))
		if c.Findings > 0 {
			found = append(found, "", c.Name+" is broken: "+c.Says)
		}
		for _, f := range r.Findings {
			if f.Equation == c.Name {
				found = append(found, "  "+f.String())
			}
		}
	}
	result := "no findings"
	if n := len(r.Findings); n > 0 {
		result = fmt.Sprintf("%d findings (at most 100 of each equation are listed)", n)
	}
	sum := fmt.Sprintf("%d checks over %d organizations, %d sales, %d commissions and %d ledger entries in %s: %s",
		len(r.Checks),
		r.Size("organizations"), r.Size("sales"), r.Size("commissions"), r.Size("ledger_entries"),
		r.Took.Round(time.Millisecond), result)
	return append(append(lines, found...), "", sum)
}

// over returns the sizes of the tables that an equation was computed over. The check of what
// is sealed has none in a database where nothing is.
func over(rows []check.Rows) string {
	parts := make([]string, len(rows))
	for i, r := range rows {
		parts[i] = fmt.Sprintf("%d %s", r.N, strings.ReplaceAll(r.Table, "_", " "))
	}
	if len(parts) == 0 {
		return "nothing sealed"
	}
	return strings.Join(parts, ", ")
}
