package railtest_test

import (
	"testing"

	"rail/server/money/payout"
	"rail/server/money/payout/railtest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	railtest.Conform(t, railtest.New(), payout.Transfer{ID: "payout_1", AmountMinor: 100, Currency: "EUR", Method: "wise"})
}
