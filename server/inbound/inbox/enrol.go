package inbox

import (
	"context"
	"errors"
	"net/http"

	"rail/gen/db"
	"rail/server/problem"
	"rail/server/program/partner"
)

// enrol makes a partner of a customer with its first payment, where the program asks
// for it (decisions, 89). Whoever cannot become one, as without an e-mail or with that
// of a partner, stays a customer; the payment is recorded all the same.
func (a *application) enrol(ctx context.Context, s db.Sale) error {
	if !s.IsFirstSale || s.RefundedAt != nil {
		return nil
	}
	p, err := a.u.Program(ctx, a.e.ProgramID)
	if err != nil || !p.AutoEnrolCustomers {
		return err
	}
	_, err = partner.EnrolCustomer(ctx, a.u, s.CustomerID)
	var refused *problem.Error
	if errors.As(err, &refused) && refused.Status() < http.StatusInternalServerError {
		return nil
	}
	return err
}
