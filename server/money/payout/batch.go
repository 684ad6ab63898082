package payout

import (
	"context"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/event"
)

// Order selects the commissions that a batch collects. PartnerID and GroupID narrow it. Until is the period's
// end in the request; GenerateIn and PreviewIn set PeriodEnd from it.
type Order struct {
	Program            db.Program
	PeriodEnd          clock.Time
	Until              string
	PartnerID, GroupID *string
	IgnoreMinimum      bool
	HoldOnHighRisk     bool      // exclude partners with an open high risk flag
	Automatic          bool      // the monthly run, made once
	ofBatch            time.Time // the batch's month, which a change of time zone does not move
}

// terms are the days from the period's end to the day on which payouts are due.
var terms = map[db.PayoutTerm]int{db.PayoutTermNet15: 15, db.PayoutTermNet30: 30, db.PayoutTermNet60: 60}

// month returns the first day of the period's month in the program's time zone. A program has one batch a month.
func (o Order) month() time.Time {
	if !o.ofBatch.IsZero() {
		return o.ofBatch
	}
	return clock.MonthOf(o.PeriodEnd.DayIn(o.zone()))
}

// dueAt returns midnight of the period's last day plus the term, in the program's time zone (decisions, 123 and
// 310).
func (o Order) dueAt() clock.Time {
	return clock.Midnight(o.PeriodEnd.DayIn(o.zone()).AddDate(0, 0, terms[o.Program.PayoutTerm]), o.zone())
}

// zone returns the time zone of the order's program.
func (o Order) zone() *time.Location { return clock.StoredZone(o.Program.TimeZone) }

// Generate turns due commissions into payouts, one for each partner and currency, and returns the month's batch;
// created reports whether it is new. The call's transaction does the first page of partners; Runs does the rest.
// The program must be locked. Partners with a payout this month are skipped; ineligible partners are
// evaluated again (decisions, 115 to 122). No money moves.
//
// Locks are taken in the order program, run, batch, partners, so that a request and the pages of Runs cannot
// deadlock.
func Generate(ctx context.Context, u *work.Unit, o Order) (b db.PayoutBatch, created bool, err error) {
	month := db.BatchOfMonthParams{ProgramID: o.Program.ID, OrgID: u.OrgID, PeriodMonth: o.month()}
	b, err = queries.BatchOfMonth(ctx, u.Tx, month)
	if pgtx.First([]error{err}) != nil {
		return b, false, err
	}
	if err != nil {
		if b, err = o.open(ctx, u); err != nil {
			return b, true, err
		}
		return b, true, o.begin(ctx, u, b)
	}
	// The monthly run happens once, even if an operator has requested the batch manually since.
	if o.Automatic && b.AutoRunAt != nil {
		return b, false, nil // another replica was first
	}
	joined, err := o.join(ctx, u, b)
	if err != nil {
		return b, false, err
	}
	// The batch ends with the latest requested day.
	if o.PeriodEnd.After(b.PeriodEnd.Time) {
		b.PeriodEnd = o.PeriodEnd
	}
	b.UpdatedAt = u.Now
	touch := db.BatchTouchParams{PeriodEnd: b.PeriodEnd, UpdatedAt: u.Now, ID: b.ID, OrgID: b.OrgID}
	err = queries.BatchTouch(ctx, u.Later(), touch)
	if err != nil || joined {
		return b, false, err
	}
	return b, false, o.begin(ctx, u, b)
}

// GenerateIn locks the program that a request names and calls Generate. The order's partner and group must be of
// that program.
func GenerateIn(ctx context.Context, u *work.Unit, programID string,
	o Order) (b db.PayoutBatch, created bool, err error) {
	p, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: programID, OrgID: u.OrgID})
	if err != nil {
		return b, false, work.Found(err, "program_id")
	}
	o.Program = p
	if err := o.check(ctx, u); err != nil {
		return b, false, err
	}
	return Generate(ctx, u, o)
}

// check sets the end of the period, and refuses a partner or group of another program.
func (o *Order) check(ctx context.Context, u *work.Unit) (err error) {
	if o.PeriodEnd, err = periodEnd(o.Until, u.Now, o.zone()); err != nil {
		return err
	}
	return u.Check(ctx, o.Program.ID, work.PartnerRef("partner_id", o.PartnerID), work.GroupRef("group_id", o.GroupID))
}

// periodEnd parses the end of a period. A bare date up to today means the end of that day in the zone, or now if
// that is earlier; a time must not be in the future (decisions, 197).
func periodEnd(value string, now clock.Time, zone *time.Location) (clock.Time, error) {
	end, bare, err := clock.ParseDate(value)
	if err != nil {
		return end, problem.Invalid("period_end", "period_end %s.", err)
	}
	day := end.Time
	if bare {
		end = clock.Midnight(day, zone)
	}
	if end.After(now.Time) {
		return end, problem.Invalid("period_end", "period_end is in the future.")
	}
	if bare {
		end = clock.EndOf(day, zone)
		if end.After(now.Time) {
			end = now
		}
	}
	return end, nil
}

// open finds or creates the month's batch.
func (o Order) open(ctx context.Context, u *work.Unit) (db.PayoutBatch, error) {
	b := db.PayoutBatch{
		ID: u.NewID(ident.Batch), OrgID: u.OrgID, ProgramID: o.Program.ID, PeriodMonth: o.month(), PeriodEnd: o.PeriodEnd,
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	u.Record(event.Subject{ProgramID: b.ProgramID, ID: b.ID}, events.PayoutBatchCreated(api.PayoutBatchCreatedData{
		BatchID: b.ID, PeriodEnd: b.PeriodEnd,
	}))
	return b, queries.BatchInsert(ctx, u.Later(), db.BatchInsertParams(b))
}

// join leaves the order to a running run with the same scope, and reports whether there is one; a second run
// over the same partners would only slow down the first. An order for one partner never needs more than a page.
// Runs with different scopes run concurrently.
func (o Order) join(ctx context.Context, u *work.Unit, b db.PayoutBatch) (bool, error) {
	if o.PartnerID != nil {
		return false, nil
	}
	n, err := queries.PayoutRunJoin(ctx, u.Tx, db.PayoutRunJoinParams{
		PeriodEnd: o.PeriodEnd, Automatic: o.Automatic, ProgramID: b.ProgramID, BatchID: b.ID, GroupID: opt.Value(o.GroupID),
		IgnoreMinimum: o.IgnoreMinimum, OrgID: b.OrgID,
	})
	return n > 0, err
}

// begin does the first page, and leaves the rest to a run.
func (o Order) begin(ctx context.Context, u *work.Unit, b db.PayoutBatch) error {
	last, err := o.page(ctx, u, b, "")
	switch {
	case err != nil:
		return err
	case last != "":
		return queries.PayoutRunInsert(ctx, u.Later(), db.PayoutRunInsertParams{
			ID: ident.New(ident.Run), OrgID: b.OrgID, ProgramID: b.ProgramID, BatchID: b.ID, GroupID: opt.Value(o.GroupID),
			IgnoreMinimum: o.IgnoreMinimum, Automatic: o.Automatic, PeriodEnd: o.PeriodEnd, AfterID: last, CreatedAt: u.Now,
		})
	case o.Automatic:
		return queries.BatchFinish(ctx, u.Later(), db.BatchFinishParams{
			AutoRunAt: &u.Now, UpdatedAt: u.Now, ID: b.ID, OrgID: b.OrgID,
		})
	}
	return nil
}
