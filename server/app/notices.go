package app

import (
	"context"
	"fmt"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/console"
	"rail/server/telemetry/disk"
	"rail/server/work/backlog"
)

const (
	// lateFailing is how long a failure lasts before it is shown, the same as for alerts.
	lateFailing = 10 * time.Minute
	// lateNight is the maximum age of the last backup and the last audit, which run nightly.
	lateNight = 48 * time.Hour
)

// notices returns problems of the service for the home page of a program. Problems for the operator are shown to
// owners if there is one organization: otherwise they are no concern of a tenant.
func (p parts) notices(ctx context.Context, to console.Reader) ([]console.Notice, error) {
	s, err := p.backlog.Read(ctx)
	if err != nil {
		return nil, err
	}
	var out []console.Notice
	if age := seconds(s.MailFailing); age > lateFailing {
		out = append(out, console.Notice{Text: "The mail server has accepted no mail for " + formatAge(age) + "; emails are waiting."})
	}
	before := p.clock.Now().Plus(-lateFailing)
	n, err := queries.WebhookEndpointsFailing(ctx, p.pool, db.WebhookEndpointsFailingParams{
		ProgramID: to.ProgramID, OrgID: to.OrgID, Before: before,
	})
	if err != nil {
		return nil, err
	}
	if n == 1 {
		out = append(out, console.Notice{Text: "A webhook endpoint is failing", Page: "/webhooks"})
	} else if n > 1 {
		out = append(out, console.Notice{Text: fmt.Sprintf("%d webhook endpoints are failing", n), Page: "/webhooks"})
	}
	if !to.Owner {
		return out, nil
	}
	troubled, err := p.ofRails(ctx, to)
	if err != nil {
		return nil, err
	}
	out = append(out, troubled...)
	alone, err := queries.OrganizationsUpTo(ctx, p.pool, 2)
	if err != nil || len(alone) != 1 {
		return out, err
	}
	return append(out, p.ofOperator(s, alone[0])...), nil
}

// ofRails returns the problems of a program's payout rails.
func (p parts) ofRails(ctx context.Context, to console.Reader) (out []console.Notice, err error) {
	now := p.clock.Now()
	rails, err := queries.PayoutRailsFailing(ctx, p.pool, db.PayoutRailsFailingParams{
		ProgramID: to.ProgramID, OrgID: to.OrgID, CalledAfter: now.Plus(-backlog.RailMemory),
		Before: now.Plus(-backlog.RailPatience),
	})
	for _, r := range rails {
		name, text := "PayPal", " fails: payouts wait until it works again"
		if r.Kind == db.PayoutRailKindWebhook {
			name = "The webhook for payouts"
		}
		if r.Poor {
			text = " lacks funds: payouts wait until you add some"
		}
		out = append(out, console.Notice{Text: name + text, Page: "/payouts/rails"})
	}
	return out, err
}

// ofOperator returns problems for the operator. A database younger than two days needs no backup yet.
func (p parts) ofOperator(s backlog.State, since clock.Time) []console.Notice {
	var out []console.Notice
	for _, f := range folders(p.config) {
		if room, err := disk.Of(f.dir); err == nil && room.IsScarce() {
			out = append(out, console.Notice{Text: fmt.Sprintf("The disk of %s has %s free.", f.variable, room)})
		}
	}
	now := p.clock.Now()
	if now.Sub(since.Time) < lateNight {
		return out
	}
	for _, done := range []struct {
		at          float64
		never, late string
	}{
		{s.BackupAt, "There is no backup yet: run rail backup.", "The last backup was made %s ago."},
		{s.AuditAt, "No audit has succeeded yet: run rail audit.", "The last audit without findings was %s ago."},
	} {
		age := now.Sub(time.UnixMilli(int64(done.at * 1000)))
		if done.at == 0 {
			out = append(out, console.Notice{Text: done.never})
		} else if age > lateNight {
			out = append(out, console.Notice{Text: fmt.Sprintf(done.late, formatAge(age))})
		}
	}
	return out
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// formatAge formats an age in the unit that people would use.
func formatAge(age time.Duration) string {
	switch {
	case age < 2*time.Hour:
		return fmt.Sprintf("%d minutes", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%d hours", int(age.Hours()))
	}
	return fmt.Sprintf("%d days", int(age.Hours()/24))
}
