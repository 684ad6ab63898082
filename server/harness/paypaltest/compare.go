package paypaltest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rail/server/locale/currency"
)

// Seen is a payout as its sender has it: Status is processing, paid or failed, and Attention one of a payout or "".
type Seen struct {
	ID          string
	AmountMinor int64 // as ISO 4217 divides the currency
	Currency    string
	Status      string
	Attention   string
	Reason      string // of a failure, for the texts of differences; may be empty
}

// safeFor is the time in which a sender repeats a submission.
const safeFor = 25 * 24 * time.Hour

// Compare returns how payouts differ from the items that the fake has: each must be accepted once under its id with its
// amount, and have the state of its item. A payout whose amount PayPal does not pay must have failed without an item.
func (s *Server) Compare(payouts []Seen) (differences []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	strangers := maps.Clone(s.sent)
	for _, p := range payouts {
		delete(strangers, p.ID)
		if why := s.compare(p); why != "" {
			differences = append(differences, strings.TrimSuffix(p.ID+" "+why+": "+p.Reason, ": "))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(strangers)) {
		differences = append(differences, fmt.Sprintf("%s was accepted and is no payout", id))
	}
	return differences
}

// Early returns the payouts that are paid although no item of theirs has ever succeeded.
func (s *Server) Early(payouts []Seen) (early []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	for _, p := range payouts {
		succeeded := func(it *item) bool { return slices.Contains(it.history, Success) }
		if p.Status == "paid" && !slices.ContainsFunc(s.sent[p.ID], succeeded) {
			early = append(early, p.ID+" is paid, and PayPal has not paid it")
		}
	}
	return early
}

// compare returns how a payout differs from its items; "" if it does not.
func (s *Server) compare(p Seen) string {
	items, has := s.sent[p.ID], p.Status+" "+p.Attention
	switch {
	case len(items) > 1:
		return fmt.Sprintf("was accepted %d times", len(items))
	case len(items) == 0 && !payable(p):
		return unless(p.Status == "failed", "is "+has+", and PayPal does not pay its amount")
	case len(items) == 0:
		return unless(p.Attention == "unconfirmed", "is "+has+", and was never accepted")
	}
	it := items[0]
	amount := it.request.Amount
	minor, _ := currency.Minor(amount.Value, amount.Currency)
	switch {
	case it.batch.header.SenderBatchID != p.ID:
		return "was accepted in the batch " + it.batch.header.SenderBatchID
	case minor != p.AmountMinor || amount.Currency != p.Currency:
		return fmt.Sprintf("was accepted with %s %s instead of %d %s", amount.Value, amount.Currency, p.AmountMinor, p.Currency)
	case p.Attention == "unconfirmed":
		return unless(s.now().Sub(it.batch.created) >= safeFor, "was accepted a moment ago and is unconfirmed")
	}
	return unless(slices.Contains(it.seenAs(), has), fmt.Sprintf("is %s, and PayPal has had %v", has, it.history))
}

// unless returns why, or "" if right.
func unless(right bool, why string) string {
	if right {
		return ""
	}
	return why
}

// payable reports whether PayPal pays an amount of a payout.
func payable(p Seen) bool {
	places, ok := decimals[p.Currency]
	return ok && (places == currency.Digits(p.Currency) || p.AmountMinor%100 == 0)
}

// seenAs returns the status and attention of a payout with the item. Money that came back before a poll was never paid.
func (it *item) seenAs() []string {
	switch it.status {
	case Success:
		return []string{"paid "}
	case Unclaimed:
		return []string{"processing unclaimed"}
	case OnHold:
		return []string{"processing on_hold"}
	case Pending:
		return []string{"processing "}
	case Reversed:
		return []string{"paid reversed", "failed "}
	case Refunded:
		return []string{"paid returned", "failed "}
	}
	return []string{"failed "}
}
