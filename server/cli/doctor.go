package cli

import (
	"context"
	"slices"

	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/http/docs/script/doctor"
)

// examine checks a page that should load the browser script, and imported links.
func examine(fs *pflag.FlagSet) action {
	program := fs.String("program", "", "`PROGRAM_ID` of the page and of the links; this reads the database")
	return func(ctx context.Context, env *Env, args []string) error {
		report := doctor.Report{OK: true, Findings: []doctor.Finding{}}
		if len(args) > 0 {
			if err := checkWeb("URL", args[0]); err != nil {
				return err
			}
			chosen, err := programOfPage(ctx, env, *program)
			if err != nil {
				return err
			}
			report = doctor.Examine(ctx, args[0], chosen)
		}
		if len(args) == 0 || *program != "" {
			links, err := importedLinks(ctx, env, *program)
			if err != nil {
				return err
			}
			if len(links)+len(args) == 0 {
				links = []doctor.Finding{{Check: "link", State: doctor.OK, Text: "No links were imported."}}
			}
			report.Findings = append(report.Findings, links...)
			report.OK = report.OK && !slices.ContainsFunc(links, func(f doctor.Finding) bool { return f.State == doctor.Wrong })
		}
		err := env.print(report, func() []string { return findingLines(report.Findings) })
		if err == nil && !report.OK {
			err = errFindings
		}
		return err
	}
}

// findingLines returns the table of findings.
func findingLines(all []doctor.Finding) []string {
	lines := []string{"CHECK\tSTATE\tFOUND"}
	for _, f := range all {
		lines = append(lines, f.Check+"\t"+string(f.State)+"\t"+f.Text)
		if f.Fix != "" {
			lines = append(lines, "\t\t"+f.Fix)
		}
	}
	return lines
}

// importedLinks follows a sample of the links that were imported into a program; "" is every program with a done
// import.
func importedLinks(ctx context.Context, env *Env, id string) ([]doctor.Finding, error) {
	var lines []doctor.Finding
	err := withDatabase(ctx, env, func(d *database) error {
		programs, err := queries.ProgramsWithImports(ctx, d.pool)
		if err != nil {
			return err
		}
		if id != "" {
			u, err := ofProgram(ctx, env, d, "doctor", id)
			if err != nil {
				return err
			}
			programs = []db.ProgramsWithImportsRow{{OrgID: u.OrgID, ProgramID: id}}
		}
		for _, p := range programs {
			found, err := followLinks(ctx, env, d, p)
			if err != nil {
				return err
			}
			lines = append(lines, found...)
		}
		return nil
	})
	return lines, err
}

// followLinks follows the links of a program.
func followLinks(ctx context.Context, env *Env, d *database, p db.ProgramsWithImportsRow) ([]doctor.Finding, error) {
	links, err := imports(env, d).Follow(ctx, byHand(env, d, "doctor").For(p.OrgID), p.ProgramID)
	var lines []doctor.Finding
	for _, l := range links {
		f := doctor.Finding{Check: "link", State: doctor.OK, Text: l.Address + " credits " + l.Partner + "."}
		if l.Reason != "" {
			f.State, f.Text = doctor.Wrong, l.Address+" does not credit "+l.Partner+" in "+p.ProgramID+". "+l.Reason
		}
		if l.Inactive {
			f.State = doctor.Advice
		}
		lines = append(lines, f)
	}
	return lines, err
}

// programOfPage returns the settings that a program's pages should use; "" is any program.
func programOfPage(ctx context.Context, env *Env, id string) (doctor.Program, error) {
	out := doctor.Program{ID: id}
	if id == "" {
		return out, nil
	}
	err := withDatabase(ctx, env, func(d *database) error {
		u, err := ofProgram(ctx, env, d, "doctor", id)
		if err != nil {
			return err
		}
		keys, err := queries.PublishableKeysOfProgram(ctx, d.pool, db.PublishableKeysOfProgramParams{
			ProgramID: id, OrgID: u.OrgID,
		})
		for _, k := range keys {
			out.Params = k.URLParams
			if k.RevokedAt == nil {
				out.Keys = append(out.Keys, k.Key)
			}
		}
		return err
	})
	return out, err
}

// doctorHelp describes the checks.
func doctorHelp() string {
	return `With a URL, it checks from outside, like a browser, and needs no database without --program: the page, the tag,
the script and its integrity, the Content-Security-Policy, whether Rail accepts the key from pages of this host, whether
Rail is a path of the page's own site, and for which domain cookies count. It reads at most 2 MB of a page or a script,
follows five redirects, and stops after ten seconds. It cannot see a tag that another script adds to the page.

Without a URL, or with --program, it follows up to five old links of each program with a done import, and compares the
partner that a visitor would credit with the link's. A link of a partner who is not active is advice.

It records nothing. Status 1 if something is wrong; advice does not count.
`
}
