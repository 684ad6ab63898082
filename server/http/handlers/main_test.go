package handlers_test

import (
	"flag"
	"testing"

	"rail/server/harness/pgtest"
)

// TestMain makes the property tests, whose steps are requests, few enough for
// the whole suite; -rapid.checks=1000 runs more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	pgtest.Main(m, everyOperationIsTested)
}
