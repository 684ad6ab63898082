package sale

import (
	"context"
	"slices"

	"rail/gen/db"
	"rail/server/money/commission"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

// maxMerged bounds the sales of the two customers.
const maxMerged = 1000

// Merge merges the customer FromID into IntoID (decisions, 304). PartnerID chooses the partner that stays, if
// they have different ones.
type Merge struct {
	IntoID, FromID string
	PartnerID      *string
	DryRun         bool
}

// RedecidedCommission is an unpaid commission that a merge changes. Its amounts are minor units; missing ids are
// nil.
type RedecidedCommission struct {
	SaleID, CommissionID *string
	Before, After        int64
	Currency             string
}

// Merger is the result of a merge.
type Merger struct {
	Customer    db.Customer
	FromID      string
	IDs         []db.CustomerExternalID
	Sales       int // sales that move
	Commissions []RedecidedCommission
}

// Merge performs a merge. A dry run returns the same result and changes nothing. Unpaid commissions outside
// payouts are decided again if the customer's first sale, conversion or counters change the decision; everything
// else about them stays.
func (s Service) Merge(ctx context.Context, u *work.Unit, m Merge) (Merger, error) {
	pair, err := s.Customers.LockPair(ctx, u, m)
	if err != nil {
		return Merger{}, err
	}
	out := Merger{
		Customer: pair.Merged, FromID: pair.From.ID, IDs: pair.IDs, Commissions: []RedecidedCommission{},
	}
	sales, err := queries.SalesOfCustomers(ctx, u.DB(), db.SalesOfCustomersParams{
		CustomerIds: []string{pair.Into.ID, pair.From.ID}, OrgID: u.OrgID, Lim: maxMerged + 1,
	})
	if err != nil {
		return out, err
	}
	if len(sales) > maxMerged {
		return out, problem.On("customer_id", problem.CustomerMergeLimit,
			"The customers have more than %d sales together; merge fewer.", maxMerged)
	}
	w := merging{Merge: m, pair: pair, sales: sales, out: &out}
	return out, w.run(ctx, u, s)
}

// merging is a running merge.
type merging struct {
	Merge
	pair      Pair
	sales     []db.Sale       // of both customers, oldest first
	first     string          // the id of the person's first sale; "" without sales
	corrected map[string]bool // manually corrected commissions, by id
	out       *Merger
}

// run decides and writes. Locks are taken in the order of every write of money.
func (w *merging) run(ctx context.Context, u *work.Unit, s Service) error {
	for _, one := range w.sales {
		if one.CustomerID == w.pair.From.ID {
			w.out.Sales++
		}
		if one.IsFirstSale && w.first == "" { // the oldest of both
			w.first = one.ID
		}
	}
	if err := w.lockPartners(ctx, u); err != nil {
		return err
	}
	if err := w.signups(ctx, u); err != nil {
		return err
	}
	if err := w.redecide(ctx, u); err != nil || w.DryRun {
		return err
	}
	if err := w.move(ctx, u); err != nil {
		return err
	}
	var err error
	w.out.Customer, err = s.Customers.Join(ctx, u, w.pair)
	return err
}

func (w *merging) lockPartners(ctx context.Context, u *work.Unit) error {
	ids := []string{opt.Value(w.pair.Into.PartnerID), opt.Value(w.pair.From.PartnerID)}
	for _, s := range w.sales {
		ids = append(ids, opt.Value(s.PartnerID))
	}
	slices.Sort(ids)
	return queries.PartnersLock(ctx, u.DB(), db.PartnersLockParams{Ids: slices.Compact(ids), OrgID: u.OrgID})
}

// signups keeps one sign-up commission, since a person signs up once. A commission that is paid or in a payout
// stays, and open ones are voided. If all are open, one of the surviving partner stays.
func (w *merging) signups(ctx context.Context, u *work.Unit) error {
	rows, err := queries.CustomerSignupCommissions(ctx, u.DB(), db.CustomerSignupCommissionsParams{
		CustomerIds: []string{w.pair.Into.ID, w.pair.From.ID}, ProgramID: w.pair.Into.ProgramID, OrgID: u.OrgID,
	})
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(k db.Commission) bool {
		return k.Status == db.CommissionStatusVoided || k.Status == db.CommissionStatusRejected
	})
	if !slices.ContainsFunc(rows, commission.Settled) {
		stays := slices.IndexFunc(rows, func(k db.Commission) bool { return equal(&k.PartnerID, w.out.Customer.PartnerID) })
		if len(rows) > 0 {
			rows = slices.Delete(rows, max(stays, 0), max(stays, 0)+1)
		}
	}
	for _, k := range rows {
		if commission.Settled(k) {
			continue
		}
		if err := w.void(ctx, u, k); err != nil {
			return err
		}
	}
	return nil
}

// voidReason is the reason of commissions that a merge voids.
const voidReason = "customer_merged"

func (w *merging) void(ctx context.Context, u *work.Unit, k db.Commission) error {
	w.out.Commissions = append(w.out.Commissions, RedecidedCommission{
		SaleID: k.SaleID, CommissionID: &k.ID, Before: k.AmountMinor, Currency: k.Currency,
	})
	if w.DryRun {
		return nil
	}
	return commission.Void(ctx, u, k, voidReason)
}

// redecide decides each sale twice, for its old and for the merged customer, and writes the differences.
func (w *merging) redecide(ctx context.Context, u *work.Unit) error {
	p, err := u.Program(ctx, w.out.Customer.ProgramID)
	if err != nil || len(w.sales) == 0 {
		return err
	}
	past, err := newDecider(ctx, u, p)
	if err != nil {
		return err
	}
	standing := slices.DeleteFunc(slices.Clone(w.sales), func(s db.Sale) bool { return s.RefundedAt != nil })
	recordings, err := past.recordings(ctx, standing, nil)
	if err != nil {
		return err
	}
	commissions, err := w.ruleCommissions(ctx, u, standing)
	if err != nil {
		return err
	}
	first := w.bonus(commissions)
	counters := w.count(p.Currency)
	for _, r := range recordings {
		before, _, err := r.decide()
		if err != nil {
			return err
		}
		r.facts.Sale.IsFirstSale = r.sale.ID == first
		r.facts.Customer.ConvertedAt = opt.Or(w.out.Customer.ConvertedAt, r.facts.Customer.ConvertedAt)
		if r.facts.Customer.Counters != nil {
			r.facts.Customer.Counters = new(counters[r.sale.ID])
		}
		after, _, err := r.decide()
		if err != nil {
			return err
		}
		if err := w.write(ctx, u, commissions[r.sale.ID], before, after); err != nil {
			return err
		}
	}
	return nil
}

// bonus returns the id of the sale that counts as the person's first for the rules. It is the first sale, unless
// only the other customer's first sale was paid for already.
func (w *merging) bonus(commissions map[string]db.Commission) string {
	is := func(id string) bool { return commission.Settled(commissions[id]) }
	for _, s := range w.sales {
		if s.IsFirstSale && is(s.ID) && !is(w.first) {
			return s.ID
		}
	}
	return w.first
}

// ruleCommissions returns the rules' commissions by sale, and notes the corrected ones.
func (w *merging) ruleCommissions(
	ctx context.Context, u *work.Unit, sales []db.Sale,
) (map[string]db.Commission, error) {
	ids := make([]string, len(sales))
	for i, s := range sales {
		ids[i] = s.ID
	}
	of := db.SalesReferralCommissionsParams{SaleIds: ids, OrgID: u.OrgID}
	rows, err := queries.SalesReferralCommissions(ctx, u.DB(), of)
	if err != nil {
		return nil, err
	}
	out := map[string]db.Commission{}
	commissionIDs := make([]string, len(rows))
	for i, k := range rows {
		out[*k.SaleID], commissionIDs[i] = k, k.ID
	}
	fixed, err := queries.CommissionCorrections(ctx, u.DB(), db.CommissionCorrectionsParams{
		Ids: commissionIDs, OrgID: u.OrgID,
	})
	w.corrected = map[string]bool{}
	for _, id := range fixed {
		w.corrected[id] = true
	}
	return out, err
}

// count returns the merged customer's counters at each sale.
func (w *merging) count(currency string) map[string]rules.CustomerCounters {
	out, n := map[string]rules.CustomerCounters{}, rules.CustomerCounters{}
	for _, s := range w.sales {
		if s.RefundedAt != nil {
			continue
		}
		if n.SalesCount++; s.Currency == currency {
			n.TotalPaidMinor += s.AmountMinor
		}
		out[s.ID] = n
	}
	return out
}

// write changes the commission k of a sale, whose id is "" if there is none, from the decision before the merge
// to the decision after it. A commission that a person corrected stays, and so does a sale without a commission
// for another reason.
func (w *merging) write(ctx context.Context, u *work.Unit, k db.Commission, before, after *commission.Earning) error {
	switch {
	case same(before, after), k.ID != "" && !commission.Redecidable(k), w.corrected[k.ID]:
		return nil
	case k.ID == "" && before == nil:
		return w.earn(ctx, u, *after)
	case k.ID == "":
		return nil
	case after == nil:
		return w.void(ctx, u, k)
	}
	amount := after.Left()
	if amount == k.AmountMinor && equal(k.FlowID, &after.Choice.FlowID) {
		return nil
	}
	w.out.Commissions = append(w.out.Commissions, RedecidedCommission{
		SaleID: k.SaleID, CommissionID: &k.ID, Before: k.AmountMinor, After: amount, Currency: k.Currency,
	})
	if w.DryRun {
		return nil
	}
	return commission.Redecide(ctx, u, k, *after, "The customer was merged with another.")
}

// earn creates the commission of a sale that pays only after the merge.
func (w *merging) earn(ctx context.Context, u *work.Unit, e commission.Earning) error {
	one := RedecidedCommission{SaleID: e.SaleID, After: e.Left(), Currency: e.Currency}
	if !w.DryRun {
		var err error
		e.CustomerID = w.pair.Into.ID
		if one.CommissionID, err = e.Write(ctx, u); err != nil {
			return err
		}
		now := db.SaleSetEarnedParams{UpdatedAt: u.Now, ID: *e.SaleID, OrgID: u.OrgID}
		if err := queries.SaleSetEarned(ctx, u.Later(), now); err != nil {
			return err
		}
	}
	w.out.Commissions = append(w.out.Commissions, one)
	return nil
}

// same reports whether two decisions are equal.
func same(a, b *commission.Earning) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Amount == b.Amount && a.Currency == b.Currency && a.Rate == b.Rate && a.Choice.FlowID == b.Choice.FlowID &&
		equal(a.Choice.BranchID, b.Choice.BranchID)
}

// move gives the sales and their unpaid commissions to the surviving customer.
func (w *merging) move(ctx context.Context, u *work.Unit) error {
	into, from := w.pair.Into.ID, w.pair.From.ID
	ids := make([]string, len(w.sales))
	for i, s := range w.sales {
		ids[i] = s.ID
	}
	err := queries.SalesNotFirst(ctx, u.Later(), db.SalesNotFirstParams{
		UpdatedAt: u.Now, CustomerIds: []string{into, from}, OrgID: u.OrgID, First: w.first,
	})
	if err != nil {
		return err
	}
	err = queries.SalesMove(ctx, u.Later(), db.SalesMoveParams{ToID: into, UpdatedAt: u.Now, FromID: from, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	return queries.CommissionsOfCustomerMove(ctx, u.Later(), db.CommissionsOfCustomerMoveParams{
		ToID: &into, OrgID: u.OrgID, FromID: &from, SaleIds: ids, ProgramID: w.out.Customer.ProgramID,
	})
}
