package payout_test

import (
	"testing"

	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// M is a JSON object.
type M = apitest.M

// earner adds the steps of this package's stories to apitest.Earner.
type earner struct{ apitest.Earner }

func newEarner(t *testing.T, more ...M) earner {
	t.Helper()
	return earner{apitest.NewEarner(t, more...)}
}
