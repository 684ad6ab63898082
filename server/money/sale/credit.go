package sale

import (
	"context"
	"encoding/json"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/report"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// maxCredited bounds the sales of one credit.
const maxCredited = 500

// Credit assigns a partner to a customer without one, and lets the rules pay for the customer's sales since a
// given time that have no partner (decisions, 305).
type Credit struct {
	CustomerID, PartnerID string
	Since                 clock.Time
	DryRun                bool
	moves                 bool // a dry run, and the customer has no partner yet
}

// CreditedSale is a sale with the commission that a credit creates for it. Without a commission, CommissionID is
// nil and Reason gives the reason.
type CreditedSale struct {
	Sale         db.Sale
	CommissionID *string
	AmountMinor  int64
	Currency     string
	Reason       string
}

// Credits is the result of a credit. AmountMinor is the sum of the commissions in the
// program's Currency.
type Credits struct {
	CustomerID, PartnerID string
	Sales                 []CreditedSale
	AmountMinor           int64
	Currency              string
}

// Credit performs a credit. A dry run returns the same result and changes nothing.
func (s Service) Credit(ctx context.Context, u *work.Unit, c Credit) (Credits, error) {
	k, p, err := s.Customers.GivePartner(ctx, u, c)
	if err != nil {
		return Credits{}, err
	}
	out := Credits{CustomerID: k.ID, PartnerID: c.PartnerID, Sales: []CreditedSale{}, Currency: p.Currency}
	c.moves = k.PartnerID == nil
	lock := db.PartnersLockParams{Ids: []string{c.PartnerID}, OrgID: u.OrgID}
	if err := queries.PartnersLock(ctx, u.DB(), lock); err != nil {
		return out, err
	}
	return out, c.pay(ctx, u, p, k, &out)
}

// pay decides on the customer's sales without a partner and writes what they pay.
func (c Credit) pay(ctx context.Context, u *work.Unit, p db.Program, k db.Customer, out *Credits) error {
	sales, err := queries.SalesWithoutPartner(ctx, u.DB(), db.SalesWithoutPartnerParams{
		CustomerID: k.ID, OrgID: u.OrgID, Since: c.Since, Lim: maxCredited + 1,
	})
	if err != nil {
		return err
	}
	if len(sales) > maxCredited {
		return problem.On("since", problem.CreditLimit,
			"More than %d sales have no partner since then; choose a later time.", maxCredited)
	}
	past, err := newDecider(ctx, u, p)
	if err != nil {
		return err
	}
	recordings, err := past.recordings(ctx, sales, &c.PartnerID)
	if err != nil {
		return err
	}
	if n := past.partners[c.PartnerID]; n != nil && c.moves {
		n.LeadsCount++
		if k.ConvertedAt != nil {
			n.CustomersCount++
		}
	}
	for _, r := range recordings {
		if c.moves {
			r.setManual()
		}
		one, err := c.payOne(ctx, u, r)
		if err != nil {
			return err
		}
		if out.Sales = append(out.Sales, one); one.Currency == p.Currency {
			out.AmountMinor += one.AmountMinor
		}
	}
	if c.DryRun || len(sales) == 0 {
		return nil
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ID, Action: "customer.credited", TargetID: k.ID,
		After: map[string]any{"partner_id": c.PartnerID, "since": c.Since, "sales": len(sales)},
	})
}

// payOne decides on one sale. A refunded sale stays without a partner.
func (c Credit) payOne(ctx context.Context, u *work.Unit, r pastSale) (CreditedSale, error) {
	s := r.sale
	one := CreditedSale{Sale: s, Currency: s.Currency}
	if s.RefundedAt != nil {
		one.Reason = "The sale is refunded."
		return one, nil
	}
	r.countSale()
	earned, warning, err := r.decide()
	if err != nil {
		return one, err
	}
	outcome, warnings := db.SaleOutcomeCommissionCreated, []api.SaleWarning{}
	if warning != nil {
		one.Reason, outcome = warning.Message, db.SaleOutcomeSaleRecorded
		warnings = append(warnings, *warning)
	} else {
		one.AmountMinor, one.Currency = earned.Left(), earned.Currency
		r.countCommission(one.AmountMinor, one.Currency)
	}
	if c.DryRun {
		return one, nil
	}
	text, err := json.Marshal(warnings)
	if err != nil {
		return one, err
	}
	err = queries.SaleSetPartner(ctx, u.Later(), db.SaleSetPartnerParams{
		PartnerID: c.PartnerID, ActivityOutcome: outcome, Warnings: text, UpdatedAt: u.Now, ID: s.ID, OrgID: u.OrgID,
	})
	if err != nil {
		return one, err
	}
	if err := report.Touch(ctx, u, s.ProgramID, s.OccurredAt); err != nil || earned == nil {
		return one, err
	}
	one.CommissionID, err = earned.Write(ctx, u)
	return one, err
}
