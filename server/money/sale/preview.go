package sale

import (
	"context"
	"fmt"

	"rail/gen/api"
	"rail/gen/db"
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
	Explanation string // the decision as a sentence
}

// PreviewPayment decides on a payment as Record would now, and writes nothing. The payment is of the customer,
// or else the first one of a new customer of the partner. It takes no locks: another sale may be recorded in
// between.
func PreviewPayment(ctx context.Context, u *work.Unit, p Payment, customerID, partnerID *string) (Preview, error) {
	if err := work.AtMostOne(work.Member{Name: "customer_id", Value: customerID},
		work.Member{Name: "partner_id", Value: partnerID}); err != nil {
		return Preview{}, err
	}
	if customerID == nil && partnerID == nil {
		return Preview{}, problem.On("customer_id", problem.ParameterMissing, "One of customer_id and partner_id is required.")
	}
	c, err := p.validate(u.Now)
	if err != nil {
		return Preview{}, err
	}
	r := recording{charge: c}
	r.CustomerID = opt.Value(customerID)
	if err := r.readPreview(ctx, u, partnerID); err != nil {
		return Preview{}, err
	}
	if r.counts() {
		if err := r.readCounters(ctx, u); err != nil {
			return Preview{}, err
		}
	}
	out := Preview{PartnerID: r.who.Customer.PartnerID, Currency: r.Currency}
	if out.Earned, out.Warning, err = r.decide(""); err != nil {
		return Preview{}, err
	}
	out.Explanation, err = r.explain(ctx, u, out)
	return out, err
}

// readPreview reads the same as read, without its locks.
func (r *recording) readPreview(ctx context.Context, u *work.Unit, partnerID *string) error {
	asked := db.FlowsAskedParams{
		CustomerID: &r.CustomerID, PartnerID: partnerID, OrgID: u.OrgID, Trigger: rules.NewPayment,
	}
	var stored []db.FlowsAskedRow
	err := u.InProgram(ctx, r.ProgramID,
		func(tx pgtx.DBTX) error { return r.readPayer(ctx, u, tx, partnerID) },
		func(tx pgtx.DBTX) (err error) {
			r.history, err = queries.SaleHistory(ctx, tx, db.SaleHistoryParams{
				ProgramID: r.ProgramID, OrgID: u.OrgID, CustomerID: r.CustomerID,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			stored, err = queries.FlowsAsked(ctx, tx, asked)
			return err
		})
	param := "customer_id"
	if partnerID != nil {
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
	r.known, r.facts = true, r.toFacts()
	r.flows, err = commission.LoadFlows(ctx, u, asked, stored, &r.facts)
	return err
}

// readPayer reads the payer: the customer, or a new one of the partner.
func (r *recording) readPayer(ctx context.Context, u *work.Unit, tx pgtx.DBTX, partnerID *string) (err error) {
	if partnerID == nil {
		r.who, err = queries.SaleCustomer(ctx, tx, db.SaleCustomerParams{CustomerID: r.CustomerID, OrgID: u.OrgID})
		return err
	}
	p, err := queries.SaleNewcomer(ctx, tx, db.SaleNewcomerParams{PartnerID: *partnerID, OrgID: u.OrgID})
	r.who = db.SaleCustomerRow{
		Customer: db.Customer{
			PartnerID: partnerID, Status: db.CustomerStatusLead, TrackedBy: db.TrackedByLink, LeadAt: r.OccurredAt,
		},
		ProgramID: p.ProgramID, ProgramCurrency: p.ProgramCurrency, CommissionOnNetRevenue: p.CommissionOnNetRevenue,
		CommissionNetOfFee: p.CommissionNetOfFee, HoldingPeriodDays: p.HoldingPeriodDays, PartnerStatus: p.PartnerStatus,
		PartnerGroupID: p.PartnerGroupID, PartnerCountry: p.PartnerCountry, TagIds: p.TagIds,
	}
	return err
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
