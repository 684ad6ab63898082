package inbox

import (
	"context"
	"errors"
	"net/http"

	"rail/gen/db"
	"rail/server/problem"
	"rail/server/program/partner"
)

// enrol makes a customer a partner at the first payment, if the program wants it (decisions, 89). A customer
// that cannot become one, for example without an email, stays a customer; the payment is recorded nevertheless.
func (a *application) enrol(ctx context.Context, s db.Sale) error {
	if !a.enrols || !s.IsFirstSale || s.RefundedAt != nil {
		return nil
	}
	_, err := partner.EnrolCustomer(ctx, a.u, s.CustomerID)
	var refused *problem.Error
	if errors.As(err, &refused) && refused.Status() < http.StatusInternalServerError {
		return nil
	}
	return err
}
