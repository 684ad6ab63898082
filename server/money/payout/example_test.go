package payout_test

import (
	"context"
	"fmt"

	"rail/server/money/payout"
)

// bank is a payment rail over a bank's API, kept in memory in this example.
type bank struct{ transfers map[string]payout.State }

func (bank) Name() string      { return "bank" }
func (bank) Methods() []string { return []string{"bank_transfer"} }

// Submit pays no Transfer.ID twice: the bank accepts each reference once.
func (b bank) Submit(_ context.Context, t payout.Transfer) (string, error) {
	if t.AmountMinor > 1_000_000 {
		return "", payout.Refusal{Code: "limit", Message: "The bank takes at most 10,000.00 at once."}
	}
	reference := "ref-" + t.ID
	if _, taken := b.transfers[reference]; !taken {
		b.transfers[reference] = payout.InFlight
	}
	return reference, nil
}

// Status returns the state of the transfer.
func (b bank) Status(_ context.Context, t payout.Transfer) (payout.Status, error) {
	return payout.Status{State: b.transfers[t.ExternalID]}, nil
}

// A rail gets each transfer again when its answer is lost, and pays it once. It is added to the server by
// cli.Env.Rails.
func ExampleRail() {
	ctx := context.Background()
	var rail payout.Rail = bank{map[string]payout.State{}}
	t := payout.Transfer{ID: "payout_1", AmountMinor: 2500, Currency: "EUR", Method: "bank_transfer"}

	first, err := rail.Submit(ctx, t)
	fmt.Println(first, err)
	again, err := rail.Submit(ctx, t)
	fmt.Println(again == first, err)

	t.ExternalID = first
	status, err := rail.Status(ctx, t)
	fmt.Println(status.State, err)

	_, err = rail.Submit(ctx, payout.Transfer{ID: "payout_2", AmountMinor: 2_000_000, Currency: "EUR"})
	fmt.Println(err)
	// Output:
	// ref-payout_1 <nil>
	// true <nil>
	// in_flight <nil>
	// limit: The bank takes at most 10,000.00 at once.
}
