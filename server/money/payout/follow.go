package payout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/work"
)

// Bounds of a round.
const (
	// followedRails is how many connected rails are followed at once.
	followedRails = 8
	// railBudget is the time of one rail in a round. With the last call it stays below askEvery, so that no lease
	// expires within a round. No payout is leased after it.
	railBudget = 30 * time.Second
	// maxRailFaults is how many payouts may fail one after another before a step ends.
	maxRailFaults = 3
	// fundsEvery is how long a rail without funds waits before the next submission.
	fundsEvery = 15 * time.Minute
	// failedEvery is how long a rail waits after it has failed.
	failedEvery = time.Minute
	// watchEvery is the interval between two polls of a paid payout, whose money may come back for watchFor.
	watchEvery = 24 * time.Hour
	watchFor   = 180 * 24 * time.Hour
)

// followConnected submits the payouts of connected rails and asks about the others.
func (s Sender) followConnected(ctx context.Context, u *work.Unit) error {
	if s.Open == nil {
		return nil
	}
	var errs []error
	for after := ""; ; {
		rails, err := queries.PayoutRailsToFollow(ctx, s.Pool, db.PayoutRailsToFollowParams{
			After: after, Now: u.Now, AskedBefore: new(u.Now.Plus(-askEvery)), WatchedBefore: new(u.Now.Plus(-watchEvery)),
			Lim: followedRails,
		})
		if err != nil || len(rails) == 0 {
			return errors.Join(append(errs, err)...)
		}
		after = rails[len(rails)-1].ID
		failed := make([]error, len(rails))
		var wait sync.WaitGroup
		for i, c := range rails {
			wait.Go(func() { failed[i] = s.followRail(ctx, u, c) })
		}
		wait.Wait()
		errs = append(errs, failed...)
	}
}

// followOperators does a round with a rail that an operator has added to the server.
func (s Sender) followOperators(ctx context.Context, u *work.Unit, rail Rail) error {
	return s.newRound(u, rail, db.PayoutRail{Kind: db.PayoutRailKind(rail.Name())}).follow(ctx)
}

// followRail does a round with a connected rail.
func (s Sender) followRail(ctx context.Context, u *work.Unit, c db.PayoutRail) error {
	rail, err := s.Open(c)
	r := s.newRound(u, rail, c)
	if err != nil {
		return r.pause(ctx, err)
	}
	return r.follow(ctx)
}

// railRound is one round with a rail.
type railRound struct {
	Sender
	u            *work.Unit
	c            db.PayoutRail // only Kind, the rail's name, for an operator's rail
	rail         Rail
	began        time.Time
	withoutFunds map[string]bool // currencies without funds
	answered     bool
	submitted    bool
	errs         []error
}

func (s Sender) newRound(u *work.Unit, rail Rail, c db.PayoutRail) *railRound {
	return &railRound{Sender: s, u: u, c: c, rail: rail, began: clock.Real(), withoutFunds: map[string]bool{}}
}

// follow submits payouts, asks about others, and watches paid ones, until the round's time is over. A payout that fails
// delays no other; a rail that fails waits.
func (r *railRound) follow(ctx context.Context) error {
	steps := []*railStep{{lease: r.toSubmit, do: r.submit}, {lease: r.toPoll, do: r.poll}, {lease: r.toWatch, do: r.poll}}
	if r.reports() {
		steps = steps[:1]
	}
	if stop := r.runSteps(ctx, steps); stop != nil {
		return r.pause(ctx, stop)
	}
	return r.finish(ctx)
}

// runSteps runs one lease of each step in turn, so that a step with many payouts does not delay the others. It returns
// the error that ends the round.
func (r *railRound) runSteps(ctx context.Context, steps []*railStep) error {
	for len(steps) > 0 {
		var left []*railStep
		for _, step := range steps {
			more, err := r.run(ctx, step)
			if err != nil {
				return err
			}
			if more {
				left = append(left, step)
			}
		}
		steps = left
	}
	return nil
}

// reports reports whether the service reports results itself.
func (r *railRound) reports() bool {
	_, ok := r.rail.(Reporter)
	return ok
}

// railStep leases payouts and does one thing with each.
type railStep struct {
	lease  func(context.Context) ([]db.Payout, error)
	do     func(context.Context, db.Payout) error
	faults int // payouts that failed one after another
}

// run does a step with the payouts of one lease, while there is time, and reports whether there may be more. It returns
// the error that ends the round.
func (r *railRound) run(ctx context.Context, step *railStep) (more bool, stop error) {
	if r.expired() { // before the lease, which would let its payouts wait
		return false, ctx.Err()
	}
	payouts, err := step.lease(ctx)
	if err != nil {
		return false, err
	}
	for _, p := range payouts {
		if r.expired() || ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err := r.recordResult(step, p, step.do(ctx, p)); err != nil {
			return false, err
		}
		if step.faults == maxRailFaults {
			return false, nil
		}
	}
	return len(payouts) == followBatch, nil
}

// expired reports whether the round's time is over.
func (r *railRound) expired() bool { return clock.Real().Sub(r.began) > railBudget }

// recordResult records the result of one payout. It returns the error if no step may call the rail.
func (r *railRound) recordResult(step *railStep, p db.Payout, err error) error {
	if err == nil {
		r.answered, step.faults = true, 0
		return nil
	}
	err = fmt.Errorf("payout %s: %w", p.ID, err)
	if _, busy := errors.AsType[Busy](err); busy {
		return err
	}
	step.faults++
	r.errs = append(r.errs, err)
	return nil
}

func (r *railRound) toPoll(ctx context.Context) ([]db.Payout, error) {
	return queries.RailPayoutsToPoll(ctx, r.Pool, db.RailPayoutsToPollParams{
		Now: &r.u.Now, RailID: r.c.ID, Rail: r.name(), AskedBefore: new(r.u.Now.Plus(-askEvery)), Lim: followBatch,
	})
}

// toSubmit leases payouts to submit; none while the rail waits for funds.
func (r *railRound) toSubmit(ctx context.Context) ([]db.Payout, error) {
	if at := r.c.SubmitAfter; at != nil && at.After(r.u.Now.Time) {
		return nil, nil
	}
	return queries.RailPayoutsToSubmit(ctx, r.Pool, db.RailPayoutsToSubmitParams{
		Now: &r.u.Now, RailID: r.c.ID, Rail: r.name(), AskedBefore: new(r.u.Now.Plus(-askEvery)), Lim: followBatch,
	})
}

// toWatch leases paid payouts whose money may still come back.
func (r *railRound) toWatch(ctx context.Context) (watched []db.Payout, err error) {
	leased, err := queries.RailPayoutsToWatch(ctx, r.Pool, db.RailPayoutsToWatchParams{
		Now: r.u.Now, RailID: r.c.ID, Rail: r.name(), WatchedBefore: new(r.u.Now.Plus(-watchEvery)),
		PaidAfter: r.u.Now.Plus(-watchFor), AskNow: askNow, Lim: followBatch,
	})
	for _, p := range leased {
		if p.CheckedAt != nil { // others are too old
			watched = append(watched, p)
		}
	}
	return watched, err
}

// askNow is the checked_at of a paid payout that the next round asks about.
var askNow = clock.At(time.Unix(0, 0))

// AskNow makes the next round ask about a payout that a connected rail has, or has paid.
func AskNow(ctx context.Context, pool *pgxpool.Pool, rail db.PayoutRail, id string) error {
	_, err := queries.RailPayoutPollNow(ctx, pool, db.RailPayoutPollNowParams{
		AskNow: askNow, ID: id, OrgID: rail.OrgID, RailID: &rail.ID,
	})
	return err
}

// name is the rail's name in payouts.
func (r *railRound) name() *string { return new(string(r.c.Kind)) }

// poll asks about a payout that the rail has.
func (r *railRound) poll(ctx context.Context, p db.Payout) error {
	call, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	status, err := r.rail.Status(call, transferOf(p))
	if err != nil {
		return err
	}
	return r.report(ctx, p, status)
}

// submit submits a payout and asks about it. The submission is counted before it is made, so that a crash cannot hide
// it.
func (r *railRound) submit(ctx context.Context, p db.Payout) error {
	if r.withoutFunds[p.Currency] {
		return nil
	}
	partner, err := r.partner(ctx, p)
	if err != nil {
		return err
	}
	if why, gone := withdrawn(p, partner); gone {
		if p.Submissions > 0 { // the rail may have it, with the earlier details
			return r.attend(ctx, p, Unconfirmed)
		}
		return r.refuse(ctx, p, why)
	}
	t, err := r.transferTo(p, partner)
	if err != nil {
		return err
	}
	now := clock.Later(r.u.Now, p.UpdatedAt)
	counted, err := queries.PayoutCountSubmission(ctx, r.Pool, db.PayoutCountSubmissionParams{
		Now: &now, ID: p.ID, OrgID: p.OrgID, LeasedAt: p.CheckedAt,
	})
	if errors.Is(err, pgx.ErrNoRows) { // another server has it, or a person has decided
		return nil
	}
	if err != nil {
		return err
	}
	p, t.SubmittedAt = counted, counted.SubmittedAt
	call, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	if t.ExternalID, err = r.rail.Submit(call, t); err != nil {
		return r.notSubmitted(ctx, p, err)
	}
	r.submitted = true
	err = queries.PayoutSetExternalID(ctx, r.Pool,
		db.PayoutSetExternalIDParams{ExternalID: &t.ExternalID, UpdatedAt: now, ID: p.ID, OrgID: p.OrgID})
	if err != nil {
		return err
	}
	if r.reports() {
		return r.clearNeedsFunds(ctx, p)
	}
	p.ExternalID = &t.ExternalID
	status, err := r.rail.Status(call, transferOf(p))
	if err != nil {
		return err
	}
	return r.report(ctx, p, status)
}

// clearNeedsFunds ends the attention of a payout that waited for funds, after the service of a Reporter has accepted
// it.
func (r *railRound) clearNeedsFunds(ctx context.Context, p db.Payout) error {
	if opt.Value(p.Attention) != NeedsFunds {
		return nil
	}
	return r.attend(ctx, p, "")
}

// withdrawn reports whether the partner is not to be paid this way any longer: its status, its payout method or its
// payout details have changed since the hand-over, or since the first submission.
func withdrawn(p db.Payout, partner db.Partner) (why Refusal, gone bool) {
	sent := p.UpdatedAt
	if p.Submissions > 0 {
		sent = opt.Value(p.SubmittedAt)
	}
	switch {
	case partner.Status != db.PartnerStatusActive:
		return Refusal{Code: "partner_not_active", Message: "The partner is no longer active."}, true
	case partner.PayoutDetailsChangedAt != nil && partner.PayoutDetailsChangedAt.After(sent.Time):
		return Refusal{
			Code: "payout_details_changed", Message: "The payout details have changed since the payout was sent: check them.",
		}, true
	case opt.Value(partner.PayoutMethod) != opt.Value(p.Method):
		return Refusal{Code: "payout_method_changed", Message: "The partner has chosen another payout method."}, true
	}
	return why, false
}

// notSubmitted handles the error of a submission. It returns the errors that a later round may not have.
func (r *railRound) notSubmitted(ctx context.Context, p db.Payout, err error) error {
	refusal := Refusal{}
	_, busy := errors.AsType[Busy](err)
	funds := errors.Is(err, ErrNeedsFunds)
	switch {
	case errors.Is(err, ErrUnconfirmed):
		return r.attend(ctx, p, Unconfirmed)
	case errors.As(err, &refusal) && (p.Submissions <= 1 || refusal.Always):
		return r.refuse(ctx, p, refusal)
	case busy, funds, errors.Is(err, ErrNotSent): // certainly not accepted
		again := queries.PayoutUncountSubmission(ctx, r.Pool, db.PayoutUncountSubmissionParams{ID: p.ID, OrgID: p.OrgID})
		if !funds || again != nil {
			return errors.Join(err, again)
		}
		r.withoutFunds[p.Currency] = true
		return r.attend(ctx, p, NeedsFunds)
	}
	return err
}

// refuse fails a payout whose only submission was refused, unless the rail may have it by another one.
func (r *railRound) refuse(ctx context.Context, p db.Payout, why Refusal) error {
	return r.changeInFlight(ctx, r.u, p, func(u *work.Unit, locked db.Payout) error {
		if locked.ExternalID != nil || (locked.Submissions > 1 || locked.Submissions > p.Submissions) && !why.Always {
			return nil
		}
		_, err := fail(ctx, u, locked, Status{State: Rejected, Code: why.Code, Message: why.Message})
		return err
	})
}

// report writes a rail's report on a payout.
func (r *railRound) report(ctx context.Context, p db.Payout, status Status) error {
	if status.Fee != nil && (p.FeeMinor == nil || *p.FeeMinor != status.Fee.AmountMinor) {
		err := queries.PayoutFee(ctx, r.Pool, db.PayoutFeeParams{
			FeeMinor: &status.Fee.AmountMinor, FeeCurrency: &status.Fee.Currency, ID: p.ID, OrgID: p.OrgID,
		})
		if err != nil {
			return err
		}
	}
	paid := p.Status == db.PayoutStatusPaid
	switch status.State {
	case InFlight:
		if paid {
			return nil
		}
		return r.attend(ctx, p, status.Attention)
	case Settled:
		if paid {
			return nil
		}
	case Rejected, Returned:
		if paid && status.Attention != Reversed {
			status.Attention = CameBack
		}
		if paid {
			return r.attend(ctx, p, status.Attention)
		}
	default:
		return fmt.Errorf("the rail answered the unknown state %q", status.State)
	}
	return r.applyFinalStatus(ctx, r.u, p, status)
}

// attend notes the state that a person should look at; "" for none.
func (r *railRound) attend(ctx context.Context, p db.Payout, a Attention) error {
	if opt.Value(p.Attention) == a {
		return nil
	}
	return r.change(ctx, r.u, p, p.Status, func(u *work.Unit, locked db.Payout) error {
		_, err := attend(ctx, u, r.Mail, locked, a)
		return err
	})
}

// pause records why a rail failed, and when it may be called again.
func (r *railRound) pause(ctx context.Context, why error) error {
	if r.c.ID == "" {
		return errors.Join(append(r.errs, why)...)
	}
	wait := failedEvery
	if busy, ok := errors.AsType[Busy](why); ok {
		wait = busy.For
	}
	err := queries.PayoutRailSetBusy(ctx, r.Pool, db.PayoutRailSetBusyParams{
		LastError: opt.OrNil(plain.Cut(why.Error(), 1000)), BusyUntil: new(r.u.Now.Plus(wait)), Now: r.u.Now,
		ID: r.c.ID, OrgID: r.c.OrgID,
	})
	return errors.Join(append(r.errs, err, r.noFunds(ctx), fmt.Errorf("rail %s: %w", r.c.ID, why))...)
}

// finish records the round. A rail that has answered no call has failed.
func (r *railRound) finish(ctx context.Context) error {
	failed := errors.Join(r.errs...)
	if r.c.ID == "" {
		return failed
	}
	if failed != nil && !r.answered {
		r.errs = nil
		return r.pause(ctx, failed)
	}
	if r.answered {
		answered := db.PayoutRailSetSuccessParams{
			Now: &r.u.Now, Submitted: r.submitted && len(r.withoutFunds) == 0, ID: r.c.ID, OrgID: r.c.OrgID,
		}
		if failed != nil {
			answered.LastError = opt.OrNil(plain.Cut(failed.Error(), 1000))
		}
		if err := queries.PayoutRailSetSuccess(ctx, r.Pool, answered); err != nil {
			return errors.Join(failed, err)
		}
	}
	return errors.Join(failed, r.noFunds(ctx))
}

// noFunds lets submissions wait if the account lacked funds in this round. The rail shows it: it is no failure of the
// job.
func (r *railRound) noFunds(ctx context.Context) error {
	if len(r.withoutFunds) == 0 {
		return nil
	}
	return queries.PayoutRailSetWithoutFunds(ctx, r.Pool, db.PayoutRailSetWithoutFundsParams{
		LastError: new(ErrNeedsFunds.Error()), SubmitAfter: new(r.u.Now.Plus(fundsEvery)), Now: r.u.Now,
		ID: r.c.ID, OrgID: r.c.OrgID,
	})
}
