package handlers_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"rail/server/harness/apitest"
)

// everyOperationIsTested runs after the package's tests. Each operation of the description must
// have answered with a 2xx at least once. The check is skipped when only some tests run.
func everyOperationIsTested() error {
	for _, part := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if flag.Lookup(part).Value.String() != "" {
			return nil
		}
	}
	var missing []string
	seen := apitest.SeenOperations()
	for _, op := range operations() {
		if !slices.Contains(seen, op.id) {
			missing = append(missing, op.id)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("FAIL: no test of this package saw these operations succeed: %s", strings.Join(missing, ", "))
	}
	return nil
}
