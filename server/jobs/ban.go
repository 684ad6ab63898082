package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/program/partner"
	"rail/server/work"
)

// banPartners executes scheduled bans. A failing ban delays no other, and is retried.
func banPartners(m Deps) Job {
	return Job{
		Name: "ban-partners", About: "ban partners when the time to undo it is over", Every: 5 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error {
			var failed error
			u := unit(m.Pool, "ban-partners", now)
			for after := ""; ; {
				due, err := queries.PartnersToBan(ctx, m.Pool, db.PartnersToBanParams{Now: now, After: after, Lim: moveBatch})
				if err != nil || len(due) == 0 {
					return errors.Join(failed, err)
				}
				for _, p := range due {
					after = p.ID
					if err := banPartner(ctx, m, u.For(p.OrgID), p.ID); err != nil {
						failed = errors.Join(failed, fmt.Errorf("%s: %w", p.ID, err))
					}
				}
			}
		},
	}
}

// banPartner executes one ban, a limited number of commissions in each transaction.
func banPartner(ctx context.Context, m Deps, u *work.Unit, id string) error {
	bans := partner.Service{Keeper: m.Keeper, Mail: m.Outbox}
	for more := true; more; {
		if err := u.Within(ctx, func(u *work.Unit) (err error) {
			more, err = bans.BanDue(ctx, u, id)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
