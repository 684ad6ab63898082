package pages

import (
	"context"
	"fmt"
	"net/http"
	"strings"
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

// A Check is one of the things that whoever asks in detail is told of. Problem is what is wrong with it, or "".
type Check struct{ Name, Problem string }

// Checks are what a server looks at, in the order in which they are told.
type Checks func(ctx context.Context) []Check

// verbose answers with a line for each check, as Kubernetes does. The status is that of the answer without them:
// what is wrong with a job is no reason to send requests elsewhere (decisions, 276).
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

// readyz reports whether requests can be answered, so that a balancer sends them
// elsewhere while they cannot.
func (r Ready) readyz(c echo.Context, checks Checks) error {
	// others may wait for the same answer
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

// probe answers with a condition that no cache may keep.
func probe(c echo.Context, status int, body condition) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(status, body)
}
