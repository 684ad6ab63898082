package hooks

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"rail/server/money/payout/rails"
	"rail/server/problem"
)

// PayPalPath is the address for PayPal's notifications about payouts.
const PayPalPath = "/hooks/paypal/:rail_id"

// PayPal serves PayPal's notifications.
type PayPal struct {
	Limits Limits
	Notify func(ctx context.Context, railID string, header http.Header, body []byte) error
}

// Receive verifies a notification. A request is charged to its address until it is verified, and then only to its
// rail, because PayPal sends from few addresses.
func (h PayPal) Receive(c echo.Context) error {
	if err := h.Limits.Charge(c); err != nil {
		return err
	}
	r := c.Request()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), timeout)
	defer cancel()
	body, err := io.ReadAll(io.LimitReader(r.Body, rails.MaxNotification+1))
	switch {
	case err != nil:
		return problem.New(problem.InvalidJSON, "The body could not be read to its end.")
	case len(body) > rails.MaxNotification:
		return problem.New(problem.PayloadTooLarge, "The body is larger than %d bytes.", rails.MaxNotification)
	}
	err = h.Notify(ctx, c.Param("rail_id"), r.Header, body)
	refused := &problem.Error{}
	switch {
	case errors.Is(err, rails.ErrUnverified):
		return forged(c, err)
	case errors.As(err, &refused):
		return err
	case err != nil: // the certificate or the database could not be read; PayPal repeats the notification
		return busy("The notification cannot be verified now. Try again.")
	}
	h.Limits.GiveBack(c)
	if err := h.Limits.ChargeTo("hook "+c.Param("rail_id"), perConnection); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]bool{"received": true})
}
