package sample

import (
	"cmp"
	"fmt"
	"slices"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/ledger"
	"rail/server/money/rules"
)

// overrideJSON is the rate of the few links with a rate override.
const overrideJSON = `{"rate_type":"percent","rate_value":4500}`

// override is overrideJSON for the rules.
var override = rules.Rate{RateType: rules.RatePercent, RateValue: 4500}

// The warnings of recording a sale.
const (
	noRate      = `[{"code":"no_commission_from_rules","message":"The matching flow pays nothing for this sale."}]`
	noPartner   = `[{"code":"no_commission_from_rules","message":"The partner is suspended; its customers' sales pay nothing."}]`
	refundCause = "sale_refunded"
)

// entry is a movement of the ledger: an amount in minor units from one bucket to another.
type entry struct {
	partnerID, commissionID, currency, from, to string
	amount                                      int64
	at                                          clock.Time
}

// commission is a commission with its later states. It is created by a rule (referral), manually (reward) or by
// a refund after the payment (clawback). A time is nil until its state has been reached.
type commission struct {
	id, kind, currency string
	partner            *partner
	customer           *customer // nil for a reward
	saleID             *string
	sale               *sale        // nil unless a rule applied to a sale
	choice             rules.Choice // empty for a reward
	rate               rules.Rate
	amount             int64
	base               *int64
	created            clock.Time
	approve            *clock.Time // time of automatic approval
	approved           *clock.Time
	due                *clock.Time
	payout             *payout
	ended              *clock.Time
	before             string // its status before it ended
	endAs, reason      string
	clawed             int64       // minor units that the clawback took back
	back               *commission // the clawback
	metadata           []byte      // of a clawback only
}

// money adds the sales in the order of time, the commissions of sales and sign-ups, their monthly payouts, and
// then the ledger and the balances. Commissions are written last: whether one was paid, voided or taken back is
// known only after all the payouts.
func (b *builder) money() {
	type payment struct {
		c *customer
		s *sale
	}
	var payments []payment
	for _, c := range b.customers {
		b.bounty(c)
		for _, s := range c.sales {
			payments = append(payments, payment{c, s})
		}
	}
	// Numbered in the order of time, so that charge ids ascend as a processor's do.
	slices.SortFunc(payments, func(x, y payment) int { return x.s.at.Compare(y.s.at.Time) })
	for i, p := range payments {
		p.s.n = i + 1
		b.sale(p.c, p.s)
	}
	b.rewards()
	b.payouts()
	for _, k := range b.commissions {
		b.commissionRow(k)
	}
	b.ledgerRows()
}

// rewards adds manual commissions of the best partners.
func (b *builder) rewards() {
	for i, at := range []clock.Time{b.now.Days(-150), b.now.Days(-100), b.now.Days(-9)} {
		b.commission(&commission{
			kind: "reward", currency: currency, partner: b.partners[i], amount: int64(2500 * (i + 1)), created: at,
			approved: &at,
		})
	}
}

// sale adds a sale with its commission. Flow and amount come from package rules, as for a sale recorded by the
// API, so that the sample shows real results.
func (b *builder) sale(c *customer, s *sale) {
	base, outcome, warnings := rules.BaseNetOfTax.Of(s.amount, s.tax, nil), "sale_recorded", noPartner
	var k *commission
	if c.partner.works(s.at) {
		warnings = noRate
		choice, ok := rules.Choose(b.payment, b.facts(c, s))
		rate := rules.Rate{RateType: choice.RateType, RateValue: choice.RateValue}
		var special *rules.Rate
		if c.override {
			special, rate = &override, override
		}
		if amount, unit, _ := rules.Compute(choice, special, base, s.currency, currency); ok && amount > 0 {
			outcome, warnings = "commission_created", "[]"
			k = &commission{
				kind: "referral", currency: unit, partner: c.partner, customer: c, saleID: &s.id, sale: s, choice: choice,
				rate: rate, amount: amount, base: &base, created: s.at,
			}
		}
	}
	// Only a refund changes the sale's row.
	updated := s.at
	if s.refunded != nil {
		updated = *s.refunded
	}
	b.add(b.sheets.sales, s.id, c.id, c.partner.id, s.charge(), "stripe", s.amount, s.tax, s.fee(),
		s.currency, s.plan.billing, s.plan.interval, s.plan.product, s.plan.name, s.first, outcome,
		[]byte(warnings), s.at, s.refunded, s.at, updated)
	// The refund of a sale with a commission is written with the commission's row, which has the commission's final
	// state.
	if k == nil {
		b.refunded(s, nil)
		return
	}
	if k.choice.ApprovalMode == rules.ApproveAfterDays {
		k.approve = new(rules.ApprovesAt(s.at, *k.choice.ApprovalDelayDays))
		k.approved = k.approve
	} else {
		k.approved = &s.at
	}
	// A sale without a refund leaves k.ended nil, which makes the other two irrelevant.
	k.ended, k.endAs, k.reason = s.refunded, "voided", refundCause
	b.commission(k)
}

// refunded adds the refund of a refunded sale, with its effect on the commission k, which may be nil. A paid
// commission stays paid and gets a clawback; another is voided.
func (b *builder) refunded(s *sale, k *commission) {
	if s.refunded == nil {
		return
	}
	voided, clawback, effects := 0, int64(0), []byte("[]")
	if k != nil {
		// effects is the JSON that the API stores: each commission before and after. It is assembled as text, since
		// change has two forms.
		var change string
		if k.back != nil {
			clawback = k.clawed
			change = fmt.Sprintf(`"paid"},"after":{"amount_minor":%d,"status":"paid"},"clawback_minor":%d,"clawback_id":%q`,
				k.amount, k.clawed, k.back.id)
		} else {
			voided = 1
			change = fmt.Sprintf(`%q},"after":{"amount_minor":%d,"status":"voided"},"clawback_minor":0,"clawback_id":null`,
				k.before, k.amount)
		}
		effects = fmt.Appendf(nil,
			`[{"commission_id":%q,"partner_id":%q,"currency":%q,"before":{"amount_minor":%d,"status":%s}]`,
			k.id, k.partner.id, k.currency, k.amount, change)
	}
	b.add(b.sheets.refunds, ident.NewSample(ident.Refund), s.id, s.charge(), "re_nw"+number(s.n, 6), "applied", s.amount,
		s.currency, voided, clawback, effects,
		s.refunded, s.refunded, s.refunded)
}

// earlyRefunds adds a refund that waits for its sale, and one whose sale never came. A processor may report a
// refund before its payment.
func (b *builder) earlyRefunds() {
	for i, status := range []string{"waiting", "unmatched"} {
		at := b.now.Days(-int64(35*i + 1))
		b.add(b.sheets.refunds, ident.NewSample(ident.Refund), nil, "ch_nw_early"+number(i, 2), "re_nw_early"+number(i, 2),
			status, nil, nil, 0, int64(0), []byte("[]"), at, at, at)
	}
}

// charge returns the payment processor's id of the sale.
func (s *sale) charge() string { return "ch_nw" + number(s.n, 6) }

// fee returns the processor's fee for the sale: 2.9 % and 30 more.
func (s *sale) fee() int64 { return min(s.amount, rules.Percent(s.amount, 290)+30) }

// facts returns the facts for the conditions of flows.
func (b *builder) facts(c *customer, s *sale) *rules.Facts {
	return &rules.Facts{
		ProgramCurrency: currency,
		Sale: &rules.SaleFacts{
			AmountMinor: s.amount, NetAmountMinor: rules.BaseNetOfTax.Of(s.amount, s.tax, nil),
			Currency: s.currency, ProductID: &s.plan.product, ProductName: &s.plan.name, BillingType: s.plan.billing,
			Interval: s.plan.interval, IsFirstSale: s.first,
			OccurredAt: s.at,
		},
		Customer: rules.CustomerFacts{
			ConvertedAt: c.converted, LeadAt: &c.lead, Country: &c.country, TrackedBy: c.trackedBy, CouponID: c.couponID,
			LinkID: c.linkID,
		},
		Partner: rules.PartnerFacts{
			ID: c.partner.id, GroupID: &c.partner.groupID, TagIDs: c.partner.tagIDs, CountryCode: &c.partner.country,
		},
	}
}

// bounty adds the commission of a sign-up, which needs a manual approval. It is approved or rejected within 16
// days, so that only the newest are pending.
func (b *builder) bounty(c *customer) {
	f := &rules.Facts{
		ProgramCurrency: currency,
		Customer:        rules.CustomerFacts{LeadAt: &c.lead, TrackedBy: c.trackedBy, LinkID: c.linkID, CouponID: c.couponID},
		Partner:         rules.PartnerFacts{ID: c.partner.id, GroupID: &c.partner.groupID, TagIDs: c.partner.tagIDs},
	}
	choice, ok := rules.Choose(b.signup, f)
	if !ok || !c.partner.works(c.lead) {
		return
	}
	k := &commission{
		kind: "referral", currency: currency, partner: c.partner, customer: c, choice: choice,
		rate: rules.Rate{RateType: choice.RateType, RateValue: choice.RateValue}, amount: choice.RateValue, created: c.lead,
	}
	seen := c.lead.Plus(b.within(2*day, 16*day))
	switch {
	// Not reviewed yet: pending.
	case !b.past(seen):
	case b.chance(0.05):
		k.ended, k.endAs, k.reason = &seen, "rejected", "The account was opened twice."
	default:
		k.approved = &seen
	}
	b.commission(k)
}

// commission adds a commission in its present state: approved, and due at the end of the holding period unless
// it ended before. A planned approval in the future, or after the refund, never happened.
func (b *builder) commission(k *commission) {
	k.id = ident.NewSample(ident.Commission)
	if !b.reached(k.approved, k.ended) {
		k.approved = nil
	}
	if k.approved != nil {
		// An approval after the holding period makes it due at once.
		if due := latest(rules.MatureAt(k.created, holdingDays), *k.approved); b.reached(&due, k.ended) {
			k.due = &due
		}
	}
	b.commissions = append(b.commissions, k)
}

// takeBack adds the clawback of a commission that was paid before its sale was refunded: the commission stays
// paid, and a negative one takes it back. It is due at once and goes into a later payout.
func (b *builder) takeBack(k *commission) *commission {
	back := &commission{
		id: ident.NewSample(ident.Commission), kind: "clawback", currency: k.currency, partner: k.partner,
		customer: k.customer, saleID: k.saleID,
		choice: k.choice, amount: -k.amount, created: *k.ended, approved: k.ended, due: k.ended,
		metadata: []byte(`{"commission_id":"` + k.id + `"}`),
	}
	k.ended, k.clawed, k.back = nil, k.amount, back
	b.commissions = append(b.commissions, back)
	return back
}

// commissionRow adds a commission and its ledger entries, one for each past state in order, so that the sum of
// each bucket equals the balance.
func (b *builder) commissionRow(k *commission) {
	status, at := "pending", k.created
	first, matures := ledger.Pending, rules.MatureAt(k.created, holdingDays)
	// A clawback does not wait for a holding period: its money has been paid already.
	if k.kind == "clawback" {
		first, matures = ledger.Due, k.created
	}
	// Every amount comes from source and, if reversed, ends in sink.
	b.move(k, ledger.Source, first, k.created)
	if k.approved != nil {
		status, at = "approved", *k.approved
	}
	if k.due != nil {
		status, at = "due", *k.due
		if first != ledger.Due {
			b.move(k, ledger.Pending, ledger.Due, at)
		}
	}
	var payoutID, reason *string
	if k.payout != nil {
		payoutID = &k.payout.id
		if paid := k.payout.paid; paid != nil {
			status, at = "paid", *paid
			b.move(k, ledger.Due, ledger.Paid, at)
		}
	}
	// The refund of the sale has the commission's state before it.
	k.before = status
	if k.ended != nil {
		b.move(k, ledger.Bucket(db.CommissionStatus(status)), ledger.Sink, *k.ended)
		status, at, reason = k.endAs, *k.ended, &k.reason
	}
	// The earliest commission dates the balance.
	key := [2]string{k.partner.id, k.currency}
	if first, ok := b.owed[key]; !ok || k.created.Before(first.Time) {
		b.owed[key] = k.created
	}
	var customerID, flowID, rateType *string
	var rateValue *int64
	if k.customer != nil {
		customerID, flowID = &k.customer.id, &k.choice.FlowID
	}
	if k.kind == "referral" {
		rateType, rateValue = (*string)(&k.rate.RateType), &k.rate.RateValue
	}
	b.add(b.sheets.commissions, k.id, k.partner.id, k.saleID, customerID, flowID, k.choice.BranchID, k.kind, k.amount,
		k.base, rateType, rateValue,
		k.currency, status, matures, k.approve, k.approved, k.ended, reason, payoutID, k.metadata, k.clawed, k.created, at)
	if k.sale != nil {
		b.refunded(k.sale, k)
	}
}

// reached reports whether a time has passed, and was before end.
func (b *builder) reached(at, end *clock.Time) bool {
	return at != nil && b.past(*at) && (end == nil || at.Before(end.Time))
}

// move adds an entry of the ledger, to be written in the order of time.
func (b *builder) move(k *commission, from, to string, at clock.Time) {
	b.entries = append(b.entries, entry{k.partner.id, k.id, k.currency, from, to, k.amount, at})
}

// ledgerRows writes the ledger in the order of time, and a balance for each partner and currency in it.
func (b *builder) ledgerRows() {
	slices.SortStableFunc(b.entries, func(x, y entry) int { return x.at.Compare(y.at.Time) })
	for _, e := range b.entries {
		b.add(b.sheets.ledger, e.partnerID, e.commissionID, e.currency, e.from, e.to, e.amount, e.at)
	}
	keys := make([][2]string, 0, len(b.owed))
	for key := range b.owed {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(x, y [2]string) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) })
	for _, key := range keys {
		b.add(b.sheets.balances, ident.BalanceID(key[0], key[1]), key[0], key[1], b.owed[key])
	}
}
