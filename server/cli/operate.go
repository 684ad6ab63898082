package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/app"
	"rail/server/clock"
	"rail/server/http/middleware"
	"rail/server/jobs"
	"rail/server/money/rules"
	"rail/server/postgres/migrate"
)

// The largest rates, as for flows: in basis points (500 %), and in minor units.
const (
	maxPercent = 50_000
	maxFixed   = 99_999_999
)

// linkRateOverride sets or clears a link's rate, which overrides every flow.
func linkRateOverride(fs *pflag.FlagSet) action {
	percent := fs.Int64("percent", 0, "`BPS` of the sale in basis points; 2000 is 20 %")
	fixed := fs.Int64("fixed", 0, "`MINOR` units of the program's currency a commission")
	remove := toggle(fs, "clear", "remove the override")
	return func(ctx context.Context, env *Env, args []string) error {
		// The flags given count, not their values: --percent 0 is a rate, and pays nothing.
		set := setFlags(fs)
		if len(set) != 1 {
			return usagef("give one of --percent, --fixed and --clear")
		}
		var rate *rules.Rate
		var err error
		switch {
		case set["percent"]:
			rate, err = rateOf(rules.RatePercent, *percent, maxPercent)
		case set["fixed"]:
			rate, err = rateOf(rules.RateFixed, *fixed, maxFixed)
		// given includes the flag whatever its value.
		case !*remove:
			return usagef("--clear=false has no effect")
		}
		if err != nil {
			return err
		}
		return withDatabase(ctx, env, func(d *database) error { return setRate(ctx, env, d, args[0], rate) })
	}
}

// rateOf returns a rate within its bound; kind is also the name of the flag. 0 pays nothing.
func rateOf(kind rules.RateType, value, most int64) (*rules.Rate, error) {
	if value < 0 || value > most {
		return nil, usagef("--%s must be 0 to %d", kind, most)
	}
	return &rules.Rate{RateType: kind, RateValue: value}, nil
}

// linkRate is the JSON of a link's rate; nil without one.
type linkRate struct {
	ID           string      `json:"id"`
	RateOverride *rules.Rate `json:"rate_override"`
}

// setRate sets the rate of a link; nil clears it. An unusual rate is set with a warning.
func setRate(ctx context.Context, env *Env, d *database, link string, r *rules.Rate) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// A nil rate is stored as NULL but printed as null.
	stored := text
	if r == nil {
		stored = nil
	}
	n, err := queries.LinkSetRateOverride(ctx, d.pool, db.LinkSetRateOverrideParams{
		ID: link, RateOverride: stored, UpdatedAt: env.Clock.Now(),
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("there is no link %q", link)
	}
	// A warning, not a refusal, since the rate may be intended.
	if r != nil && rules.Unusual(*r) != "" {
		fmt.Fprintf(env.Err, "warning: %s\n", rules.Unusual(*r))
	}
	return env.print(linkRate{link, r}, line("rate_override of %s is %s", link, text))
}

// jobRun runs one job once, optionally for an earlier time, such as a missed month's end. A later one would delete
// data and pay commissions too early, so it needs a test clock.
func jobRun(fs *pflag.FlagSet) action {
	now := fs.String("now", "", "an earlier `TIME` for the job, such as 2026-09-01T00:00:00Z; a later one needs a test clock")
	return func(ctx context.Context, env *Env, args []string) error {
		asOf, err := clock.Parse(*now)
		if *now != "" && err != nil {
			return usagef("--now %s", err)
		}
		// Before the database is opened, which takes a while.
		if names := jobNames(); !slices.Contains(names, args[0]) {
			return usagef("there is no job %q%s", args[0], suggestion("", args[0], names))
		}
		return withDatabase(ctx, env, func(d *database) error {
			at := env.Clock.Now()
			if asOf.After(at.Time) && !d.tested {
				return usagef("--now must not be in the future: the database has no test clock")
			}
			if *now != "" {
				at = asOf
			}
			m, err := deps(env, d)
			if err != nil {
				return err
			}
			for _, j := range jobs.All(m) {
				if j.Name != args[0] {
					continue
				}
				if err := j.Run(ctx, at); err != nil {
					return err
				}
			}
			return env.print(jobDone{args[0], at}, line("%s ran for the time %s", args[0], at))
		})
	}
}

// jobDone is the JSON of a finished job, with its time.
type jobDone struct {
	Job string     `json:"job"`
	Now clock.Time `json:"now"`
}

// deps returns the same dependencies of jobs as in a server, so that mails and payments are real.
func deps(env *Env, d *database) (jobs.Deps, error) {
	mails, err := app.Mail(d.config, d.pool, d.keeper, env.Clock, logger(env.Err, d.config))
	return jobs.Deps{
		Pool: d.pool, Keeper: d.keeper, Rails: env.Rails, Clock: env.Clock, RetentionDays: d.config.RetentionDays,
		HoldOnHighRisk: d.config.HoldOnHighRisk, FraudMonitoring: d.config.FraudMonitoring, Outbox: mails.Outbox,
		Mail: mails.Sender, Plan: d.config.Plan(), Log: logger(env.Err, d.config), StripeURL: d.config.StripeURL,
		ImportURLs: d.config.ImportURLs(),
		OpenRail:   payoutRails(env, d, nil).Open,
	}, err
}

// jobNames returns the names of all jobs, which need no dependencies.
func jobNames() []string {
	var out []string
	for _, j := range jobs.All(jobs.Deps{}) {
		out = append(out, j.Name)
	}
	return out
}

// jobHelp lists the jobs with their description and interval.
func jobHelp() string {
	var b strings.Builder
	b.WriteString("Jobs; rail serve runs all of them by itself:\n")
	for _, j := range jobs.All(jobs.Deps{}) {
		fmt.Fprintf(&b, "  %-22s %s, every %s\n", j.Name, j.About, j.Every)
	}
	return b.String()
}

// versions is the JSON of a binary's versions.
type versions struct {
	Version  string `json:"version"`
	Contract string `json:"contract"`
	Schema   uint   `json:"schema"`
}

// showVersion prints the versions of the binary, the contract and the required schema.
func showVersion(*pflag.FlagSet) action {
	return func(_ context.Context, env *Env, _ []string) error {
		latest, err := migrate.Latest()
		if err != nil {
			return err
		}
		return env.print(versions{build(), middleware.Version, latest}, line("%s", versionLine()))
	}
}

// versionLine returns the versions in one line.
func versionLine() string {
	latest, err := migrate.Latest()
	if err != nil { // the migrations are in the binary
		panic(err)
	}
	return fmt.Sprintf("rail %s, contract %s, schema %d", build(), middleware.Version, latest)
}

// version is set by the linker for images, whose build has no history. It must stay a variable of this package,
// since the linker finds it by the package's path.
var version string

// build returns the version of the binary's source, or "unknown".
func build() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
