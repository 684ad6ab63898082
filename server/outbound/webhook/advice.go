package webhook

import (
	"fmt"
	"net/http"
)

// Advice explains the last attempt of a delivery that did not arrive, with advice. Both arguments are as the
// API shows them.
func Advice(code *int64, reason *string) string {
	if code == nil {
		if reason == nil {
			return "There was no attempt yet."
		}
		return *reason + " Check that the address answers from the internet within 10 seconds."
	}
	said := fmt.Sprintf("The receiver answered %d.", *code)
	switch {
	case *code == http.StatusUnauthorized || *code == http.StatusForbidden:
		return said + " It likely refuses the signature: compare its secret with that of the endpoint, and verify the " +
			"raw body."
	case *code == http.StatusNotFound || *code == http.StatusMethodNotAllowed:
		return said + " The address has no receiver of POST requests: correct the endpoint's url."
	case *code == http.StatusGone:
		return said + " The receiver wants no more events."
	case *code >= 300 && *code < 400:
		return said + " Redirects are not followed: use the address to which it redirects."
	case *code == http.StatusTooManyRequests:
		return said + " It gets more events than it takes; the next attempt comes later."
	case *code >= 500:
		return said + " The receiver failed: look into its log at the time of the attempt."
	case *code == http.StatusBadRequest || *code == http.StatusUnprocessableEntity:
		return said + " It refuses the body: it should accept unknown events and members."
	}
	return said + " Only an answer from 200 to 299 counts as delivered."
}
