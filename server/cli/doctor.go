package cli

import (
	"context"

	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/http/docs/script/doctor"
)

// examine checks a page that should load the browser script.
func examine(fs *pflag.FlagSet) action {
	program := fs.String("program", "", "`PROGRAM_ID` of the page; this reads the database")
	return func(ctx context.Context, env *Env, args []string) error {
		if err := checkWeb("URL", args[0]); err != nil {
			return err
		}
		meant, err := programOfPage(ctx, env, *program)
		if err != nil {
			return err
		}
		report := doctor.Examine(ctx, args[0], meant)
		err = env.print(report, func() []string {
			lines := []string{"CHECK\tSTATE\tFOUND"}
			for _, f := range report.Findings {
				lines = append(lines, f.Check+"\t"+string(f.State)+"\t"+f.Text)
				if f.Fix != "" {
					lines = append(lines, "\t\t"+f.Fix)
				}
			}
			return lines
		})
		if err == nil && !report.OK {
			err = errFindings
		}
		return err
	}
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
	return `It checks from outside, like a browser, and needs no database without --program: the page, the tag, the script and its
integrity, the Content-Security-Policy, whether Rail accepts the key from pages of this host, whether Rail is a path of
the page's own site, and for which domain cookies count. It records nothing. Status 1 if something is wrong; advice
does not count. It reads at most 2 MB of a page or a script, follows five redirects, and stops after ten seconds. It
cannot see a tag that another script adds to the page.
`
}
