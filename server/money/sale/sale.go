// Package sale records payments as sales, once per charge, with all their effects, and refunds them. The API and
// processor integrations share it.
package sale

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/ident"
	"rail/server/money/commission"
	"rail/server/money/report"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/event"
)

var queries = db.New()

// Service records payments, merges customers and credits partners.
type Service struct {
	Customers Customers
}

// Outcome is a recorded sale. Repeated reports whether the charge was recorded before: Sale is then the stored
// one, and Differs names the members in which this payment differs from it. Refunds arrived before the sale and
// were applied with it.
type Outcome struct {
	Sale     db.Sale
	Repeated bool
	Differs  []string
	Refunds  []Refunded
	Claim    *db.AttributionClaim // the record of an AI assistant's claim, if the payment has one
}

// Record records a payment: charge, customer, sale, commission, ledger and events, in the unit's transaction.
// For a known charge it returns the stored sale. Beside finding the customer by an external id it costs one
// round trip for all reads, and none for its writes, which are sent with the commit. Each of these costs one more: a
// flow that needs counters, flows that this server has not parsed yet, the first payment of a visitor's customer
// (late), and a payment dated liveFor or longer ago (imported).
func (s Service) Record(ctx context.Context, u *work.Unit, p Payment) (Outcome, error) {
	c, err := p.validate(u.Now)
	if err != nil {
		return Outcome{}, err
	}
	by, err := s.Customers.Payer(ctx, u, p.ProgramID, p.ExternalChargeID, p.Payer)
	if err != nil {
		return Outcome{}, err
	}
	c.CustomerID = by.ID
	out, err := s.record(ctx, u, c)
	if err != nil {
		return out, err
	}
	if err := by.note(ctx, u, &out); err != nil {
		return out, err
	}
	return out, auditAll(ctx, u, out.Refunds)
}

// record reads, decides and writes, in this order. It takes the charge's lock first, so that of two requests for
// one charge the second finds the sale.
func (s Service) record(ctx context.Context, u *work.Unit, c charge) (Outcome, error) {
	r := recording{charge: c}
	if err := r.readSurvivor(ctx, u, s.Customers); err != nil {
		return Outcome{}, err
	}
	// A processor may send a charge again, and gets the same sale.
	if r.history.ExistingID != "" {
		var stored db.Sale
		err := u.Read(ctx, func(tx pgtx.DBTX) (err error) {
			stored, err = queries.SaleGet(ctx, tx, db.SaleGetParams{ID: r.history.ExistingID, OrgID: u.OrgID})
			return err
		})
		if err == nil && c.CustomerID != stored.CustomerID { // the customer may have been merged since
			c.CustomerID, err = s.Customers.Survivor(ctx, u, c.CustomerID)
		}
		return Outcome{Sale: stored, Repeated: true, Differs: c.differs(stored)}, err
	}
	if imported, err := r.imported(ctx, u); err != nil || imported != nil {
		return opt.Value(imported), err
	}
	if err := r.validate(ctx, u); err != nil {
		return Outcome{}, err
	}
	if err := s.late(ctx, u, &r); err != nil {
		return Outcome{}, err
	}
	if err := r.count(ctx, u); err != nil {
		return Outcome{}, err
	}
	sale, err := r.write(ctx, u)
	if err == nil && r.history.EventsWait {
		err = u.Reschedule(ctx, r.ProgramID, work.ChargeKey(r.ExternalChargeID))
	}
	if err != nil || !r.history.RefundsWait {
		return Outcome{Sale: sale}, err
	}
	sale, refunds, err := applyWaiting(ctx, u, sale)
	return Outcome{Sale: sale, Refunds: refunds}, err
}

// differs names the members in which a payment differs from the recorded one. Fields that refunds change, and
// omitted fields, are not compared.
func (c charge) differs(s db.Sale) []string {
	var out []string
	note := func(same bool, member string) {
		if !same {
			out = append(out, member)
		}
	}
	note(c.CustomerID == s.CustomerID, "the customer")
	// Refunds lower the stored amount; adding them gives the original amount.
	note(c.AmountMinor == s.AmountMinor+s.RefundedMinor, "amount_minor")
	note(c.Currency == s.Currency, "currency")
	note(s.RefundedMinor > 0 || equal(c.TaxMinor, s.TaxMinor), "tax_minor")
	// A sender that repeats the charge often does not know the fee.
	note(c.FeeMinor == nil || equal(c.FeeMinor, s.FeeMinor), "fee_minor")
	note(c.BillingType == s.BillingType, "billing_type")
	note(equal(c.Interval, s.Interval), "interval")
	note(equal(c.ProductID, s.ProductID), "product_id")
	note(equal(c.ProductName, s.ProductName), "product_name")
	note(!c.Dated || c.OccurredAt.Equal(s.OccurredAt.Time), "occurred_at")
	note(sameJSON(c.Metadata, s.Metadata), "metadata")
	return out
}

// equal reports whether both are absent, or both are the same value.
func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// sameJSON reports whether two documents have the same value, without regard to the order of members and
// spacing.
func sameJSON(a, b []byte) bool {
	// nil is no document, unlike the document null.
	if bytes.Equal(a, b) || a == nil || b == nil {
		return bytes.Equal(a, b)
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// recording is a payment while it is recorded.
type recording struct {
	charge
	customerExists bool
	lead           bool // its referral waits for a first sale
	who            db.SaleCustomerRow
	history        db.SaleHistoryRow
	flows          []rules.Flow
	facts          rules.Facts
}

// read locks the customer and reads everything about the payment in one round trip. Each statement sees
// everything committed before it got its lock. Locks are taken in the order of every write of money: charge,
// customer, then partner.
func (r *recording) read(ctx context.Context, u *work.Unit) error {
	org := u.OrgID
	params := db.FlowsForPartnerParams{CustomerID: &r.CustomerID, OrgID: org, Trigger: rules.NewPayment}
	var stored []db.FlowsForPartnerRow
	if err := r.claim(u); err != nil {
		return err
	}
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error {
			return queries.ChargeLock(ctx, tx, db.ChargeLockParams{
				OrgID: org, ProgramID: r.ProgramID, ExternalChargeID: r.ExternalChargeID,
			})
		},
		func(tx pgtx.DBTX) error {
			_, err := queries.SaleCustomerLock(ctx, tx, db.SaleCustomerLockParams{ID: r.CustomerID, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) error {
			_, err := queries.SaleLead(ctx, tx, db.SaleLeadParams{CustomerID: r.CustomerID, OrgID: org})
			r.lead = err == nil
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			r.who, err = queries.SaleCustomer(ctx, tx, db.SaleCustomerParams{CustomerID: r.CustomerID, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			r.history, err = queries.SaleHistory(ctx, tx, db.SaleHistoryParams{
				ProgramID: r.ProgramID, OrgID: org, ExternalChargeID: r.ExternalChargeID, CustomerID: r.CustomerID,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			stored, err = queries.FlowsForPartner(ctx, tx, params)
			return err
		})
	if err := pgtx.First(errs); err != nil {
		return err
	}
	// A missing customer is not an error yet: validate names the parameter.
	r.customerExists = !errors.Is(errs[1], pgx.ErrNoRows)
	if !r.customerExists {
		return nil
	}
	r.facts = r.toFacts()
	// Other customers of the referral may be paying in the same transaction.
	if r.lead && r.who.Customer.ReferralID != nil {
		if err := u.Claim("referral", *r.who.Customer.ReferralID); err != nil {
			return err
		}
	}
	var err error
	r.flows, err = commission.LoadFlows(ctx, u, params, stored, &r.facts)
	return err
}

// readSurvivor reads, and reads again for the customer that a merged one became.
func (r *recording) readSurvivor(ctx context.Context, u *work.Unit, of Customers) error {
	if err := r.read(ctx, u); err != nil || r.customerExists || r.history.ExistingID != "" {
		return err
	}
	id, err := of.Survivor(ctx, u, r.CustomerID)
	if err != nil || id == r.CustomerID {
		return err
	}
	r.CustomerID = id
	return r.read(ctx, u)
}

// claim claims the rows that read locks.
func (r *recording) claim(u *work.Unit) error {
	if err := u.Claim("charge", r.ProgramID, r.ExternalChargeID); err != nil {
		return err
	}
	return u.Claim("customer", r.CustomerID)
}

// validate checks the references: a program of the organization, and a customer of
// that program.
func (r *recording) validate(ctx context.Context, u *work.Unit) error {
	if r.customerExists && r.who.ProgramID == r.ProgramID {
		return nil
	}
	err := u.Read(ctx, func(tx pgtx.DBTX) error {
		_, err := queries.ProgramExists(ctx, tx, db.ProgramExistsParams{ID: r.ProgramID, OrgID: u.OrgID})
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return problem.NotFound("program_id")
	case err != nil:
		return err
	case !r.customerExists:
		return problem.NotFound("customer_id")
	}
	return problem.On("customer_id", problem.InvalidReference, "customer_id belongs to another program.")
}

// toFacts returns the facts about the payment for the conditions of flows. The history was read before the sale
// is written, so HasSales means earlier sales.
func (r *recording) toFacts() rules.Facts {
	k := r.who.Customer
	f := rules.Facts{
		ProgramCurrency: r.who.ProgramCurrency,
		Sale: &rules.SaleFacts{
			AmountMinor:    r.AmountMinor,
			NetAmountMinor: rules.BaseNetOfTax.Of(r.AmountMinor, r.TaxMinor, nil),
			Currency:       r.Currency,
			ProductID:      r.ProductID,
			ProductName:    r.ProductName,
			BillingType:    r.BillingType,
			Interval:       r.Interval,
			IsFirstSale:    !r.history.HasSales,
			Metadata:       r.Metadata,
			OccurredAt:     r.OccurredAt,
		},
		Customer: rules.CustomerFacts{
			ConvertedAt: k.ConvertedAt, LeadAt: &k.LeadAt, TrackedBy: string(k.TrackedBy), CouponID: k.CouponID,
			LinkID:     k.LinkID,
			Identifier: k.Identifier, Metadata: k.Metadata, Country: opt.OrNil(r.who.ClickCountry),
		},
		Partner: rules.PartnerFacts{GroupID: r.who.PartnerGroupID, TagIDs: r.who.TagIds, CountryCode: r.who.PartnerCountry},
	}
	if f.Customer.ConvertedAt == nil { // this sale converts the customer
		f.Customer.ConvertedAt = &r.OccurredAt
	}
	if k.PartnerID != nil {
		f.Partner.ID = *k.PartnerID
	}
	return f
}

// count reads the counters that conditions need, with the partner locked, so that two sales cannot both be the
// tenth (decisions, 3.4).
func (r *recording) count(ctx context.Context, u *work.Unit) error {
	if !r.counts() {
		return nil
	}
	if err := u.Claim("partner", r.facts.Partner.ID); err != nil {
		return err
	}
	return r.readCounters(ctx, u, func(tx pgtx.DBTX) error {
		_, err := queries.PartnerLock(ctx, tx, db.PartnerLockParams{ID: r.facts.Partner.ID, OrgID: u.OrgID})
		return err
	})
}

// counts reports whether a condition needs counters.
func (r *recording) counts() bool {
	return r.earns() && rules.NeedsOf(r.flows).Has(rules.NeedCustomerCounters|rules.NeedPartnerCounters)
}

// readCounters reads the counters, after other reads.
func (r *recording) readCounters(ctx context.Context, u *work.Unit, before ...pgtx.Read) error {
	var customer db.SaleCustomerCountersRow
	var partner db.SalePartnerCountersRow
	org, currency := u.OrgID, r.who.ProgramCurrency
	err := u.Together(ctx, append(before,
		func(tx pgtx.DBTX) (err error) {
			customer, err = queries.SaleCustomerCounters(ctx, tx, db.SaleCustomerCountersParams{
				Currency: currency, CustomerID: r.CustomerID, OrgID: org,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			partner, err = queries.SalePartnerCounters(ctx, tx, db.SalePartnerCountersParams{
				ProgramID: r.ProgramID, PartnerID: r.facts.Partner.ID, Currency: currency, OrgID: org,
			})
			return err
		})...)
	if err != nil {
		return err
	}
	r.facts.Customer.Counters, r.facts.Partner.Counters = r.counters(customer, partner)
	return nil
}

// counters adds this sale to the stored counters. Only money in the program's currency is added, since amounts
// in different currencies have no sum; the number of sales includes every currency.
func (r *recording) counters(
	k db.SaleCustomerCountersRow, p db.SalePartnerCountersRow,
) (*rules.CustomerCounters, *rules.PartnerCounters) {
	here := int64(0)
	if r.Currency == r.who.ProgramCurrency {
		here = r.AmountMinor
	}
	converts := int64(0)
	if r.who.Customer.ConvertedAt == nil {
		converts = 1
	}
	arrives := int64(0)
	if r.CustomerID == "" { // in a preview: a recorded sale would already count the customer
		arrives = 1
	}
	return &rules.CustomerCounters{SalesCount: k.SalesCount + 1, TotalPaidMinor: k.TotalPaidMinor + here},
		&rules.PartnerCounters{
			LeadsCount: p.LeadsCount + arrives, CustomersCount: p.CustomersCount + converts, SalesCount: p.SalesCount + 1,
			RevenueMinor: p.RevenueMinor + here, CommissionsMinor: p.CommissionsMinor,
		}
}

// earns reports whether the rules apply at all (decisions, 48 and 86).
func (r *recording) earns() bool {
	return r.who.Customer.PartnerID != nil && r.who.PartnerStatus == string(db.PartnerStatusActive) &&
		r.who.Customer.Status != db.CustomerStatusSuspended && !r.selfReferral()
}

// selfReferral reports whether the customer is its own partner, in a program that blocks self-referrals
// (decisions, 306).
func (r *recording) selfReferral() bool {
	return r.who.Customer.SelfReferral && r.who.BlockSelfReferrals
}

// decide returns the commission of the sale, or the reason for none.
func (r *recording) decide(saleID string) (*commission.Earning, *api.SaleWarning, error) {
	switch {
	case r.who.Customer.PartnerID == nil:
		return nil, warn(rules.WarnNoPartner, "The customer has no partner."), nil
	case r.selfReferral():
		return nil, warn(rules.WarnSelfReferral,
			"The customer has the partner's own email, and the program blocks self-referrals."), nil
	case r.who.Customer.Status == db.CustomerStatusSuspended:
		return nil, warn(rules.WarnNoCommission, "The customer is suspended; its sales pay nothing."), nil
	case r.who.PartnerStatus != string(db.PartnerStatusActive):
		return nil, warn(rules.WarnNoCommission,
			"The partner is "+r.who.PartnerStatus+"; its customers' sales pay nothing."), nil
	}
	choice, ok := rules.Choose(r.flows, &r.facts)
	if !ok {
		// A sale without a commission is recorded nevertheless, with a warning.
		return nil, warn(rules.WarnNoCommission, "No active flow matches this sale."), nil
	}
	override, err := overrideOf(r.who.RateOverride)
	if err != nil {
		return nil, nil, err
	}
	// The revenue, in minor units, that a percentage is taken of.
	base := rules.BaseOf(r.who.CommissionOnNetRevenue, r.who.CommissionNetOfFee).
		Of(r.AmountMinor, r.TaxMinor, r.FeeMinor)
	amount, currency, reason := rules.Compute(choice, override, base, r.Currency, r.who.ProgramCurrency)
	if reason != "" {
		return nil, warn(reason, warningTexts[reason]), nil
	}
	return &commission.Earning{
		ProgramID: r.ProgramID, PartnerID: r.facts.Partner.ID, CustomerID: r.CustomerID, SaleID: &saleID, Choice: choice,
		Rate: effective(choice, override), Amount: amount, Base: &base, Currency: currency,
		MatureAt: rules.MatureAt(r.OccurredAt, r.who.HoldingPeriodDays), Enrols: r.who.EnrolsFirstCommission,
	}, nil, nil
}

// warningTexts explains the warnings of the rules.
var warningTexts = map[string]string{
	rules.WarnCurrencyMismatch: "The rate is a fixed amount in the program's currency and is not converted to the sale's.",
	rules.WarnNoCommission:     "The matching flow pays nothing for this sale.",
}

// warn returns a warning of the sale: the request succeeds, and the warning explains why the sale pays nothing.
func warn(code, text string) *api.SaleWarning {
	return &api.SaleWarning{Code: api.SaleWarningCode(code), Message: text}
}

// overrideOf returns the rate of the customer's link, which replaces the flow's, or nil.
func overrideOf(raw []byte) (*rules.Rate, error) {
	if len(raw) == 0 {
		return nil, nil //nolint:nilnil // no override is not an error
	}
	var rate rules.Rate
	if err := json.Unmarshal(raw, &rate); err != nil {
		return nil, err
	}
	return &rate, nil
}

// effective returns the rate applied, which the commission's row stores: it explains the amount even after the
// flow changes.
func effective(c rules.Choice, override *rules.Rate) rules.Rate {
	if override != nil {
		return *override
	}
	return rules.Rate{RateType: c.RateType, RateValue: c.RateValue}
}

// write queues the sale and its effects for the commit, in the order that foreign keys require. No statement
// needs another one's answer, so that all share one round trip.
func (r *recording) write(ctx context.Context, u *work.Unit) (db.Sale, error) {
	sale := r.sale(u)
	earned, warning, err := r.decide(sale.ID)
	if err != nil {
		return sale, err
	}
	sale.ActivityOutcome, sale.Warnings = db.SaleOutcomeCommissionCreated, []byte("[]")
	if warning != nil {
		sale.ActivityOutcome = db.SaleOutcomeSaleRecorded
		if sale.Warnings, err = json.Marshal([]api.SaleWarning{*warning}); err != nil {
			return sale, err
		}
	}
	if err := insert(ctx, u, sale); err != nil {
		return sale, err
	}
	about := event.Subject{ProgramID: sale.ProgramID, PartnerID: r.facts.Partner.ID, ID: sale.ID}
	u.Record(about, events.SaleCreated(api.SaleCreatedData{
		SaleID: sale.ID, CustomerID: sale.CustomerID, PartnerID: sale.PartnerID, AmountMinor: sale.AmountMinor,
		Currency: sale.Currency, IsFirstSale: sale.IsFirstSale, ExternalChargeID: sale.ExternalChargeID,
		OccurredAt: sale.OccurredAt,
	}))
	if err := r.convert(ctx, u, sale); err != nil {
		return sale, err
	}
	// The sums of the sale's day may exist already.
	if err := report.TouchSale(ctx, u, sale); err != nil {
		return sale, err
	}
	if earned != nil {
		if _, err := earned.Write(ctx, u); err != nil {
			return sale, err
		}
	}
	if !r.earns() {
		return sale, nil
	}
	return sale, commission.SwitchGroup(ctx, u, r.ProgramID, db.PartnerStatus(r.who.PartnerStatus), r.flows, &r.facts)
}

// sale returns the row to insert. Its partner is the customer's present one: a later reassignment does not
// change past sales.
func (r *recording) sale(u *work.Unit) db.Sale {
	return db.Sale{
		ID: u.NewID(ident.Sale), OrgID: u.OrgID, ProgramID: r.ProgramID, CustomerID: r.CustomerID,
		PartnerID: r.who.Customer.PartnerID, ExternalChargeID: r.ExternalChargeID,
		ExternalPaymentIntentID: r.ExternalPaymentIntentID, Processor: r.Processor,
		AmountMinor: r.AmountMinor, TaxMinor: r.TaxMinor, FeeMinor: r.FeeMinor, Currency: r.Currency,
		BillingType: r.BillingType, Interval: r.Interval, ProductID: r.ProductID, ProductName: r.ProductName,
		IsFirstSale: !r.history.HasSales, OccurredAt: r.OccurredAt,
		Metadata: r.Metadata, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
}

// insert queues the row for the commit. The lock that read took protects its unique charge.
func insert(ctx context.Context, u *work.Unit, s db.Sale) error {
	return queries.SaleInsert(ctx, u.Later(), db.SaleInsertParams(s))
}

// convert updates the customer and, once, its referral (decisions, 72 and 85).
func (r *recording) convert(ctx context.Context, u *work.Unit, sale db.Sale) error {
	k := r.who.Customer
	status := db.CustomerStatusActive
	// A payment makes a lead or a refunded customer active, but not a suspended one.
	if k.Status == db.CustomerStatusSuspended {
		status = k.Status
	}
	if status != k.Status || k.ConvertedAt == nil {
		err := queries.CustomerSetPaid(ctx, u.Later(), db.CustomerSetPaidParams{
			Status: status, ConvertedAt: sale.OccurredAt, UpdatedAt: u.Now, ID: k.ID, OrgID: k.OrgID,
		})
		if err != nil {
			return err
		}
	}
	if k.ReferralID == nil || k.PartnerID == nil || !r.lead || !sale.IsFirstSale {
		return nil
	}
	u.Record(event.Subject{ProgramID: sale.ProgramID, PartnerID: *k.PartnerID, ID: *k.ReferralID},
		events.ReferralConverted(api.ReferralConvertedData{
			ReferralID: *k.ReferralID, CustomerID: k.ID, PartnerID: *k.PartnerID, SaleID: sale.ID,
		}))
	return queries.ReferralSetStatus(ctx, u.Later(), db.ReferralSetStatusParams{
		Status: db.ReferralStatusConverted, UpdatedAt: u.Now, ID: *k.ReferralID, OrgID: k.OrgID,
	})
}
