package queryplan_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/dataset"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) {
	if share() == 1 {
		pgtest.OnDisk()
	}
	pgtest.Main(m)
}

// share returns the divisor of the numbers of rows: the test runs on a tenth, and with
// RAIL_TEST_FULL=1 on a million sales, commissions and clicks.
func share() int {
	if os.Getenv("RAIL_TEST_FULL") == "1" {
		return 1
	}
	return 10
}

// load fills the database at dsn. The first program has a third of the partners, the
// first partner 7 % of the customers.
func load(t testing.TB, dsn string) {
	size := dataset.Size{
		Partners: 50_000, Customers: 200_000, Referrals: 200_000, Clicks: 1_000_000, Sales: 1_000_000,
	}.Times(1 / float64(share()))
	require.NoError(t, dataset.Fill(t.Context(), dsn, dataset.Options{
		Size: size, Until: at(0), Org: "org_0", Other: "org_1",
	}))
}
