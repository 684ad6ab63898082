package handlers_test

import (
	"flag"
	"testing"

	"rail/server/harness/pgtest"
)

// TestMain limits the property tests, whose steps are requests, so that the whole suite stays fast.
// -rapid.checks=1000 runs more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	pgtest.Main(m)
}
