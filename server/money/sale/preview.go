package sale

import (
	"context"
	"fmt"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/commission"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// Preview is the expected commission of a payment. Earned is nil if it pays nothing, and Warning gives the
// reason.
type Preview struct {
	PartnerID   *string
	Currency    string // of the payment
	Earned      *commission.Earning
	Warning     *api.SaleWarning
	Decides     *rules.Choice // the flow that decides, also if it pays nothing; nil if none matches
	Explanation string        // the decision as a sentence
}

// Buyer is the customer of a previewed payment: a stored one, or a new one of a partner. Number is which payment of the
// new customer it is, and Months the whole months since the first one; nil for the defaults.
type Buyer struct {
	CustomerID, PartnerID *string
	Number, Months        *int64
}

// validate refuses contradictory buyers.
func (p Buyer) validate() error {
	err := work.AtMostOne(work.Member{Name: "customer_id", Value: p.CustomerID},
		work.Member{Name: "partner_id", Value: p.PartnerID})
	switch {
	case err != nil:
		return err
	case p.CustomerID == nil && p.PartnerID == nil:
		return problem.On("customer_id", problem.ParameterMissing, "One of customer_id and partner_id is required.")
	case p.CustomerID != nil && p.Number != nil:
		return problem.On("payment_number", problem.ParametersExclusive, "payment_number and customer_id exclude each other.")
	case p.CustomerID != nil && p.Months != nil:
		return problem.On("customer_months", problem.ParametersExclusive, "customer_months and customer_id exclude each other.")
	case p.Months != nil && *p.Months > 0 && p.Number != nil && *p.Number == 1:
		return problem.Invalid("customer_months", "customer_months must be 0 for the first payment.")
	}
	return nil
}

// number returns which payment of the customer it is.
func (p Buyer) number() int64 {
	switch {
	case p.Number != nil:
		return *p.Number
	case opt.Value(p.Months) > 0:
		return 2
	}
	return 1
}

// PreviewPayment decides on a payment as Record would now, and writes nothing. It takes no locks: another sale may be
// recorded in between.
func PreviewPayment(ctx context.Context, u *work.Unit, p Payment, by Buyer) (Preview, error) {
	if err := by.validate(); err != nil {
		return Preview{}, err
	}
	c, err := p.validate(u.Now)
	if err != nil {
		return Preview{}, err
	}
	if by.CustomerID, err = u.Customer(ctx, p.ProgramID, by.CustomerID, nil); err != nil {
		return Preview{}, err
	}
	r := recording{charge: c}
	r.CustomerID = opt.Value(by.CustomerID)
	if err := r.readPreview(ctx, u, by); err != nil {
		return Preview{}, err
	}
	if r.counts() {
		if err := r.readCounters(ctx, u); err != nil {
			return Preview{}, err
		}
		r.addEarlier(by)
	}
	out := Preview{PartnerID: r.who.Customer.PartnerID, Currency: r.Currency}
	if out.Earned, out.Warning, err = r.decide(""); err != nil {
		return Preview{}, err
	}
	if choice, ok := rules.Choose(r.flows, &r.facts); ok && r.earns() {
		out.Decides = &choice
	}
	out.Explanation, err = r.explain(ctx, u, out)
	return out, err
}

// addEarlier counts the earlier payments of a new customer, which are of the same amount, and its conversion.
func (r *recording) addEarlier(by Buyer) {
	earlier := by.number() - 1
	c, p := r.facts.Customer.Counters, r.facts.Partner.Counters
	if by.PartnerID == nil || earlier == 0 || c == nil || p == nil {
		return
	}
	c.SalesCount += earlier
	p.CustomersCount++
	p.SalesCount += earlier
	if r.Currency == r.who.ProgramCurrency {
		c.TotalPaidMinor += earlier * r.AmountMinor
		p.RevenueMinor += earlier * r.AmountMinor
	}
}

// readPreview reads the same as read, without its locks.
func (r *recording) readPreview(ctx context.Context, u *work.Unit, by Buyer) error {
	params := db.FlowsForPartnerParams{
		CustomerID: &r.CustomerID, PartnerID: by.PartnerID, OrgID: u.OrgID, Trigger: rules.NewPayment,
	}
	var stored []db.FlowsForPartnerRow
	err := u.InProgram(ctx, r.ProgramID,
		func(tx pgtx.DBTX) error { return r.readPayer(ctx, u, tx, by) },
		func(tx pgtx.DBTX) (err error) {
			r.history, err = queries.SaleHistory(ctx, tx, db.SaleHistoryParams{
				ProgramID: r.ProgramID, OrgID: u.OrgID, CustomerID: r.CustomerID,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			stored, err = queries.FlowsForPartner(ctx, tx, params)
			return err
		})
	param := "customer_id"
	if by.PartnerID != nil {
		param = "partner_id"
	}
	switch {
	case err != nil:
		return err
	case r.who.ProgramID == "":
		return problem.NotFound(param)
	case r.who.ProgramID != r.ProgramID:
		return problem.On(param, problem.InvalidReference, "%s belongs to another program.", param)
	}
	if by.number() > 1 {
		r.history.HasSales = true
	}
	r.customerExists, r.facts = true, r.toFacts()
	r.flows, err = commission.LoadFlows(ctx, u, params, stored, &r.facts)
	return err
}

// readPayer reads the payer: the customer, or a new one of the partner.
func (r *recording) readPayer(ctx context.Context, u *work.Unit, tx pgtx.DBTX, by Buyer) (err error) {
	if by.PartnerID == nil {
		r.who, err = queries.SaleCustomer(ctx, tx, db.SaleCustomerParams{CustomerID: r.CustomerID, OrgID: u.OrgID})
		return err
	}
	p, err := queries.SaleNewCustomer(ctx, tx, db.SaleNewCustomerParams{PartnerID: *by.PartnerID, OrgID: u.OrgID})
	r.who = db.SaleCustomerRow{
		Customer: db.Customer{
			PartnerID: by.PartnerID, Status: db.CustomerStatusLead, TrackedBy: db.TrackedByLink, LeadAt: r.OccurredAt,
		},
		ProgramID: p.ProgramID, ProgramCurrency: p.ProgramCurrency, CommissionOnNetRevenue: p.CommissionOnNetRevenue,
		CommissionNetOfFee: p.CommissionNetOfFee, HoldingPeriodDays: p.HoldingPeriodDays, PartnerStatus: p.PartnerStatus,
		PartnerGroupID: p.PartnerGroupID, PartnerCountry: p.PartnerCountry, TagIds: p.TagIds,
	}
	if by.number() > 1 {
		first := monthsBefore(r.OccurredAt, opt.Value(by.Months))
		r.who.Customer.ConvertedAt, r.who.Customer.LeadAt = &first, first
	}
	return err
}

// monthsBefore returns the latest moment that is whole months before another.
func monthsBefore(t clock.Time, months int64) clock.Time {
	out := t.AddDate(0, -int(months), 0)
	if out.Day() != t.Day() { // a shorter month, whose last day it is then
		out = out.AddDate(0, 0, -out.Day())
	}
	return clock.At(out)
}

// explain explains the decision with its flow and branch.
func (r *recording) explain(ctx context.Context, u *work.Unit, p Preview) (string, error) {
	sale := "A sale of " + commission.Money(r.AmountMinor, r.Currency) + " would pay "
	if p.Earned == nil {
		return sale + "nothing. " + p.Warning.Message, nil
	}
	e := p.Earned
	flow, err := queries.FlowGet(ctx, u.DB(), db.FlowGetParams{ID: e.Choice.FlowID, OrgID: u.OrgID})
	if err = work.Found(err, ""); err != nil {
		return "", err
	}
	by, err := commission.By(flow.Name, flow.Branches, e.Choice.BranchID)
	if err != nil {
		return "", err
	}
	if r.who.RateOverride != nil {
		by = "the rate of the customer's link, which replaces that of " + by
	}
	how := commission.Words(e.Rate, *e.Base, r.Currency)
	return fmt.Sprintf("%s%s: %s, by %s.", sale, commission.Money(e.Amount, e.Currency), how, by), nil
}
