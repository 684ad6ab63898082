package source

import (
	"rail/server/inbound/lenient"
	"rail/server/locale/currency"
)

// stackCurrency returns the currency of an amount; none is US dollars.
func stackCurrency(text lenient.Text) (string, bool) {
	if text == "" {
		return "USD", true
	}
	return currency.Normal(string(text))
}

type stackReward struct {
	Amount         number       `json:"amount"`
	Currency       lenient.Text `json:"currency"`
	Status         lenient.Text `json:"reward_status"`
	PaymentStatus  lenient.Text `json:"payment_status"`
	PaymentDate    moment       `json:"payment_date"`
	DeclineReason  lenient.Text `json:"decline_reason"`
	PartnershipKey lenient.ID   `json:"partnership_key"`
	Partnership    stackRef     `json:"partnership"`
	Customer       stackRef     `json:"customer"`
	Test           lenient.Bool `json:"test"`
	CreatedAt      moment       `json:"created_at"`
	UpdatedAt      moment       `json:"updated_at"`
	Source         struct {
		Type lenient.Text `json:"type"`
		Key  lenient.ID   `json:"key"`
	} `json:"source"`
	Transaction struct {
		Key       lenient.ID   `json:"key"`
		Amount    number       `json:"amount"`
		Archived  lenient.Bool `json:"archived"`
		Test      lenient.Bool `json:"test"`
		CreatedAt moment       `json:"created_at"`
	} `json:"transaction"`
}

var stackRewardStates = map[lenient.Text]string{
	"hold": Open, "pending": Open, "scheduled": Open, "approved": Due, "paid": Paid, "declined": Rejected,
}

// stackPaid has the payment states of approved rewards. True means that the merchant has paid PartnerStack, which pays
// the partner.
var stackPaid = map[lenient.Text]bool{
	"available": true, "in_transit": true, "withdrawn": true, "paid_externally": true, "merging": true,
	"": false, "expired": false, "failed": false, "paid_and_refunded": false,
}

func (r stackReward) rows(id string) []Row {
	amount, readable := r.Amount.cents()
	code, ok := stackCurrency(r.Currency)
	partner := distinct(r.PartnershipKey, r.Partnership.Key)
	status := stackRewardStates[r.Status]
	paid, listed := stackPaid[r.PaymentStatus]
	switch {
	case r.Test.V || r.Transaction.Test.V:
		return []Row{refused(KindCommission, id, TestData, "a reward of the test mode")}
	case !readable:
		return []Row{missing(KindCommission, id, "amount")}
	case len(partner) == 0:
		return []Row{missing(KindCommission, id, "partnership_key")}
	case r.CreatedAt.IsZero():
		return []Row{missing(KindCommission, id, "created_at")}
	case !ok:
		return []Row{refused(KindCommission, id, NotMoney, "the unit is %q", r.Currency)}
	case status == "":
		return []Row{refused(KindCommission, id, UnknownStatus, "reward_status %q", r.Status)}
	case status == Due && !listed:
		return []Row{refused(KindCommission, id, UnknownStatus, "payment_status %q", r.PaymentStatus)}
	}
	k := &Commission{
		PartnerID: partner[0], CustomerID: string(r.Customer.Key), SaleID: r.sale(), AmountMinor: amount, Currency: code,
		Status: status, Reason: string(r.DeclineReason), CreatedAt: r.CreatedAt.Time,
	}
	if r.Status == "scheduled" { // its created_at is the day on which it becomes pending
		k.MatureAt = r.CreatedAt.known()
		k.CreatedAt = r.Transaction.CreatedAt.or(r.UpdatedAt, r.CreatedAt).Time
	}
	if status == Due && paid {
		k.Status = Paid
	}
	r.end(k)
	return []Row{{Kind: KindCommission, ID: id, Commission: k}}
}

// end sets the time and the kind of the end. A reward declined for an archived transaction was voided by a refund.
func (r stackReward) end(k *Commission) {
	changed := r.UpdatedAt.or(r.CreatedAt)
	switch k.Status {
	case Paid:
		k.PaidAt = r.PaymentDate.or(changed).known()
	case Rejected:
		if r.Transaction.Archived.V {
			k.Status = Voided
		}
		k.VoidedAt = changed.known()
		k.Reason = firstOf(r.DeclineReason, "Declined in PartnerStack.")
	}
}

// sale returns the key of the transaction, unless that is a refund: then the reward is a deduction.
func (r stackReward) sale() string {
	if amount, _ := r.Transaction.Amount.cents(); amount < 0 {
		return ""
	}
	if r.Transaction.Key != "" || r.Source.Type != "transaction" {
		return string(r.Transaction.Key)
	}
	return string(r.Source.Key)
}
