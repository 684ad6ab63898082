package pages

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// probeTimeout lets a probe answer before the prober gives up.
const probeTimeout = 2 * time.Second

// Ready tells why requests cannot be answered now; nil means that they can.
type Ready func(ctx context.Context) error

type condition struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// healthz says that the process answers; it asks nobody.
func healthz(c echo.Context) error {
	return probe(c, http.StatusOK, condition{Status: "ok"})
}

// readyz says whether requests can be answered, so that a balancer sends them
// elsewhere while they cannot.
func (r Ready) readyz(c echo.Context) error {
	// others may wait for the same answer
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), probeTimeout)
	defer cancel()
	if err := r(ctx); err != nil {
		return probe(c, http.StatusServiceUnavailable, condition{Status: "unavailable", Reason: err.Error()})
	}
	return probe(c, http.StatusOK, condition{Status: "ok"})
}

func probe(c echo.Context, status int, body condition) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(status, body)
}
