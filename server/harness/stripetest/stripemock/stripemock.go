// Package stripemock is Stripe as its own public description has it, for tests of what
// Rail asks of it.
package stripemock

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"
)

// New returns the address of stripe-mock, on loopback: it takes what Stripe's own
// description allows, and answers with that one's examples. It takes keys of test mode.
func New(t testing.TB) string {
	t.Helper()
	spec, err := server.LoadSpec(embedded.OpenAPISpec, "")
	if err != nil {
		t.Fatal(err)
	}
	fixtures, err := server.LoadFixtures(embedded.OpenAPIFixtures, "")
	if err != nil {
		t.Fatal(err)
	}
	stub, err := server.NewStubServer(fixtures, spec, false, false)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(stub.HandleRequest))
	t.Cleanup(s.Close)
	return s.URL
}
