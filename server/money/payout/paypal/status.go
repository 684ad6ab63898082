package paypal

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"rail/server/clock"
	"rail/server/money/payout"
)

// batch is a batch as PayPal shows it.
type batch struct {
	Header batchHeader `json:"batch_header"`
	Items  list[item]  `json:"items"`
}

type batchHeader struct {
	ID     string       `json:"payout_batch_id"`
	Status string       `json:"batch_status"`
	Amount *money       `json:"amount"`
	Sender senderHeader `json:"sender_batch_header"`
}

type item struct {
	Status string          `json:"transaction_status"`
	Fee    *money          `json:"payout_item_fee"`
	Item   payoutItem      `json:"payout_item"`
	Errors list[itemError] `json:"errors"`
	// Processed is when PayPal paid or refused the item.
	Processed string `json:"time_processed"`
}

// itemError is the reason for the state of an item.
type itemError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// itemOf returns the transfer's item; nil if the batch is not processed yet, or ended without it. A batch of another
// transfer is an error.
func (b batch) itemOf(t payout.Transfer) (*item, error) {
	switch header := b.Header; {
	case header.Sender.SenderBatchID != t.ID:
		return nil, fmt.Errorf("the PayPal batch %q is not of the transfer %s", header.ID, t.ID)
	case len(b.Items) > 1:
		return nil, fmt.Errorf("the PayPal batch %q has %d items instead of one", header.ID, len(b.Items))
	case len(b.Items) == 1:
		it := &b.Items[0]
		if it.Item.SenderItemID != t.ID || !it.Item.Amount.equals(t) {
			return nil, fmt.Errorf("the item of the PayPal batch %q is %q with %s %s, not the transfer %s", header.ID,
				clip(it.Item.SenderItemID, 80), clip(it.Item.Amount.Value, 30), clip(it.Item.Amount.Currency, 3), t.ID)
		}
		return it, nil
	case header.Amount != nil && !header.Amount.equals(t):
		return nil, fmt.Errorf("the PayPal batch %q is of %s %s, not the amount of the transfer %s", header.ID,
			clip(header.Amount.Value, 30), clip(header.Amount.Currency, 3), t.ID)
	}
	return nil, nil
}

// Status polls the batch of a transfer.
func (r *Rail) Status(ctx context.Context, t payout.Transfer) (payout.Status, error) {
	b, err := r.batch(ctx, t.ExternalID)
	if err != nil {
		return payout.Status{}, err
	}
	it, err := b.itemOf(t)
	if err != nil {
		return payout.Status{}, err
	}
	switch status := b.Header.Status; status {
	case "DENIED", "CANCELED":
		return ended(status, it)
	case "PENDING", "PROCESSING":
		if it == nil {
			return payout.Status{State: payout.InFlight}, nil
		}
	case "SUCCESS":
		if it == nil {
			return payout.Status{}, fmt.Errorf("the PayPal batch %q has no item", b.Header.ID)
		}
	default:
		return payout.Status{}, fmt.Errorf("PayPal reports the unknown state %q of a batch", clip(status, 80))
	}
	return it.report()
}

// ended returns the status of an item whose batch was denied or canceled.
func ended(batchStatus string, it *item) (payout.Status, error) {
	if it == nil {
		it = &item{}
	}
	switch it.Status {
	case "SUCCESS", "UNCLAIMED", "ONHOLD":
		// The money may have left: a rejection would let it be paid again.
		return payout.Status{}, fmt.Errorf("PayPal reports the state %s of an item whose batch is %s", it.Status, batchStatus)
	}
	return explain(payout.Status{State: payout.Rejected}, it.Errors, batchStatus), nil
}

// states has the status for each state of an item.
var states = map[string]payout.Status{
	"SUCCESS":   {State: payout.Settled},
	"PENDING":   {State: payout.InFlight},
	"UNCLAIMED": {State: payout.InFlight, Attention: payout.Unclaimed},
	"ONHOLD":    {State: payout.InFlight, Attention: payout.OnHold},
	"FAILED":    {State: payout.Rejected},
	"BLOCKED":   {State: payout.Rejected},
	"RETURNED":  {State: payout.Returned, Attention: payout.CameBack},
	"REFUNDED":  {State: payout.Returned, Attention: payout.CameBack},
	"REVERSED":  {State: payout.Returned, Attention: payout.Reversed},
}

// report returns the status of an item.
func (it *item) report() (payout.Status, error) {
	status, ok := states[it.Status]
	switch {
	case !ok:
		return payout.Status{}, fmt.Errorf("PayPal reports the unknown state %q of an item", clip(it.Status, 80))
	case status.State == payout.Settled:
		status.Fee = it.Fee.fee()
		if at, err := time.Parse(time.RFC3339, it.Processed); err == nil {
			status.PaidAt = new(clock.At(at))
		}
		return status, nil
	case it.Status == "PENDING":
		return status, nil
	}
	return explain(status, it.Errors, it.Status), nil
}

// explain adds the reason for a status: the error of the item, or else the state.
func explain(s payout.Status, reasons []itemError, state string) payout.Status {
	var e itemError
	if len(reasons) > 0 {
		e = reasons[0]
	}
	s.Code = clip(cmp.Or(e.Name, state), mostCode)
	s.Message = clip(cmp.Or(sentences[e.Name], e.Message, sentences[state]), mostMessage)
	return s
}
