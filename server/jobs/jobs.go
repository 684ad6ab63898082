// Package jobs is the work that no request asks for.
//
// The same list runs inside rail serve and, one job at a time, from rail job run. A job is safe with several
// replicas: its statements cannot do the same work twice. It works through what is due in batches, each a short
// transaction, so that it can be stopped at any time and goes on in the next round. What is due follows from the
// time that the job is given, not from when it ran last, so nothing is missed while no server runs.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/money/payout"
	"rail/server/outbound/mail"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/quota"
)

// Job is one kind of work. Run does all that is due at now and returns. Every is the time between the starts of two
// rounds, unless one takes longer.
type Job struct {
	Name  string
	About string
	Every time.Duration
	// First means that nothing is served before the first round has ended.
	First bool
	Run   func(ctx context.Context, now clock.Time) error
}

// Means is what jobs work with. Rails may be empty. Clock is the true time: money
// and reports do not run ahead of it, whatever time a job is given.
type Means struct {
	Pool   *pgxpool.Pool
	Keeper *secret.Keeper
	Rails  []payout.Rail
	Clock  clock.Clock
	Outbox *mail.Outbox // may be nil
	// HoldOnHighRisk keeps partners with an open high risk flag out of payouts.
	HoldOnHighRisk bool
	// FraudMonitoring is whether organizations are swept that do not say so themselves.
	FraudMonitoring bool
	// Mail sends the mails of the outbox, where a way to send is configured.
	Mail mail.Sender
	// Plan is the limits of organizations that have none of their own.
	Plan quota.Plan
	Log  *slog.Logger
	// StripeURL is where Stripe's API is asked; "" for its own address.
	StripeURL string
	// RetentionDays is how long events and deliveries are kept; at least 30.
	RetentionDays int
	// ClickRetentionDays is how long clicks are kept that brought no customer; 0 for ever.
	ClickRetentionDays int
	// AuditRetentionDays is how long entries of the audit log are kept, at least 30; 0 for ever.
	AuditRetentionDays int
}

// All returns every job. Their order does not matter: each runs by itself.
func All(m Means) []Job {
	return []Job{
		mature(m.Pool),
		approve(m.Pool),
		payoutsDue(m.Pool),
		sendPayouts(m),
		expire(m.Pool),
		expireTaxForms(m.Pool),
		expireRefunds(m.Pool),
		autoPayouts(m),
		generatePayouts(m),
		workInbox(m),
		reconcile(m),
		foldBalances(m.Pool),
		foldTallies(m.Pool),
		forgetTallies(m.Pool),
		sumReports(m),
		sendCampaigns(m),
		advanceSequences(m),
		sendMail(m),
		riskSweep(m),
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

// guarded turns a panic into an error: a mistake in a job must not end the
// server.
func (j Job) guarded(ctx context.Context, now clock.Time) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic of type %T\n%s", v, debug.Stack())
		}
	}()
	return j.Run(ctx, now)
}

// drain calls some until it returns less than a full batch. Each call is bounded, so that no row is locked for long.
func drain[N int | int64](batch N, some func() (N, error)) error {
	for {
		n, err := some()
		if err != nil || n < batch {
			return err
		}
	}
}
