package pages

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// probeTimeout is shorter than the timeout of common monitors.
const probeTimeout = 2 * time.Second

// Ready returns nil if the server can answer requests now, and otherwise the reason.
type Ready func(ctx context.Context) error

// condition is the body of a probe's response.
type condition struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// healthz answers 200 while the process runs. It does not check the database, because a
// restart of the server does not repair the database.
func healthz(c echo.Context) error {
	return probe(c, http.StatusOK, condition{Status: "ok"})
}

// A Check is one line of /readyz?verbose. Problem is "" if the check passed.
type Check struct{ Name, Problem string }

// Checks runs the server's checks and returns them in the order of the response.
type Checks func(ctx context.Context) []Check

// verbose answers with a line for each check, in the format of Kubernetes. The checks do not change the status,
// because a failed job is no reason to send requests to another server (decisions, 276).
func (r Ready) verbose(ctx context.Context, c echo.Context, checks Checks) error {
	var lines strings.Builder
	for _, check := range checks(ctx) {
		if check.Problem == "" {
			fmt.Fprintf(&lines, "[+]%s ok\n", check.Name)
		} else {
			fmt.Fprintf(&lines, "[-]%s failed: %s\n", check.Name, check.Problem)
		}
	}
	status, outcome := http.StatusOK, "passed"
	if r(ctx) != nil {
		status, outcome = http.StatusServiceUnavailable, "failed"
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.String(status, lines.String()+"readyz check "+outcome+"\n")
}

// readyz reports whether the server can answer requests. While it cannot, a load
// balancer sends them to another server.
func (r Ready) readyz(c echo.Context, checks Checks) error {
	// Other requests may wait for the same check, so it outlives this request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), probeTimeout)
	defer cancel()
	if c.QueryParams().Has("verbose") {
		return r.verbose(ctx, c, checks)
	}
	if err := r(ctx); err != nil {
		return probe(c, http.StatusServiceUnavailable, condition{Status: "unavailable", Reason: err.Error()})
	}
	return probe(c, http.StatusOK, condition{Status: "ok"})
}

// probe answers with a condition. Caches must not store it.
func probe(c echo.Context, status int, body condition) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(status, body)
}
