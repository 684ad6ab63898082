package cli

import (
	"context"
	"flag"
	"net/url"

	"rail/server/http/script/doctor"
)

// examine looks at a page that should load the browser's script.
func examine(fs *flag.FlagSet) action {
	out := outputFlag(fs)
	return func(ctx context.Context, env *Env, args []string) error {
		if u, err := url.Parse(args[0]); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usagef("URL must be an http:// or https:// address")
		}
		report := doctor.Examine(ctx, args[0], doctor.Program{})
		err := out.print(env.Out, report, func() []string {
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

// doctorHelp says what is looked at.
func doctorHelp() string {
	return `It looks from outside, as a browser would, and needs no database: at the page, the
tag, the script and its integrity, the Content-Security-Policy, whether Rail takes the key from
pages of this host, whether Rail is a path of the page's own site, and for which domain cookies
count. Nothing is recorded. Status 1 when something is wrong; advice is not.
A page, or a script, is read up to 2 MB, five redirects are followed, and after ten seconds
it ends. A tag that another script writes into the page cannot be seen.
`
}
