package payout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rail/gen/db"
	"rail/server/opt"
	"rail/server/work"
)

// Bounds of a round of connected rails.
const (
	// followedRails is how many connected rails are followed at once.
	followedRails = 8
	// fundsEvery is how long a rail without funds waits before the next submission.
	fundsEvery = 15 * time.Minute
	// failedEvery is how long a rail waits after a call that failed.
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
			PaidAfter: new(u.Now.Plus(-watchFor)), Lim: followedRails,
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

// followRail does one round with a connected rail. After a failed call, the rail waits.
func (s Sender) followRail(ctx context.Context, u *work.Unit, c db.PayoutRail) error {
	r, err := s.Open(c)
	if err != nil {
		return s.pause(ctx, u, c, err)
	}
	for _, lease := range []func(context.Context, *work.Unit, db.PayoutRail) ([]db.Payout, error){s.toFollow, s.toWatch} {
		for {
			payouts, err := lease(ctx, u, c)
			if err != nil {
				return err
			}
			for _, p := range payouts {
				if err := s.advanceConnected(ctx, u, r, p); err != nil {
					return s.pause(ctx, u, c, fmt.Errorf("payout %s: %w", p.ID, err))
				}
				c.LastSuccessAt = &u.Now
			}
			if len(payouts) < followBatch {
				break
			}
		}
	}
	if c.LastSuccessAt == nil || !c.LastSuccessAt.Equal(u.Now.Time) {
		return nil
	}
	return queries.PayoutRailAnswered(ctx, s.Pool, db.PayoutRailAnsweredParams{Now: &u.Now, ID: c.ID, OrgID: c.OrgID})
}

func (s Sender) toFollow(ctx context.Context, u *work.Unit, c db.PayoutRail) ([]db.Payout, error) {
	return queries.RailPayoutsToFollow(ctx, s.Pool, db.RailPayoutsToFollowParams{
		Now: &u.Now, RailID: &c.ID, AskedBefore: new(u.Now.Plus(-askEvery)), Lim: followBatch,
	})
}

func (s Sender) toWatch(ctx context.Context, u *work.Unit, c db.PayoutRail) ([]db.Payout, error) {
	return queries.RailPayoutsToWatch(ctx, s.Pool, db.RailPayoutsToWatchParams{
		Now: &u.Now, RailID: &c.ID, WatchedBefore: new(u.Now.Plus(-watchEvery)), PaidAfter: new(u.Now.Plus(-watchFor)),
		Lim: followBatch,
	})
}

// pause records why a rail's call failed, and when the rail may be called again.
func (s Sender) pause(ctx context.Context, u *work.Unit, c db.PayoutRail, why error) error {
	wait := failedEvery
	if busy, ok := errors.AsType[Busy](why); ok {
		wait = busy.For
	}
	funds := errors.Is(why, ErrNeedsFunds)
	if funds {
		wait = fundsEvery
	}
	err := queries.PayoutRailFailed(ctx, s.Pool, db.PayoutRailFailedParams{
		LastError: opt.OrNil(clip(why.Error(), 1000)), BusyUntil: new(u.Now.Plus(wait)), Now: u.Now, WithoutFunds: funds,
		ID: c.ID, OrgID: c.OrgID,
	})
	if funds { // the rail shows it; it is no failure of the job
		return err
	}
	return errors.Join(err, fmt.Errorf("rail %s: %w", c.ID, why))
}

// advanceConnected submits or polls one payout of a connected rail.
func (s Sender) advanceConnected(ctx context.Context, u *work.Unit, r Rail, p db.Payout) error {
	t, err := s.transfer(ctx, p)
	if err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	if p.ExternalID == nil {
		if t.ExternalID, err = r.Submit(call, t); err != nil {
			return s.notSubmitted(ctx, u, p, err)
		}
		if err := queries.PayoutSubmitted(ctx, s.Pool,
			db.PayoutSubmittedParams{ExternalID: &t.ExternalID, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID}); err != nil {
			return err
		}
	}
	status, err := r.Status(call, t)
	if err != nil {
		return err
	}
	return s.report(ctx, u, p, status)
}

// notSubmitted handles the error of a submission. It returns the errors that concern the rail, not the payout.
func (s Sender) notSubmitted(ctx context.Context, u *work.Unit, p db.Payout, err error) error {
	refusal := Refusal{}
	switch {
	case errors.Is(err, ErrUnconfirmed):
		return s.attend(ctx, u, p, Unconfirmed)
	case errors.Is(err, ErrNeedsFunds):
		return errors.Join(err, s.attend(ctx, u, p, NeedsFunds))
	case errors.As(err, &refusal) && p.Submissions <= 1:
		return s.conclude(ctx, u, p, Status{State: Rejected, Code: refusal.Code, Message: refusal.Message})
	}
	return err
}

// report writes a rail's report on a payout.
func (s Sender) report(ctx context.Context, u *work.Unit, p db.Payout, status Status) error {
	if status.Fee != nil && (p.FeeMinor == nil || *p.FeeMinor != status.Fee.AmountMinor) {
		err := queries.PayoutFee(ctx, s.Pool, db.PayoutFeeParams{
			FeeMinor: &status.Fee.AmountMinor, FeeCurrency: &status.Fee.Currency, ID: p.ID, OrgID: p.OrgID,
		})
		if err != nil {
			return err
		}
	}
	switch status.State {
	case InFlight:
		return s.attend(ctx, u, p, status.Attention)
	case Settled:
		if p.Status == db.PayoutStatusPaid {
			return nil
		}
	case Rejected, Returned:
		if p.Status == db.PayoutStatusPaid {
			if status.Attention == "" {
				status.Attention = CameBack
			}
			return s.attend(ctx, u, p, status.Attention)
		}
	default:
		return fmt.Errorf("the rail answered the unknown state %q", status.State)
	}
	return errors.Join(s.conclude(ctx, u, p, status), s.attend(ctx, u, p, ""))
}

// attend notes what a person should look at; "" for nothing.
func (s Sender) attend(ctx context.Context, u *work.Unit, p db.Payout, a Attention) error {
	if opt.Value(p.Attention) == a {
		return nil
	}
	noted := db.PayoutAttendParams{UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID}
	if a != "" {
		noted.Attention, noted.AttentionText, noted.AttentionAt = &a, opt.OrNil(attentionTexts[a]), &u.Now
	}
	return queries.PayoutAttend(ctx, s.Pool, noted)
}

// attentionTexts has a sentence and the next step for each state.
var attentionTexts = map[Attention]string{
	Unclaimed: "The partner has not claimed the money. It comes back 30 days after it was sent: ask the partner to " +
		"claim it with the email address of their payout details.",
	OnHold:   "The service reviews the transfer. Check the messages in your account there.",
	Reversed: "The money came back after the payout was paid. Pay the partner again with a manual reward, if it is still owed.",
	CameBack: "The money was returned after the payout was paid. Pay the partner again with a manual reward, if it is " +
		"still owed.",
	NeedsFunds: "The account lacks funds. Add funds; the payout is then sent.",
	Unconfirmed: "The service did not confirm that it has the payout, and it is too late to send it again safely. Look " +
		"for it in your account there, and mark it as paid or as failed.",
}
