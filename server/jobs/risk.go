package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/program/risk"
)

// riskSweep runs the risk checks that requests do not make, in every program of an organization with fraud
// monitoring. A failing program delays no other. It runs hourly, since it checks days and weeks.
func riskSweep(m Deps) Job {
	return Job{
		Name: "risk-sweep", About: "flag suspicious partners", Every: time.Hour,
		Run: func(ctx context.Context, now clock.Time) error {
			var failed error
			u := unit(m.Pool, "risk-sweep", now)
			for after := ""; ; {
				programs, err := queries.RiskPrograms(ctx, m.Pool, db.RiskProgramsParams{
					After: after, Monitored: m.FraudMonitoring, Lim: moveBatch,
				})
				if err != nil || len(programs) == 0 {
					return errors.Join(failed, err)
				}
				for _, p := range programs {
					after = p.ID
					if err := risk.Sweep(ctx, u, p); err != nil {
						failed = errors.Join(failed, fmt.Errorf("%s: %w", p.ID, err))
					}
				}
			}
		},
	}
}
