package jobs

import (
	"context"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/work"
)

// cutAuditLog drops entries of the audit log that are past their retention. The database keeps the facts that the
// books need of them, and refuses to drop an entry of the last 30 days.
func cutAuditLog(m Deps) Job {
	return Job{
		Name:  "cut-audit-log",
		About: "drop entries of the audit log that are past their retention", Every: time.Hour, Sweeps: true,
		Run: func(ctx context.Context, now clock.Time) error {
			if m.AuditRetentionDays == 0 {
				return nil
			}
			before := now.Days(-int64(max(m.AuditRetentionDays, minRetention)))
			return work.Drain(purgeBatch, func() (int64, error) {
				return queries.AuditLogCut(ctx, m.Pool, db.AuditLogCutParams{Before: before, Lim: purgeBatch})
			})
		},
	}
}
