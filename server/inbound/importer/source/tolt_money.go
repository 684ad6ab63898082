package source

import (
	"rail/server/inbound/lenient"
)

type toltTransaction struct {
	Amount    number       `json:"amount"`
	WithTax   number       `json:"amount_including_tax"`
	Tax       number       `json:"tax"`
	Currency  lenient.Text `json:"currency"`
	Status    lenient.Text `json:"status"`
	Billing   lenient.Text `json:"billing_type"`
	Product   lenient.Text `json:"product_name"`
	ChargeID  lenient.ID   `json:"charge_id"`
	Customer  lenient.ID   `json:"customer_id"`
	PartnerID lenient.Text `json:"partner_id"`
	CreatedAt moment       `json:"created_at"`
	UpdatedAt moment       `json:"updated_at"`
	Program   toltProgram  `json:"program"`
}

// transaction returns a sale. Tolt knows only full refunds.
func (s tolt) transaction(x toltTransaction, id string) []Row {
	amount, ok := x.WithTax.cents()
	if !ok {
		amount, ok = x.Amount.cents()
	}
	code := s.currencyOf(x.Currency, x.Program.Currency)
	if !ok || code == "" || x.Customer == "" || x.CreatedAt.IsZero() {
		return []Row{missing(KindSale, id, "amount, currency, customer_id or created_at")}
	}
	sale := &Sale{
		CustomerID: string(x.Customer), PartnerID: string(x.PartnerID), ChargeID: string(x.ChargeID), AmountMinor: amount,
		Currency: code, ProductName: string(x.Product), Recurring: x.Billing == "subscription",
		OccurredAt: x.CreatedAt.Time,
	}
	if tax, ok := x.Tax.cents(); ok && tax != 0 {
		sale.TaxMinor = &tax
	}
	if x.Status == "refunded" {
		sale.RefundedMinor, sale.RefundedAt = amount, x.UpdatedAt.or(x.CreatedAt).known()
	}
	return []Row{{Kind: KindSale, ID: id, Sale: sale}}
}

type toltCommission struct {
	Amount      number       `json:"amount"`
	Status      lenient.Text `json:"status"`
	Customer    lenient.ID   `json:"customer_id"`
	Transaction lenient.ID   `json:"transaction_id"`
	CreatedAt   moment       `json:"created_at"`
	UpdatedAt   moment       `json:"updated_at"`
	PartnerID   lenient.Text `json:"partner_id"`
	Partner     lenient.ID   `json:"partner"`
	Program     toltProgram  `json:"program"`
}

var toltCommissionStates = map[lenient.Text]string{
	"pending": Open, "approved": Due, "paid": Paid, "rejected": Rejected, "refunded": Voided,
}

func (s tolt) commission(k toltCommission, id string) []Row {
	amount, ok := k.Amount.cents()
	c := &Commission{
		PartnerID: firstOf(k.PartnerID, lenient.Text(k.Partner)), CustomerID: string(k.Customer),
		SaleID: string(k.Transaction), AmountMinor: amount, Currency: s.currencyOf(k.Program.Currency),
		Status: toltCommissionStates[k.Status], CreatedAt: k.CreatedAt.Time,
	}
	switch changed := k.UpdatedAt.or(k.CreatedAt).known(); c.Status {
	case Paid:
		c.PaidAt = changed
	case Voided, Rejected:
		c.VoidedAt = changed
	case "":
		return []Row{refused(KindCommission, id, UnknownStatus, "status %q is not known", k.Status)}
	}
	if c.PartnerID == "" || !ok || c.Currency == "" || c.CreatedAt.IsZero() {
		return []Row{missing(KindCommission, id, "partner, amount, currency or created_at")}
	}
	return []Row{{Kind: KindCommission, ID: id, Commission: c}}
}
