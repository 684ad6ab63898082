// Package jobs has the background work of the server.
//
// The same list runs inside rail serve and, one job at a time, from rail job run. A job is safe with several
// replicas: its statements cannot do the same work twice. It processes due rows in batches, each a short
// transaction, so that it can be stopped at any time and continues in the next round. The job's time decides
// what is due, not the time of its last run, so nothing is missed while no server runs.
package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/payout"
	"rail/server/outbound/mail"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/quota"
)

// Job is one kind of work. Run does everything due at now and returns. Every is the interval between the starts
// of two rounds, unless one takes longer.
type Job struct {
	Name  string
	About string
	Every time.Duration
	// First means that the server starts serving after the first round.
	First bool
	// Sweeps means that a late round has the same result, such as that of a job that sums or deletes. A move of the
	// test clock runs the job only at its beginning and its end.
	Sweeps bool
	Run    func(ctx context.Context, now clock.Time) error
}

// Deps holds the dependencies of all jobs. Rails may be empty. Clock is the true time: money and reports must
// not run ahead of it, whatever time a job is given.
type Deps struct {
	Pool   *pgxpool.Pool
	Keeper *secret.Keeper
	Rails  []payout.Rail
	Clock  clock.Clock
	Outbox *mail.Outbox // may be nil
	// HoldOnHighRisk excludes partners with an open high risk flag from payouts.
	HoldOnHighRisk bool
	// FraudMonitoring is the default for organizations without their own setting.
	FraudMonitoring bool
	// Mail sends the mails of the outbox, if mail is configured.
	Mail mail.Sender
	// Plan has the default limits of organizations.
	Plan quota.Plan
	Log  *slog.Logger
	// StripeURL is the address of Stripe's API; "" for the default.
	StripeURL string
	// OpenRail returns the service of a connected payout rail.
	OpenRail func(db.PayoutRail) (payout.Rail, error)
	// ImportURLs replace the addresses of products to import from, by the product's name.
	ImportURLs map[string]string
	// RetentionDays is the retention of events and deliveries; at least 30.
	RetentionDays int
	// ClickRetentionDays is the retention of clicks without a customer; 0 keeps them.
	ClickRetentionDays int
	// AuditRetentionDays is the retention of the audit log in days, at least 30; 0 keeps it.
	AuditRetentionDays int
}

// All returns every job. A job comes before the jobs that it gives work, so that one pass does the work of a moment.
func All(m Deps) []Job {
	return []Job{
		workInbox(m),
		reconcile(m),
		runImports(m),
		approve(m.Pool),
		mature(m.Pool),
		banPartners(m),
		autoPayouts(m),
		generatePayouts(m),
		payoutsDue(m.Pool),
		sendPayouts(m),
		expire(m.Pool),
		expireTaxForms(m.Pool),
		expireRefunds(m.Pool),
		foldBalances(m.Pool),
		foldTallies(m.Pool),
		forgetTallies(m.Pool),
		sumReports(m),
		riskSweep(m),
		sendCampaigns(m),
		advanceSequences(m),
		sendMail(m),
		cleanUp(m),
		keepMonths(m),
		forgetClicks(m),
		cutAuditLog(m),
	}
}

// unit returns a job's run as a unit of work of no tenant; For makes it a tenant's.
func unit(pool *pgxpool.Pool, job string, now clock.Time) *work.Unit {
	return work.NewRun(pool, work.Actor{Kind: work.Job, ID: job}, now)
}
