package payout

import (
	"context"
	"errors"
	"fmt"
	"math"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/work"
)

// sendAutomatically hands over due payouts that connected rails may send without a person's confirmation.
func (s Sender) sendAutomatically(ctx context.Context, u *work.Unit) error {
	if s.Open == nil {
		return nil
	}
	var errs []error
	for last := (db.BatchesToSendAutomaticallyRow{}); ; {
		batches, err := queries.BatchesToSendAutomatically(ctx, s.Pool, db.BatchesToSendAutomaticallyParams{
			Now: u.Now, AfterRail: last.RailID, AfterBatch: last.BatchID, Lim: sendBatch,
		})
		if err != nil || len(batches) == 0 {
			return errors.Join(append(errs, err)...)
		}
		last = batches[len(batches)-1]
		for _, b := range batches {
			err := u.For(b.OrgID).Within(ctx, func(u *work.Unit) error { return s.sendBatch(ctx, u, b) })
			if err != nil {
				errs = append(errs, fmt.Errorf("batch %s: %w", b.BatchID, err))
			}
		}
	}
}

// sendBatch hands over the due payouts of a batch, unless their sum is beyond the rail's limits: a person must confirm
// them then, and the owner is emailed once. Payouts whose details have changed since the partner was last paid wait for
// a person too.
func (s Sender) sendBatch(ctx context.Context, u *work.Unit, of db.BatchesToSendAutomaticallyRow) error {
	o := SendOrder{BatchID: of.BatchID, RailID: of.RailID, HoldOnHighRisk: s.HoldOnHighRisk, dueBy: &u.Now}
	b, err := o.batch(ctx, u)
	if err != nil {
		return err
	}
	prog, err := queries.ProgramLock(ctx, u.DB(), db.ProgramLockParams{ID: b.ProgramID, OrgID: u.OrgID})
	if err != nil || !prog.AutoPayoutsEnabled || prog.Status != db.ProgramStatusActive {
		return err
	}
	rail, err := queries.PayoutRailGet(ctx, u.DB(), db.PayoutRailGetParams{ID: of.RailID, OrgID: u.OrgID})
	if err != nil || rail.Status != db.PayoutRailStatusActive || rail.AutomaticBatchMinor == nil {
		return err // changed since it was listed
	}
	o.Currency, o.createdFrom = prog.Currency, prog.AutoPayoutsSince
	// Without locks first: a batch above the limits is looked at in every round. All payouts count, also of later
	// rounds.
	rows, err := o.rows(ctx, u, rail, math.MaxInt32)
	if err != nil {
		return err
	}
	planned := make([]db.Payout, len(rows))
	for i, row := range rows {
		planned[i] = db.Payout{PartnerID: row.PartnerID, AmountMinor: row.AmountMinor, Currency: row.Currency}
	}
	sent, _, within, err := o.automatic(ctx, u, prog, rail, planned)
	if err != nil || sent.PayoutCount == 0 {
		return err
	}
	if !within {
		if !s.Mail.Ready() { // it would be logged in every round
			return nil
		}
		return s.Mail.QueueForOwners(ctx, u.Tx, prog.OrgID, u.Now, func(to string) mail.Message {
			return mail.PayoutsOverLimit(to, b.ID+" "+today(u, prog), prog.Name)
		})
	}
	locked, err := o.find(ctx, u, rail)
	if err != nil {
		return err
	}
	sent, payouts, within, err := o.automatic(ctx, u, prog, rail, locked)
	if err != nil || !within || sent.PayoutCount == 0 {
		return err // changed since it was read: the next round decides
	}
	return handOver(ctx, u, rail, sent, payouts)
}

// automatic returns the hand-over of payouts that need no person, and reports whether their sum is within the rail's
// limits.
func (o SendOrder) automatic(ctx context.Context, u *work.Unit, prog db.Program, rail db.PayoutRail,
	found []db.Payout) (sent db.PayoutSend, payouts []db.Payout, within bool, err error) {
	if payouts, err = unchanged(ctx, u, found); err != nil {
		return sent, nil, false, err
	}
	if sent, err = o.sum(u, rail, payouts); err != nil {
		return sent, nil, false, err
	}
	sent.Automatic = true
	within, err = withinLimits(ctx, u, prog, rail, sent)
	return sent, payouts, within, err
}

// withinLimits reports whether a rail may send payouts without a person's confirmation, after those of the same batch
// and of the same day in the program's time zone.
func withinLimits(ctx context.Context, u *work.Unit, prog db.Program, rail db.PayoutRail,
	s db.PayoutSend) (bool, error) {
	zone := clock.StoredZone(prog.TimeZone)
	before, err := queries.PayoutSendsAutomatic(ctx, u.DB(), db.PayoutSendsAutomaticParams{
		BatchID: s.BatchID, Since: clock.Midnight(u.Now.DayIn(zone), zone), ProgramID: prog.ID, OrgID: u.OrgID,
	})
	return before.OfBatch+s.AmountMinor <= opt.Value(rail.AutomaticBatchMinor) &&
		before.OfDay+s.AmountMinor <= opt.Value(rail.AutomaticDayMinor), err
}

// unchanged returns the payouts whose details have not changed since the partner was last paid.
func unchanged(ctx context.Context, u *work.Unit, payouts []db.Payout) (same []db.Payout, err error) {
	partners := make([]string, len(payouts))
	for i, p := range payouts {
		partners[i] = p.PartnerID
	}
	changed, err := DetailsChanged(ctx, u.DB(), u.OrgID, partners)
	for _, p := range payouts {
		if _, ok := changed[p.PartnerID]; !ok {
			same = append(same, p)
		}
	}
	return same, err
}
