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
	answer := fmt.Sprintf("The receiver answered %d.", *code)
	switch {
	case *code == http.StatusUnauthorized || *code == http.StatusForbidden:
		return answer + " It likely refuses the signature: compare its secret with that of the endpoint, and verify the " +
			"raw body."
	case *code == http.StatusNotFound || *code == http.StatusMethodNotAllowed:
		return answer + " The address has no receiver of POST requests: correct the endpoint's url."
	case *code == http.StatusGone:
		return answer + " The receiver wants no more events."
	case *code >= 300 && *code < 400:
		return answer + " Redirects are not followed: use the address to which it redirects."
	case *code == http.StatusTooManyRequests:
		return answer + " It gets more events than it takes; the next attempt comes later."
	case *code >= 500:
		return answer + " The receiver failed: look into its log at the time of the attempt."
	case *code == http.StatusBadRequest || *code == http.StatusUnprocessableEntity:
		return answer + " It refuses the body: it should accept unknown events and members."
	}
	return answer + " Only an answer from 200 to 299 counts as delivered."
}
