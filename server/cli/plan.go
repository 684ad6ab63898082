package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/app/config"
	"rail/server/work/quota"
)

// planOf is the JSON of an organization's plan: the effective limits, and whether each is the organization's or
// the server's default.
type planOf struct {
	ID                string     `json:"id"`
	FlowQuota         planLimit  `json:"flow_quota"`
	RevenueMeterMinor planLimit  `json:"revenue_meter_minor"`
	FraudMonitoring   planSwitch `json:"fraud_monitoring"`
}

// planLimit is a limit with its origin; null means no limit.
type planLimit struct {
	Source string `json:"source"`
	Limit  *int64 `json:"limit"`
}

// planSwitch is a switch with its origin.
type planSwitch struct {
	Source string `json:"source"`
	On     bool   `json:"on"`
}

// orgPlan changes the given limits and prints all of them. Other limits stay.
func orgPlan(fs *pflag.FlagSet) action {
	change := db.OrganizationPlanParams{}
	// Func, since each value accepts two words besides numbers.
	fs.Func("flow-quota", "active flows a program: `N`, none or default", limit(&change.SetFlowQuota, &change.FlowQuota))
	fs.Func("revenue-meter-minor",
		"monthly revenue of a program in its currency, in minor units, above which approvals stop: `N`, none or default",
		limit(&change.SetRevenueMeterMinor, &change.RevenueMeterMinor))
	fs.Func("fraud-monitoring", "the risk checks: `on`, off or default",
		onOff(&change.SetFraudMonitoring, &change.FraudMonitoring))
	return func(ctx context.Context, env *Env, args []string) error {
		// The flags have been parsed into change by now.
		change.ID = args[0]
		return withDatabase(ctx, env, func(d *database) error {
			o, err := queries.OrganizationPlan(ctx, d.pool, change)
			if errors.Is(err, pgx.ErrNoRows) {
				return fmt.Errorf("there is no organization %q; rail org list shows them", args[0])
			}
			if err != nil {
				return err
			}
			p := inForce(o, d.config.Plan())
			return env.print(p, p.table)
		})
	}
}

// planHelp describes the values of the flags, and when a change takes effect.
func planHelp() string {
	return `Without flags it shows the plan. default refers to the environment of this command (RAIL_FLOW_QUOTA, RAIL_REVENUE_METER_MINOR
and RAIL_FRAUD_MONITORING); none is no limit, even if the environment has one. Running servers apply a change within a second.
`
}

// limit returns the parser of a limit: a number from 1 on, none (stored as 0) or default (stored as NULL). set
// records that the flag was given, since NULL alone would not.
func limit(set *bool, into **int64) func(string) error {
	return func(v string) error {
		*set, *into = true, nil
		switch v {
		case "default":
			return nil
		case "none":
			*into = new(int64)
			return nil
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 1 {
			return errors.New("it must be a number from 1 on, none or default")
		}
		*into = &n
		return nil
	}
}

// onOff returns the parser of a switch: on, off or default (stored as NULL).
func onOff(set *bool, into **bool) func(string) error {
	return func(v string) error {
		*set, *into = true, nil
		if v == "default" {
			return nil
		}
		on, err := config.Switch(v)
		*into = &on
		if err != nil {
			err = fmt.Errorf("%w, or default", err)
		}
		return err
	}
}

// inForce returns the effective plan of an organization, with the origin of each limit.
func inForce(o db.Organization, server quota.Plan) planOf {
	p := server.With(quota.Own{
		FlowQuota: o.FlowQuota, RevenueMeterMinor: o.RevenueMeterMinor, FraudMonitoring: o.FraudMonitoring,
	})
	return planOf{
		// The effective values, not the stored ones: an operator asks why something was refused.
		ID:                o.ID,
		FlowQuota:         planLimit{source(o.FlowQuota), unlessNone(p.FlowQuota)},
		RevenueMeterMinor: planLimit{source(o.RevenueMeterMinor), unlessNone(p.RevenueMeterMinor)},
		FraudMonitoring:   planSwitch{source(o.FraudMonitoring), p.FraudMonitoring},
	}
}

// source returns the origin of a limit: the organization, or the server's default.
func source[T any](own *T) string {
	if own == nil {
		return "default"
	}
	return "organization"
}

// unlessNone returns nil for 0, which means no limit.
func unlessNone(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// table returns the rows of the printed table.
func (p planOf) table() []string {
	number := func(l planLimit) string {
		if l.Limit == nil {
			return "none"
		}
		return strconv.FormatInt(*l.Limit, 10)
	}
	monitoring := "off"
	if p.FraudMonitoring.On {
		monitoring = "on"
	}
	return []string{
		"LIMIT\tVALUE\tSET BY",
		"flow-quota\t" + number(p.FlowQuota) + "\t" + p.FlowQuota.Source,
		"revenue-meter-minor\t" + number(p.RevenueMeterMinor) + "\t" + p.RevenueMeterMinor.Source,
		"fraud-monitoring\t" + monitoring + "\t" + p.FraudMonitoring.Source,
	}
}
