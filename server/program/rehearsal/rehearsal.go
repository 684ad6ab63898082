// Package rehearsal tries a purchase by the rules of tracking, customers and sales, and rolls it back.
package rehearsal

import (
	"context"
	"errors"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/money/commission"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/program/tracking"
	"rail/server/work"
)

var queries = db.New()

// The steps of a purchase.
const (
	StepClick    = "click"
	StepCustomer = "customer"
	StepSale     = "sale"
)

// errRollback rolls back a rehearsal.
var errRollback = errors.New("rehearsed")

// Service has the rules of the steps.
type Service struct {
	Tracking  tracking.Service
	Customers customer.Service
	Sales     sale.Service
}

// Purchase is the payment of a new customer, who clicked on the partner's link with Value or used the coupon.
type Purchase struct {
	Value, CouponCode *string
	Email             *string
	Payment           sale.Payment
}

// Result has the steps of a purchase. A step after the refused one is nil.
type Result struct {
	Click       *db.Click
	Customer    *db.Customer
	Sale        *sale.Outcome
	Commissions []db.Commission
	Why         map[string]commission.Explanation // by the ids of commissions
	EventTypes  []string                          // in order
	Refused     *Refusal
}

// Refusal is the refused step, and the reason.
type Refusal struct {
	Step   string
	Reason *problem.Error
}

// validate requires exactly one way to a partner.
func (p Purchase) validate() error {
	if p.Value == nil && p.CouponCode == nil {
		return problem.On("value", problem.ParameterMissing, "One of value and coupon_code is required.")
	}
	return work.AtMostOne(work.Member{Name: "value", Value: p.Value},
		work.Member{Name: "coupon_code", Value: p.CouponCode})
}

// Rehearse records the purchase in a part of the unit's transaction, and rolls it back with its events and emails.
func (s Service) Rehearse(ctx context.Context, u *work.Unit, p Purchase) (out Result, err error) {
	if err := p.validate(); err != nil {
		return out, err
	}
	program, err := u.Program(ctx, p.Payment.ProgramID)
	if err != nil {
		return out, work.Found(err, "program_id")
	}
	s.Tracking.Writer = nil // it would record the click in another transaction
	err = u.Share(ctx, 1, func(_ int, u *work.Unit) error {
		out = Result{}
		step, err := s.take(ctx, u, program, p, &out)
		if out.Refused, err = refusalOf(step, err); err != nil {
			return err
		}
		out.EventTypes = u.Events.Types()
		return errRollback
	})[0]
	if errors.Is(err, errRollback) {
		err = nil
	}
	return out, err
}

// refusalOf returns the refusal of a step by a rule. A mistake of the request and a failure stay errors.
func refusalOf(step string, err error) (*Refusal, error) {
	p, ok := errors.AsType[*problem.Error](err)
	if !ok || p.Status() >= 500 || step == StepSale && p.Param != "" {
		return nil, err
	}
	return &Refusal{step, p}, nil
}

// take takes the steps, and returns the last step that it began.
func (s Service) take(ctx context.Context, u *work.Unit, program db.Program, p Purchase, out *Result) (string, error) {
	route := tracking.Route{CouponCode: p.CouponCode}
	if p.Value != nil {
		click, err := s.Tracking.Click(ctx, u, program.ID, *p.Value, visit(program, *p.Value))
		if err != nil {
			return StepClick, err
		}
		out.Click, route.ClickID = &click, &click.ID
	}
	buyer, err := s.Customers.Create(ctx, u, customer.Input{ProgramID: program.ID, Route: route, Email: p.Email})
	if err != nil {
		return StepCustomer, err
	}
	out.Customer = &buyer
	payment := p.Payment
	payment.ExternalChargeID, payment.Processor = ident.New(ident.Sale), "api"
	payment.Payer = sale.Payer{CustomerID: &buyer.ID}
	sold, err := s.Sales.Record(ctx, u, payment)
	if err != nil {
		return StepSale, err
	}
	out.Sale = &sold
	return StepSale, out.read(ctx, u)
}

// visit returns a new visitor of the program's website by a partner's link.
func visit(p db.Program, value string) tracking.Visit {
	return tracking.Visit{
		VisitorToken: ident.New(ident.Click),
		LandingURL:   tracking.Readable(tracking.URL(p.WebsiteURL, tracking.Param(p), value)),
	}
}

// read reads the customer as the sale left it, and the commissions with their explanations.
func (r *Result) read(ctx context.Context, u *work.Unit) (err error) {
	k, err := queries.CustomerGet(ctx, u.DB(), db.CustomerGetParams{ID: r.Customer.ID, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	r.Customer = &k
	r.Commissions, err = queries.RehearsalCommissions(ctx, u.DB(), db.RehearsalCommissionsParams{
		SaleID: opt.OrNil(r.Sale.Sale.ID), CustomerID: &k.ID, OrgID: u.OrgID,
	})
	if err != nil {
		return err
	}
	ids := make([]string, len(r.Commissions))
	for i, c := range r.Commissions {
		ids[i] = c.ID
	}
	r.Why, err = commission.Explain(ctx, u.DB(), u.OrgID, ids)
	return err
}
