package sample

import (
	"context"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/commission"
	"rail/server/money/ledger"
	"rail/server/money/payout"
	"rail/server/work"
)

// bounty adds the decision on a sign-up's commission, within 16 days, so that only the newest are pending. One in
// twenty is rejected.
func (b *builder) bounty(c *buyer) {
	b.bounties++
	seen, rejected := c.lead.Plus(b.duration(2*day, 16*day)), b.bounties%20 == 0
	b.add(changes, seen, func(ctx context.Context, u *work.Unit) error {
		id, err := queries.SampleSignupCommission(ctx, u.Tx, db.SampleSignupCommissionParams{
			CustomerID: &c.id, OrgID: u.OrgID, ProgramID: b.programID,
		})
		switch {
		case err != nil: // a suspended customer earns nothing
			return work.IgnoreNoRows(err)
		case rejected:
			_, err = commission.Reject(ctx, u, id, "The account was opened twice.")
		default:
			_, err = commission.Approve(ctx, u, id, nil)
		}
		return err
	})
}

// rewards adds manual commissions of the best partners.
func (b *builder) rewards() {
	for i, days := range []int64{-150, -100, -9} {
		b.add(changes, b.now.Days(days), func(ctx context.Context, u *work.Unit) error {
			_, err := commission.Grant(ctx, u, commission.Manual{
				ProgramID: b.programID, PartnerID: b.partners[i].id, AmountMinor: int64(2500 * (i + 1)),
				Reason: "The best of the month.",
			})
			return err
		})
	}
}

// month is a batch of everything due at the end of a month, in UTC. latest reports that no other batch follows.
type month struct {
	id, last        string // last is the last day
	createdAt, paid clock.Time
	latest          bool
	held            map[string]bool // payouts that stay unpaid
}

// payouts adds the batch of each month and its payment, and the passage of time between. A month whose batch
// would be in the future has none yet.
func (b *builder) payouts() {
	for t := b.start.Days(7); t.Before(b.now.Time); t = t.Days(7) {
		b.milestone(t, b.mature)
	}
	for first := clock.MonthOf(b.start.Time); ; first = first.AddDate(0, 1, 0) {
		end := clock.At(first.AddDate(0, 1, 0))
		last := end.AddDate(0, 0, -1)
		m := &month{
			last: last.Format(time.DateOnly), createdAt: end.Plus(10 * time.Minute),
			// Net 30: the payouts of a month are due 30 days after its last day, and paid a day later.
			paid:   clock.At(last.AddDate(0, 0, 30)).Plus(26 * time.Hour),
			latest: !b.past(clock.At(first.AddDate(0, 2, 0)).Plus(10 * time.Minute)), held: map[string]bool{},
		}
		if !b.past(m.createdAt) {
			break
		}
		b.milestone(m.createdAt, func(ctx context.Context, u *work.Unit) error { return b.collect(ctx, u, m) })
		b.milestone(m.paid, func(ctx context.Context, u *work.Unit) error { return b.pay(ctx, u, m) })
	}
	b.milestone(b.now, func(ctx context.Context, u *work.Unit) error {
		if err := queries.SampleExpireRefunds(ctx, u.Tx, db.SampleExpireRefundsParams{
			Now: u.Now, ProgramID: b.programID, OrgID: u.OrgID, Before: u.Now.Days(-30),
		}); err != nil {
			return err
		}
		if err := queries.SampleSubscribe(ctx, u.Tx, db.SampleSubscribeParams{
			ProgramID: b.programID, OrgID: u.OrgID,
		}); err != nil {
			return err
		}
		return b.mature(ctx, u)
	})
}

// mature approves the commissions whose delay is over, and makes those due whose holding period is over.
func (b *builder) mature(ctx context.Context, u *work.Unit) error {
	if err := queries.SampleApprove(ctx, u.Tx, db.SampleApproveParams{
		ProgramID: b.programID, OrgID: u.OrgID, Now: &u.Now,
	}); err != nil {
		return err
	}
	matured, err := queries.SampleMature(ctx, u.Tx, db.SampleMatureParams{
		ProgramID: b.programID, OrgID: u.OrgID, Now: &u.Now,
	})
	if err != nil {
		return err
	}
	return ledger.Moved(ctx, u, db.CommissionStatusApproved, matured...)
}

// collect creates the batch of a month. Of the latest one, one payout in five is processing and one has failed; a
// fifth stays pending whatever the day, so that the list has payouts in every state on any day.
func (b *builder) collect(ctx context.Context, u *work.Unit, m *month) error {
	if err := b.mature(ctx, u); err != nil {
		return err
	}
	batch, _, err := payout.GenerateIn(ctx, u, b.programID, payout.Order{Until: m.last})
	if m.id = batch.ID; err != nil || !m.latest {
		return err
	}
	pending, err := b.pending(ctx, u, m)
	if err != nil {
		return err
	}
	filed := db.PayoutsSetFiledParams{Rail: new("file"), Now: &u.Now, OrgID: u.OrgID}
	var failed []string
	for i, p := range pending {
		switch i % 5 {
		case 0:
			m.held[p.ID] = true
		case 1:
			filed.Ids = append(filed.Ids, p.ID)
		case 3:
			filed.Ids, failed = append(filed.Ids, p.ID), append(failed, p.ID)
		}
	}
	if err := queries.PayoutsSetFiled(ctx, u.Tx, filed); err != nil {
		return err
	}
	for _, id := range failed {
		if _, err := payout.MarkFailed(ctx, u, id, "The receiver's account could not be found."); err != nil {
			return err
		}
	}
	return nil
}

// pending returns the pending payouts of a batch.
func (b *builder) pending(ctx context.Context, u *work.Unit, m *month) ([]db.Payout, error) {
	return queries.PayoutPage(ctx, u.Tx, db.PayoutPageParams{
		ProgramID: b.programID, OrgID: u.OrgID, BatchID: &m.id, Status: new(string(db.PayoutStatusPending)),
		Lim: 10_000,
	})
}

// pay settles the pending payouts of a batch.
func (b *builder) pay(ctx context.Context, u *work.Unit, m *month) error {
	pending, err := b.pending(ctx, u, m)
	if err != nil {
		return err
	}
	var paid []db.Payout
	for _, p := range pending {
		if m.held[p.ID] {
			continue
		}
		b.paid++
		p, err := payout.Settle(ctx, u, p, payout.Payment{ExternalID: new("tr_nw" + number(b.paid, 6)), At: u.Now})
		if err != nil {
			return err
		}
		paid = append(paid, p)
	}
	return payout.Issue(ctx, u, b.keeper, paid...)
}
