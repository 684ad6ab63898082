package pages

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// probeTimeout lets a probe answer before the prober gives up.
const probeTimeout = 2 * time.Second

// Ready returns why requests cannot be answered now, or nil.
type Ready func(ctx context.Context) error

// condition is the body of a probe's answer.
type condition struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// healthz answers 200 while the process runs. It does not ask the database:
// restarting the server would not bring that back.
func healthz(c echo.Context) error {
	return probe(c, http.StatusOK, condition{Status: "ok"})
}

// readyz reports whether requests can be answered, so that a balancer sends them
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

// probe answers with a condition that no cache may keep.
func probe(c echo.Context, status int, body condition) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(status, body)
}
