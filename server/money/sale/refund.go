package sale

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/report"
	"rail/server/money/rules"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/event"
)

// RefundInput is a refund to record. AmountMinor is in minor units of the sale's currency; nil refunds the whole
// rest. At is nil for now. ExternalID is the processor's id: a second refund with it changes nothing.
type RefundInput struct {
	SaleID      string
	ExternalID  *string
	AmountMinor *int64
	At          *clock.Time
	Reason      *string
	// Capped means that AmountMinor may exceed the rest of the sale. Then the rest is refunded.
	Capped bool
	// BeyondImported means that AmountMinor leaves out the refunds of an import.
	BeyondImported bool
	// LevelMinor is the processor's running total of the payment's refunds including this one, nil if its event has
	// none.
	LevelMinor *int64
	// TestClock means that a processor's test clock set At, which may be in the future.
	TestClock bool
}

// Refunded is a refund with its effects. Repeated reports whether it was recorded before, and nothing changed;
// Differs then names the members in which this request differs from the recorded one.
type Refunded struct {
	db.Refund
	Repeated bool
	Differs  []string
}

// refunding is one refund while it is computed. Amounts are minor units of the sale's currency, except those of
// commissions in another.
type refunding struct {
	sale        db.Sale
	commissions []db.Commission
	earlier     *db.Refund // recorded under the same external id
	amount      int64      // refunded now
	at          clock.Time
	whole       bool // nothing of the sale remains
	effects     []api.RefundedCommission
	voided      int64
	clawback    int64
}

// Refund refunds a sale, wholly or in part, and writes it to the audit log. A second full refund changes nothing
// and returns the first one's time.
func Refund(ctx context.Context, u *work.Unit, r RefundInput) (Refunded, error) {
	done, err := refund(ctx, u, r)
	if err != nil {
		return done, err
	}
	return done, done.audit(ctx, u)
}

// errDryRun rolls back PreviewRefund.
var errDryRun = errors.New("only looked")

// PreviewRefund returns the effects of Refund by running it and rolling it back.
func PreviewRefund(ctx context.Context, u *work.Unit, r RefundInput) (done Refunded, err error) {
	err = u.Share(ctx, 1, func(_ int, u *work.Unit) error {
		if done, err = refund(ctx, u, r); err != nil {
			return err
		}
		return errDryRun
	})[0]
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return done, err
}

// audit writes a refund's effects to the audit log; a refund that waits for its sale has none yet.
func (f Refunded) audit(ctx context.Context, u *work.Unit) error {
	if f.Repeated || f.Status != db.RefundStatusApplied {
		return nil
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: f.ProgramID, Action: "sale.refunded", TargetID: *f.SaleID, Reason: f.Reason,
		After: map[string]any{
			"refund_id": f.ID, "amount_minor": f.AmountMinor, "voided_commissions": f.VoidedCommissions,
			"clawback_minor": f.ClawbackMinor, "refunded_at": f.RefundedAt,
		},
	})
}

// auditAll writes the effects of refunds to the audit log.
func auditAll(ctx context.Context, u *work.Unit, done []Refunded) error {
	for _, refunded := range done {
		if err := refunded.audit(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// refund refunds a sale (decisions, 97 to 100 and 226): unpaid commissions are voided, or shrink in proportion;
// paid ones are clawed back. A fully refunded sale stays unchanged.
func refund(ctx context.Context, u *work.Unit, r RefundInput) (Refunded, error) {
	w, err := loadRefund(ctx, u, r)
	if err != nil {
		return Refunded{}, err
	}
	if err := w.adopt(ctx, u, r); err != nil {
		return Refunded{}, err
	}
	switch {
	case w.earlier != nil && w.earlier.Status == db.RefundStatusApplied:
		return repeated(*w.earlier, r, w.sale.ExternalChargeID), nil
	// One refund id belongs to one charge: it cannot wait for one and be applied to another.
	case w.earlier != nil && *w.earlier.ExternalChargeID != w.sale.ExternalChargeID:
		return Refunded{}, problem.On("external_refund_id", problem.RefundWaiting,
			"This refund is already recorded, for the charge %s.", *w.earlier.ExternalChargeID)
	case w.sale.RefundedAt != nil:
		return w.nothingLeft(ctx, u, r)
	}
	if err := w.validate(u, r); err != nil {
		return Refunded{}, err
	}
	if err := w.takeSale(ctx, u); err != nil {
		return Refunded{}, err
	}
	if err := report.Touch(ctx, u, w.sale.ProgramID, w.sale.OccurredAt); err != nil {
		return Refunded{}, err
	}
	// A sale has the commission of its flow, and manual ones.
	for _, k := range w.commissions {
		if err := w.takeCommission(ctx, u, k); err != nil {
			return Refunded{}, err
		}
	}
	out, err := w.record(ctx, u, r)
	if w.earlier != nil { // the waiting refund counts; this request is compared with it
		out.Differs = repeated(*w.earlier, r, w.sale.ExternalChargeID).Differs
	}
	return out, err
}

// loadRefund locks the charge, the customer, the partners, the sale and its commissions, in the order of every write of
// money, and reads them. The first read takes no lock: it finds the customer to lock.
func loadRefund(ctx context.Context, u *work.Unit, r RefundInput) (refunding, error) {
	org := u.OrgID
	var w refunding
	seen, err := queries.SaleGet(ctx, u.DB(), db.SaleGetParams{ID: r.SaleID, OrgID: org})
	if err != nil {
		return w, err
	}
	if err := u.CheckProgram(seen.ProgramID); err != nil {
		return w, err
	}
	err = u.Together(ctx,
		// A processor's refund reads the sale under this lock, to limit its amount to the rest.
		func(tx pgtx.DBTX) error {
			return queries.ChargeLock(ctx, tx, db.ChargeLockParams{
				OrgID: org, ProgramID: seen.ProgramID, ExternalChargeID: seen.ExternalChargeID,
			})
		},
		func(tx pgtx.DBTX) error {
			_, err := queries.SaleCustomerLock(ctx, tx, db.SaleCustomerLockParams{ID: seen.CustomerID, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) error {
			_, err := queries.SalePartnersLock(ctx, tx, db.SalePartnersLockParams{SaleID: r.SaleID, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			w.sale, err = queries.SaleLock(ctx, tx, db.SaleLockParams{ID: r.SaleID, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			w.commissions, err = queries.SaleCommissions(ctx, tx, db.SaleCommissionsParams{SaleID: &r.SaleID,
				OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			w.earlier, err = earlierRefund(ctx, tx, org, seen.ProgramID, r.ExternalID)
			return err
		})
	for i := range w.commissions { // paid ones keep the id of a merged customer; clawbacks do not
		if k := &w.commissions[i]; k.CustomerID != nil {
			k.CustomerID = &w.sale.CustomerID
		}
	}
	return w, err
}

// earlierRefund returns the program's refund with an external id, or nil.
func earlierRefund(ctx context.Context, tx pgtx.DBTX, org, programID string, externalID *string) (*db.Refund, error) {
	if externalID == nil {
		return nil, nil //nolint:nilnil // none is not an error
	}
	stored, err := queries.RefundByExternalID(ctx, tx, db.RefundByExternalIDParams{ProgramID: programID, OrgID: org,
		ExternalRefundID: externalID})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // as above
	}
	return &stored, err
}

// repeated answers for a refund that was recorded before, without changes. A member that the request leaves out
// cannot differ.
func repeated(earlier db.Refund, r RefundInput, chargeID string) Refunded {
	out := Refunded{Refund: earlier, Repeated: true}
	note := func(differs bool, member string) {
		if differs {
			out.Differs = append(out.Differs, member)
		}
	}
	note(earlier.ExternalChargeID != nil && *earlier.ExternalChargeID != chargeID, "the charge")
	note(r.AmountMinor != nil && (earlier.AmountMinor == nil || *r.AmountMinor != *earlier.AmountMinor), "amount_minor")
	note(r.At != nil && !r.At.Equal(earlier.RefundedAt.Time), "refunded_at")
	return out
}

// nothingLeft answers for a refund of a fully refunded sale. A refund with an external id is recorded, so that
// it is known later. One without an id cannot be told apart from the last refund, and counts as its repetition.
func (w *refunding) nothingLeft(ctx context.Context, u *work.Unit, r RefundInput) (Refunded, error) {
	w.at = *w.sale.RefundedAt
	if r.ExternalID != nil {
		return w.record(ctx, u, r)
	}
	last, err := queries.RefundLast(ctx, u.DB(), db.RefundLastParams{SaleID: &w.sale.ID, OrgID: w.sale.OrgID})
	last.AmountMinor, last.VoidedCommissions, last.ClawbackMinor = new(int64), 0, 0
	last.Effects, last.RefundedAt = []byte("[]"), w.at
	return Refunded{Refund: last, Repeated: true}, err
}

// validate checks the time and the amount. A refund that waited for its sale was accepted already and cannot be
// refused: its amount is cut to the rest of the sale, and its time is not before the sale's.
func (w *refunding) validate(u *work.Unit, r RefundInput) error {
	w.at, w.amount = clock.Later(u.Now, w.sale.OccurredAt), w.sale.AmountMinor
	if w.earlier != nil {
		w.at = clock.Later(w.earlier.RefundedAt, w.sale.OccurredAt)
		if w.earlier.AmountMinor != nil {
			w.amount = min(*w.earlier.AmountMinor, w.amount)
		}
		w.whole = w.amount == w.sale.AmountMinor
		return nil
	}
	switch {
	case r.At != nil && r.At.After(u.Now.Add(bound(r.TestClock, 0))):
		return problem.Invalid("refunded_at", "refunded_at is in the future.")
	case r.At != nil && r.At.Before(w.sale.OccurredAt.Time):
		return problem.Invalid("refunded_at", "refunded_at is before the sale's occurred_at, %s.", w.sale.OccurredAt)
	case r.At != nil:
		w.at = *r.At
	}
	if r.AmountMinor != nil {
		w.amount = *r.AmountMinor
	}
	if r.Capped {
		w.amount = min(w.amount, w.sale.AmountMinor)
	}
	if w.amount > w.sale.AmountMinor {
		return problem.Invalid("amount_minor", "amount_minor must be at most %d, the rest of the sale.",
			w.sale.AmountMinor)
	}
	w.whole = w.amount == w.sale.AmountMinor
	return nil
}

// share returns the part of a commission that this refund takes, in minor units, after earlier refunds. Rounding
// is cumulative, so that the parts sum to the whole. Refunds from before the commission was created do not
// count.
func (w *refunding) share(k db.Commission) int64 {
	before := k.RefundedBeforeMinor
	// The sale's amount before any refund.
	first := w.sale.AmountMinor + w.sale.RefundedMinor
	return rules.RefundShare(k.AmountMinor+k.ShrunkMinor, first-before, w.sale.RefundedMinor-before, w.amount,
		k.ShrunkMinor+k.ClawedMinor)
}

// takeSale writes the sale, its customer and the event. w.sale keeps the amounts before the refund, from which
// the commissions' shares are computed.
func (w *refunding) takeSale(ctx context.Context, u *work.Unit) error {
	p := db.SaleRefundParams{
		AmountMinor: w.sale.AmountMinor, TaxMinor: w.sale.TaxMinor, RefundedMinor: w.sale.RefundedMinor,
		UpdatedAt: u.Now, ID: w.sale.ID, OrgID: w.sale.OrgID,
	}
	subject := event.Subject{ProgramID: w.sale.ProgramID, ID: w.sale.ID}
	if w.sale.PartnerID != nil {
		subject.PartnerID = *w.sale.PartnerID
	}
	if w.whole {
		p.RefundedAt = &w.at
		u.Record(subject, events.SaleRefunded(api.SaleRefundedData{
			SaleID: w.sale.ID, CustomerID: w.sale.CustomerID, PartnerID: w.sale.PartnerID, AmountMinor: w.amount,
			Currency: w.sale.Currency, RefundedAt: w.at,
		}))
		customer := db.CustomerSetRefundedParams{UpdatedAt: u.Now, ID: w.sale.CustomerID, OrgID: w.sale.OrgID}
		if err := queries.CustomerSetRefunded(ctx, u.Later(), customer); err != nil {
			return err
		}
		return queries.SaleRefund(ctx, u.Later(), p)
	}
	p.AmountMinor -= w.amount
	p.RefundedMinor += w.amount
	if w.sale.TaxMinor != nil {
		// The tax shrinks in proportion, and rounding never lets it exceed the amount.
		left := min(*w.sale.TaxMinor-rules.RefundShare(*w.sale.TaxMinor, w.sale.AmountMinor, 0, w.amount, 0),
			p.AmountMinor)
		p.TaxMinor = &left
	}
	u.Record(subject, events.SaleUpdated(api.SaleUpdatedData{
		SaleID: w.sale.ID, PartnerID: w.sale.PartnerID, AmountMinor: p.AmountMinor, Currency: w.sale.Currency,
		PreviousAmountMinor: w.sale.AmountMinor,
	}))
	return queries.SaleRefund(ctx, u.Later(), p)
}

// record writes the refund's row: a new row, or the row of the waiting refund. It stores the effects, so that
// a repeated refund returns them.
func (w *refunding) record(ctx context.Context, u *work.Unit, r RefundInput) (Refunded, error) {
	effects, err := json.Marshal(w.effects)
	if err != nil || w.effects == nil {
		effects = []byte("[]")
	}
	row := db.Refund{
		ID: u.NewID(ident.Refund), OrgID: w.sale.OrgID, ProgramID: w.sale.ProgramID, ExternalRefundID: r.ExternalID,
		Reason: r.Reason, LevelMinor: r.LevelMinor, Restorations: []byte("[]"), CreatedAt: u.Now,
	}
	if w.earlier != nil {
		row = *w.earlier
	}
	row.SaleID, row.ExternalChargeID, row.Status, row.AmountMinor, row.Currency = &w.sale.ID,
		&w.sale.ExternalChargeID, db.RefundStatusApplied, &w.amount, &w.sale.Currency
	row.VoidedCommissions, row.ClawbackMinor, row.Effects = w.voided, w.clawback, effects
	row.RefundedAt, row.UpdatedAt = w.at, u.Now
	if w.earlier == nil {
		recordRefund(u, row)
		return Refunded{Refund: row}, errors.Join(err, queries.RefundInsert(ctx, u.Later(), db.RefundInsertParams(row)))
	}
	return Refunded{Refund: row}, errors.Join(err, applyRow(ctx, u, row))
}

// applyRow ends the wait of a refund.
func applyRow(ctx context.Context, u *work.Unit, row db.Refund) error {
	recordRefundChange(u, row)
	return queries.RefundApply(ctx, u.Later(), db.RefundApplyParams{
		SaleID:            row.SaleID,
		AmountMinor:       row.AmountMinor,
		Currency:          row.Currency,
		VoidedCommissions: row.VoidedCommissions,
		ClawbackMinor:     row.ClawbackMinor,
		Effects:           row.Effects,
		RefundedAt:        row.RefundedAt,
		UpdatedAt:         row.UpdatedAt,
		ID:                row.ID,
		OrgID:             row.OrgID,
	})
}
