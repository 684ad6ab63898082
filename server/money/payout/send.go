package payout

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// maxSent bounds how many payouts one call of Send hands over; another call hands over the rest.
const maxSent = 10 * pageSize

// SendOrder selects payouts of a batch, and has the figures that a person has confirmed.
type SendOrder struct {
	BatchID, RailID string
	Currency        string // "" if the rail pays one currency of the batch
	Count, Minor    int64
	HoldOnHighRisk  bool
	dueBy           *clock.Time // only payouts that are due by then; nil for all
	createdFrom     *clock.Time // only payouts created since; nil for all
}

// Send hands the pending payouts of a batch over to a connected rail (decisions, 322). The confirmed figures must be
// right. If they are those of the latest hand-over instead, Send returns that one and sends nothing.
func Send(ctx context.Context, u *work.Unit, o SendOrder) (sent db.PayoutSend, err error) {
	b, err := o.batch(ctx, u)
	if err != nil {
		return sent, err
	}
	// The lock lets only one of two concurrent calls hand over the payouts, and the rail stays connected.
	if _, err := queries.ProgramLock(ctx, u.DB(), db.ProgramLockParams{ID: b.ProgramID, OrgID: u.OrgID}); err != nil {
		return sent, err
	}
	rail, err := o.rail(ctx, u, b)
	if err != nil {
		return sent, err
	}
	payouts, err := o.find(ctx, u, rail)
	if err != nil {
		return sent, err
	}
	if sent, err = o.sum(u, rail, payouts); err != nil {
		return sent, err
	}
	if differs := o.confirm(sent); differs != nil {
		if sent, err = o.repeated(ctx, u); errors.Is(err, pgx.ErrNoRows) {
			err = differs
		}
		return sent, err
	}
	return sent, handOver(ctx, u, rail, sent, payouts)
}

// sum returns the hand-over of payouts, which must have one currency.
func (o SendOrder) sum(u *work.Unit, rail db.PayoutRail, payouts []db.Payout) (db.PayoutSend, error) {
	sent := db.PayoutSend{
		ID: u.NewID(ident.Send), OrgID: u.OrgID, ProgramID: rail.ProgramID, BatchID: o.BatchID, RailID: rail.ID,
		Currency: o.Currency, PayoutCount: int64(len(payouts)), CreatedAt: u.Now,
	}
	for _, p := range payouts {
		if sent.Currency == "" {
			sent.Currency = p.Currency
		}
		if p.Currency != sent.Currency {
			return sent, problem.Invalid("currency", "The rail pays several currencies of the batch: currency is required.")
		}
		sent.AmountMinor += p.AmountMinor
	}
	return sent, nil
}

// Sendable is the payouts of a batch that a rail would take over.
type Sendable struct {
	Rail   db.PayoutRail
	Count  int64
	Minor  int64   // their sum
	Payees []Payee // of the largest payouts
	// Fee is about what the service charges for them in minor units; 0 if that is unknown.
	Fee int64
}

// Payee is a partner with the amount of its payout.
type Payee struct {
	Name  string
	Minor int64
}

// PreviewSend returns the figures that Send would require for one currency, and changes nothing.
func PreviewSend(ctx context.Context, u *work.Unit, o SendOrder) (s Sendable, err error) {
	b, err := o.batch(ctx, u)
	if err != nil {
		return s, err
	}
	if s.Rail, err = o.rail(ctx, u, b); err != nil {
		return s, err
	}
	rows, err := o.rows(ctx, u, s.Rail, maxSent)
	if err != nil {
		return s, err
	}
	for _, row := range rows {
		s.Count++
		s.Minor += row.AmountMinor
		if s.Rail.Kind == db.PayoutRailKindPaypal {
			s.Fee += (row.AmountMinor*paypalFeeBps + 9999) / 10000
		}
	}
	slices.SortStableFunc(rows, func(a, b db.PayoutsToHandOverRow) int {
		return cmp.Compare(b.AmountMinor, a.AmountMinor)
	})
	s.Payees, err = payees(ctx, u, rows[:min(len(rows), maxNamed)])
	return s, err
}

// paypalFeeBps is PayPal's usual fee of a payout in basis points.
const paypalFeeBps = 200

// payees returns the partners of payouts with their amounts.
func payees(ctx context.Context, u *work.Unit, rows []db.PayoutsToHandOverRow) ([]Payee, error) {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.PartnerID
	}
	partners, err := queries.PartnerByIDs(ctx, u.DB(), db.PartnerByIDsParams{Ids: ids, OrgID: u.OrgID})
	names := map[string]string{}
	for _, p := range partners {
		names[p.ID] = NameOf(p)
	}
	out := make([]Payee, len(rows))
	for i, row := range rows {
		out[i] = Payee{names[row.PartnerID], row.AmountMinor}
	}
	return out, err
}

// CountByRail counts the payouts of a batch that rails have or had.
func CountByRail(ctx context.Context, u *work.Unit, batchID string) ([]db.PayoutCountsByRailRow, error) {
	return queries.PayoutCountsByRail(ctx, u.DB(), db.PayoutCountsByRailParams{BatchID: batchID, OrgID: u.OrgID})
}

// batch reads the batch.
func (o SendOrder) batch(ctx context.Context, u *work.Unit) (db.PayoutBatch, error) {
	b, err := queries.BatchGet(ctx, u.DB(), db.BatchGetParams{ID: o.BatchID, OrgID: u.OrgID})
	if err != nil {
		return b, work.Found(err, "")
	}
	return b, u.CheckProgram(b.ProgramID)
}

// rail reads an active rail of the batch's program.
func (o SendOrder) rail(ctx context.Context, u *work.Unit, b db.PayoutBatch) (db.PayoutRail, error) {
	rail, err := queries.PayoutRailGet(ctx, u.DB(), db.PayoutRailGetParams{ID: o.RailID, OrgID: u.OrgID})
	switch {
	case err != nil:
		return rail, work.Found(err, "rail_id")
	case rail.ProgramID != b.ProgramID:
		return rail, problem.NotFound("rail_id")
	case rail.Status != db.PayoutRailStatusActive:
		return rail, problem.New(problem.PayoutRailDisconnected, "The rail is disconnected: choose an active one.")
	case !rail.Livemode: // its payments would be recorded as true ones
		return rail, problem.New(problem.PayoutRailTest, "The rail is connected to a sandbox, which moves no money.")
	}
	return rail, nil
}

// rows lists the payouts to hand over, at most most.
func (o SendOrder) rows(ctx context.Context, u *work.Unit, rail db.PayoutRail,
	most int32) ([]db.PayoutsToHandOverRow, error) {
	rows, err := queries.PayoutsToHandOver(ctx, u.DB(), db.PayoutsToHandOverParams{
		BatchID: o.BatchID, OrgID: u.OrgID, Methods: rail.Methods, Currency: o.Currency, DueBy: o.dueBy,
		CreatedFrom: o.createdFrom, HoldOnHighRisk: o.HoldOnHighRisk, Lim: most,
	})
	return rows, err
}

// find locks the payouts to hand over.
func (o SendOrder) find(ctx context.Context, u *work.Unit, rail db.PayoutRail) (payouts []db.Payout, err error) {
	rows, err := o.rows(ctx, u, rail, maxSent)
	if err != nil {
		return nil, err
	}
	found := make([]selected, len(rows))
	for i, row := range rows {
		found[i] = selected(row)
	}
	for some := range slices.Chunk(found, pageSize) {
		locked, err := lockAll(ctx, u, some)
		if err != nil {
			return nil, err
		}
		for _, p := range locked {
			if p.Status == db.PayoutStatusPending { // it may have changed before the lock
				payouts = append(payouts, p)
			}
		}
	}
	return payouts, nil
}

// repeated returns the latest hand-over if it has the confirmed figures.
func (o SendOrder) repeated(ctx context.Context, u *work.Unit) (db.PayoutSend, error) {
	latest, err := queries.PayoutSendLatest(ctx, u.DB(), db.PayoutSendLatestParams{
		BatchID: o.BatchID, OrgID: u.OrgID, RailID: o.RailID, Currency: o.Currency,
	})
	if err != nil || latest.PayoutCount == o.Count && latest.AmountMinor == o.Minor {
		return latest, err
	}
	return latest, pgx.ErrNoRows
}

// confirm refuses figures that differ from those of the payouts.
func (o SendOrder) confirm(s db.PayoutSend) error {
	switch {
	case s.PayoutCount != o.Count:
		return problem.On("confirm_count", problem.ConfirmationDiffers,
			"%d payouts with %d minor units would be sent, not %d payouts.", s.PayoutCount, s.AmountMinor, o.Count)
	case s.AmountMinor != o.Minor:
		return problem.On("confirm_amount_minor", problem.ConfirmationDiffers,
			"%d payouts with %d minor units would be sent, not %d minor units.", s.PayoutCount, s.AmountMinor, o.Minor)
	}
	return nil
}

// handOver gives locked payouts to a rail.
func handOver(ctx context.Context, u *work.Unit, rail db.PayoutRail, sent db.PayoutSend, payouts []db.Payout) error {
	ids := make([]string, len(payouts))
	for i, p := range payouts {
		ids[i] = p.ID
		u.Record(about(p), events.PayoutUpdated(api.PayoutUpdatedData{
			PayoutID: p.ID, PartnerID: p.PartnerID, Status: api.PayoutStatusProcessing, PreviousStatus: api.PayoutStatusPending,
		}))
	}
	err := queries.PayoutsHandOver(ctx, u.Later(), db.PayoutsHandOverParams{
		Rail: opt.OrNil(string(rail.Kind)), RailID: &rail.ID, Now: u.Now, Ids: ids, OrgID: u.OrgID,
	})
	if err != nil {
		return err
	}
	if err := queries.PayoutSendInsert(ctx, u.Later(), db.PayoutSendInsertParams(sent)); err != nil {
		return err
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: rail.ProgramID, Action: "payout_batch.sent", TargetID: sent.BatchID, After: map[string]any{
			"rail_id": rail.ID, "payout_count": sent.PayoutCount, "amount_minor": sent.AmountMinor, "currency": sent.Currency,
			"automatic": sent.Automatic,
		},
	})
}

// Withdraw takes the payouts that were never submitted from a rail: they are pending again.
func Withdraw(ctx context.Context, u *work.Unit, rail db.PayoutRail) error {
	returned, err := queries.RailPayoutsReturn(ctx, u.DB(), db.RailPayoutsReturnParams{
		Now: u.Now, RailID: &rail.ID, OrgID: u.OrgID,
	})
	for _, p := range returned {
		u.Record(about(p), events.PayoutUpdated(api.PayoutUpdatedData{
			PayoutID: p.ID, PartnerID: p.PartnerID, Status: api.PayoutStatusPending, PreviousStatus: api.PayoutStatusProcessing,
		}))
	}
	return err
}
