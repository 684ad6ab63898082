package commission

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/locale/currency"
	"rail/server/money/ledger"
	"rail/server/money/report"
	"rail/server/money/rules"
	"rail/server/outbound/sequence"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// Manual is a request for a manual commission: a reward or, with a negative amount, a clawback (decisions, 106).
// AmountMinor is minor units of Currency; a nil Currency means the program's.
type Manual struct {
	ProgramID, PartnerID, Reason   string
	SaleID, ExternalChargeID       *string
	CustomerID, ExternalCustomerID *string
	AmountMinor                    int64
	Currency                       *string
}

// Grant creates the commission and writes its reason to the audit log (decisions, 108). A reward is approved at
// once and waits for the holding period. A clawback is due at once. Later refunds of the sale shrink the
// commission, so a refunded sale cannot get one.
func Grant(ctx context.Context, u *work.Unit, m Manual) (db.Commission, error) {
	if m.AmountMinor == 0 {
		return db.Commission{}, problem.Invalid("amount_minor", "amount_minor must not be 0.")
	}
	p, err := u.Program(ctx, m.ProgramID)
	if err != nil {
		return db.Commission{}, err
	}
	code := p.Currency
	if m.Currency != nil {
		if code, err = currency.Parse(*m.Currency); err != nil {
			return db.Commission{}, err
		}
	}
	if err := m.resolve(ctx, u); err != nil {
		return db.Commission{}, err
	}
	if err := m.allow(ctx, u, p, code); err != nil {
		return db.Commission{}, err
	}
	k, err := m.write(ctx, u, p, code)
	if err != nil {
		return k, err
	}
	return k, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ID, Action: "commission.created", TargetID: k.ID, Reason: &m.Reason, After: ToAPI(k),
	})
}

// ErrAgentLimit refuses a manual commission of an agent that a person must confirm (decisions, 350).
var ErrAgentLimit = problem.On("agent_limit_minor", problem.InsufficientScope,
	"The program's agent_limit_minor does not cover this commission; a person must confirm it.")

// allow counts an agent's commission against the program's limit for the day. The limit is in the program's currency,
// and a clawback takes money from a partner, so others are refused.
func (m Manual) allow(ctx context.Context, u *work.Unit, p db.Program, code string) error {
	if !u.Actor.Agent() {
		return nil
	}
	if m.AmountMinor < 0 || code != p.Currency {
		return ErrAgentLimit
	}
	zone := clock.StoredZone(p.TimeZone)
	n, err := queries.ProgramAgentGrant(ctx, u.DB(), db.ProgramAgentGrantParams{
		ID: p.ID, OrgID: u.OrgID, AmountMinor: m.AmountMinor, Day: clock.Midnight(u.Now.In(zone), zone),
	})
	if err == nil && n == 0 {
		err = ErrAgentLimit
	}
	return err
}

// resolve replaces external ids by the ids of the rows, and checks that all references are in the program.
func (m *Manual) resolve(ctx context.Context, u *work.Unit) (err error) {
	if m.CustomerID, err = u.Customer(ctx, m.ProgramID, m.CustomerID, m.ExternalCustomerID); err != nil {
		return err
	}
	if m.SaleID, err = u.Sale(ctx, m.ProgramID, m.SaleID, m.ExternalChargeID); err != nil {
		return err
	}
	return u.Check(ctx, m.ProgramID, work.PartnerRef("partner_id", &m.PartnerID),
		work.CustomerRef("customer_id", m.CustomerID), work.SaleRef("sale_id", m.SaleID))
}

// write queues the commission. A clawback has no holding period, since the next payout must deduct it.
func (m Manual) write(ctx context.Context, u *work.Unit, p db.Program, currency string) (db.Commission, error) {
	refunded, err := m.refundedBefore(ctx, u)
	if err != nil {
		return db.Commission{}, err
	}
	kind, matureAt := db.CommissionKindReward, rules.MatureAt(u.Now, p.HoldingPeriodDays)
	if m.AmountMinor < 0 {
		kind, matureAt = db.CommissionKindClawback, u.Now
	}
	k := db.Commission{
		ID: u.NewID(ident.Commission), OrgID: u.OrgID, ProgramID: m.ProgramID, PartnerID: m.PartnerID, SaleID: m.SaleID,
		CustomerID: m.CustomerID, Kind: kind, AmountMinor: m.AmountMinor, Currency: currency,
		Status:   rules.InitialStatus(rules.ApproveImmediately, matureAt, u.Now),
		MatureAt: &matureAt, ApprovedAt: &u.Now, RefundedBeforeMinor: refunded, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if err := add(ctx, u, k); err != nil || kind != db.CommissionKindReward {
		return k, err
	}
	return k, sequence.EnrolFirst(ctx, u.Later(), k)
}

// ToAPI returns a commission as the API and the audit log show it.
func ToAPI(k db.Commission) api.Commission {
	return api.Commission{
		ID:           k.ID,
		Object:       "commission",
		ProgramID:    k.ProgramID,
		PartnerID:    k.PartnerID,
		SaleID:       k.SaleID,
		CustomerID:   k.CustomerID,
		FlowID:       k.FlowID,
		FlowBranchID: k.FlowBranchID,
		Kind:         api.CommissionKind(k.Kind),
		AmountMinor:  k.AmountMinor,
		RevenueMinor: k.RevenueMinor,
		Currency:     k.Currency,
		Status:       api.CommissionStatus(k.Status),
		MatureAt:     k.MatureAt,
		ApprovedAt:   k.ApprovedAt,
		VoidedAt:     k.VoidedAt,
		VoidReason:   k.VoidReason,
		PayoutID:     k.PayoutID,
		Metadata:     k.Metadata,
		CreatedAt:    k.CreatedAt,
		UpdatedAt:    k.UpdatedAt,
	}
}

// refundedBefore returns how much of the sale was refunded until now, in minor units. Later refunds take their
// share of the rest only.
func (m Manual) refundedBefore(ctx context.Context, u *work.Unit) (int64, error) {
	if m.SaleID == nil {
		return 0, nil
	}
	sale, err := queries.SaleShare(ctx, u.DB(), db.SaleShareParams{ID: *m.SaleID, OrgID: u.OrgID})
	if err == nil && sale.RefundedAt != nil {
		return 0, problem.On("sale_id", problem.SaleRefunded,
			"The sale was refunded at %s; a commission cannot be made for it.", sale.RefundedAt)
	}
	return sale.RefundedMinor, err
}

// add queues a new commission, its events and its ledger entry for the commit.
func add(ctx context.Context, u *work.Unit, k db.Commission) error {
	err := queries.CommissionInsert(ctx, u.Later(), db.CommissionInsertParams(k))
	if err != nil {
		return err
	}
	recordCreated(u, k)
	// It counts on the day of its sale, whose sums may exist already.
	if k.Kind == db.CommissionKindReward && k.SaleID != nil {
		if err := report.TouchCommission(ctx, u, k); err != nil {
			return err
		}
	}
	return ledger.Earn(ctx, u.Later(), ledger.CommissionOf(k, k.CreatedAt))
}
