package sale

import (
	"context"
	"slices"

	"rail/gen/db"
	"rail/server/money/commission"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/work"
)

// maxMerged is how many sales two customers can have that become one.
const maxMerged = 1000

// Merge merges the customer FromID into IntoID (decisions, 304). PartnerID names the
// partner that stays, where they have different ones.
type Merge struct {
	IntoID, FromID string
	PartnerID      *string
	DryRun         bool
}

// Redecided is an unpaid commission that a merge changes. Its amounts are minor units; the
// ids are nil where there is none.
type Redecided struct {
	SaleID, CommissionID *string
	Before, After        int64
	Currency             string
}

// Merger is what came of a merge, or would.
type Merger struct {
	Customer    db.Customer
	FromID      string
	IDs         []db.CustomerExternalID
	Sales       int // that move
	Commissions []Redecided
}

// Merge carries a merge out, or says what it would do. Unpaid commissions outside payouts
// are decided again where the first sale, the conversion or the counters of the customer
// make the rules decide otherwise; everything else about them is taken as it was.
func (s Service) Merge(ctx context.Context, u *work.Unit, m Merge) (Merger, error) {
	pair, err := customer.LockPair(ctx, u, m.IntoID, m.FromID)
	if err != nil {
		return Merger{}, err
	}
	out := Merger{FromID: pair.From.ID, Commissions: []Redecided{}}
	if err := m.checkPartner(ctx, u, pair.Into.ProgramID); err != nil {
		return out, err
	}
	if out.Customer, err = pair.Merged(m.PartnerID); err != nil {
		return out, err
	}
	both := []string{pair.Into.ID, pair.From.ID}
	out.IDs, err = queries.ExternalIDs(ctx, u.DB(), db.ExternalIDsParams{CustomerIds: both, OrgID: u.OrgID})
	if err != nil {
		return out, err
	}
	if len(out.IDs) > customer.MaxExternalIDs {
		return out, problem.New(problem.CustomerExternalIDLimit, "The customers have more than %d external ids together.",
			customer.MaxExternalIDs)
	}
	slices.SortStableFunc(out.IDs, func(a, b db.CustomerExternalID) int { return a.CreatedAt.Compare(b.CreatedAt.Time) })
	sales, err := queries.SalesOfCustomers(ctx, u.DB(), db.SalesOfCustomersParams{
		CustomerIds: both, OrgID: u.OrgID, Lim: maxMerged + 1,
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

// checkPartner refuses a partner that is not of the program.
func (m Merge) checkPartner(ctx context.Context, u *work.Unit, programID string) error {
	if m.PartnerID == nil {
		return nil
	}
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: *m.PartnerID, OrgID: u.OrgID})
	if err != nil {
		return work.Found(err, "partner_id")
	}
	return work.SameProgram(p.ProgramID, programID, "partner_id")
}

// merging is a merge at work.
type merging struct {
	Merge
	pair  customer.Pair
	sales []db.Sale // of both, the oldest first
	first string    // the sale that stays the first; "" without sales
	out   *Merger
}

// run decides and writes. Locks come in the order of every write of money.
func (w *merging) run(ctx context.Context, u *work.Unit, s Service) error {
	for _, one := range w.sales {
		if one.CustomerID == w.pair.From.ID {
			w.out.Sales++
		}
		if one.IsFirstSale && w.first == "" { // the oldest of the two
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
	k, err := s.Customers.Join(ctx, u, w.pair, w.out.Customer)
	w.out.Customer = k
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

// signups leaves one sign-up commission: one person signs up once. What is paid stays, so an
// open one goes; of two open ones that of the merged customer.
func (w *merging) signups(ctx context.Context, u *work.Unit) error {
	var of [2][]db.Commission
	for i, k := range []db.Customer{w.pair.Into, w.pair.From} {
		rows, err := queries.CustomerSignupCommissions(ctx, u.DB(), db.CustomerSignupCommissionsParams{
			CustomerID: &k.ID, ProgramID: k.ProgramID, OrgID: u.OrgID,
		})
		if err != nil {
			return err
		}
		of[i] = slices.DeleteFunc(rows, func(k db.Commission) bool {
			return k.Status != db.CommissionStatusPaid && !commission.Redecidable(k)
		})
	}
	if len(of[0]) == 0 || len(of[1]) == 0 {
		return nil
	}
	for _, k := range append(of[1], of[0]...) {
		if k.Status != db.CommissionStatusPaid {
			return w.void(ctx, u, k)
		}
	}
	return nil
}

// voidReason is the reason of what a merge takes back.
const voidReason = "customer_merged"

func (w *merging) void(ctx context.Context, u *work.Unit, k db.Commission) error {
	w.out.Commissions = append(w.out.Commissions, Redecided{
		SaleID: k.SaleID, CommissionID: &k.ID, Before: k.AmountMinor, Currency: k.Currency,
	})
	if w.DryRun {
		return nil
	}
	return commission.Void(ctx, u, k, voidReason)
}

// redecide compares the decision on each sale with the one that it gets as a sale of the
// merged customer, and writes those that differ.
func (w *merging) redecide(ctx context.Context, u *work.Unit) error {
	p, err := u.Program(ctx, w.out.Customer.ProgramID)
	if err != nil || len(w.sales) == 0 {
		return err
	}
	past, err := newPast(ctx, u, p)
	if err != nil {
		return err
	}
	standing := slices.DeleteFunc(slices.Clone(w.sales), func(s db.Sale) bool { return s.RefundedAt != nil })
	recordings, err := past.recordings(ctx, standing, nil)
	if err != nil {
		return err
	}
	made, err := w.made(ctx, u, standing)
	if err != nil {
		return err
	}
	counters := w.count(p.Currency)
	for _, r := range recordings {
		before, _, err := r.decide(r.sale.ID)
		if err != nil {
			return err
		}
		r.facts.Sale.IsFirstSale = r.sale.ID == w.first
		r.facts.Customer.ConvertedAt = opt.Or(w.out.Customer.ConvertedAt, r.facts.Customer.ConvertedAt)
		if r.facts.Customer.Counters != nil {
			r.facts.Customer.Counters = new(counters[r.sale.ID])
		}
		after, _, err := r.decide(r.sale.ID)
		if err != nil {
			return err
		}
		if err := w.write(ctx, u, made[r.sale.ID], before, after); err != nil {
			return err
		}
	}
	return nil
}

// made returns the commissions that rules made of sales, by sale.
func (w *merging) made(ctx context.Context, u *work.Unit, sales []db.Sale) (map[string]db.Commission, error) {
	ids := make([]string, len(sales))
	for i, s := range sales {
		ids[i] = s.ID
	}
	of := db.SalesReferralCommissionsParams{SaleIds: ids, OrgID: u.OrgID}
	rows, err := queries.SalesReferralCommissions(ctx, u.DB(), of)
	out := map[string]db.Commission{}
	for _, k := range rows {
		out[*k.SaleID] = k
	}
	return out, err
}

// count returns, by sale, the counters of the merged customer as of it.
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

// write changes the commission k of a sale, which has no id where there is none, from what
// the rules decided before the merge to what they decide after it. A commission that is not
// what they decided before was set otherwise, and stays.
func (w *merging) write(ctx context.Context, u *work.Unit, k db.Commission, before, after *commission.Earned) error {
	switch {
	case same(before, after), k.ID != "" && !commission.Redecidable(k):
		return nil
	case k.ID == "" && before == nil:
		return w.earn(ctx, u, *after)
	case k.ID == "" || before == nil || k.AmountMinor != before.Amount || opt.Value(k.FlowID) != before.Choice.FlowID:
		return nil
	case after == nil:
		return w.void(ctx, u, k)
	}
	w.out.Commissions = append(w.out.Commissions, Redecided{
		SaleID: k.SaleID, CommissionID: &k.ID, Before: k.AmountMinor, After: after.Amount, Currency: k.Currency,
	})
	if w.DryRun {
		return nil
	}
	return commission.Redecide(ctx, u, k, *after, "The customer was merged with another.")
}

// earn makes the commission of a sale that pays only since the merge.
func (w *merging) earn(ctx context.Context, u *work.Unit, e commission.Earned) error {
	one := Redecided{SaleID: e.SaleID, After: e.Amount, Currency: e.Currency}
	if !w.DryRun {
		var err error
		e.CustomerID = w.pair.Into.ID
		if one.CommissionID, err = e.Write(ctx, u); err != nil {
			return err
		}
	}
	w.out.Commissions = append(w.out.Commissions, one)
	return nil
}

// same reports whether two decisions are one.
func same(a, b *commission.Earned) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Amount == b.Amount && a.Currency == b.Currency && a.Rate == b.Rate && a.Choice.FlowID == b.Choice.FlowID &&
		equal(a.Choice.BranchID, b.Choice.BranchID)
}

// move gives the sales, and what was earned of them, to the customer that stays.
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
