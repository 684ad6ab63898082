package source

import (
	"rail/server/inbound/lenient"
	"rail/server/locale/currency"
)

type rewardfulCommission struct {
	Amount    number        `json:"amount"`
	Currency  lenient.Text  `json:"currency"`
	State     lenient.Text  `json:"state"`
	CreatedAt moment        `json:"created_at"`
	DueAt     moment        `json:"due_at"`
	PaidAt    moment        `json:"paid_at"`
	VoidedAt  moment        `json:"voided_at"`
	Affiliate lenient.ID    `json:"affiliate"`
	Sale      rewardfulSale `json:"sale"`
}

var rewardfulCommissionStates = map[lenient.Text]string{"pending": Open, "due": Due, "paid": Paid, "voided": Voided}

// rows returns the commission and its sale. A commission whose sale cannot be read is a reward.
func (k rewardfulCommission) rows(id string) []Row {
	amount, amountOK := k.Amount.cents()
	code, codeOK := currency.Normal(string(k.Currency))
	c := &Commission{
		PartnerID: firstOf(lenient.Text(k.Sale.Affiliate), lenient.Text(k.Affiliate)), CustomerID: string(k.Sale.Referral),
		AmountMinor: amount, Currency: code, Status: rewardfulCommissionStates[k.State],
		CreatedAt: k.CreatedAt.or(k.Sale.ChargedAt).Time, MatureAt: k.DueAt.known(), PaidAt: k.PaidAt.known(),
		VoidedAt: k.VoidedAt.known(),
	}
	row := Row{Kind: KindCommission, ID: id, Commission: c}
	switch {
	case c.PartnerID == "":
		row = missing(KindCommission, id, "affiliate")
	case !amountOK || !codeOK:
		row = missing(KindCommission, id, "amount or currency")
	case c.CreatedAt.IsZero():
		row = missing(KindCommission, id, "created_at")
	case c.Status == "":
		row = refused(KindCommission, id, UnknownStatus, "status %q is not known", k.State)
	}
	if k.Sale.ID == "" {
		return []Row{row}
	}
	sale := k.Sale.row(k.VoidedAt)
	if sale.Sale != nil {
		c.SaleID = sale.ID
	}
	return []Row{sale, row}
}

type rewardfulSale struct {
	ID        lenient.ID   `json:"id"`
	Currency  lenient.Text `json:"currency"`
	ChargedAt moment       `json:"charged_at"`
	CreatedAt moment       `json:"created_at"`
	UpdatedAt moment       `json:"updated_at"`
	ChargeID  lenient.ID   `json:"stripe_charge_id"`
	Charge    number       `json:"charge_amount_cents"`
	Refund    number       `json:"refund_amount_cents"`
	Tax       number       `json:"tax_amount_cents"`
	Net       number       `json:"sale_amount_cents"` // without tax and refund
	Referral  lenient.ID   `json:"referral"`
	Affiliate lenient.ID   `json:"affiliate"`
}

// row returns the sale. A refund has the time at which the commission was voided, or of the last change.
func (s rewardfulSale) row(voided moment) Row {
	amount, amountOK := s.Charge.cents()
	refund, _ := s.Refund.cents()
	tax, taxOK := s.Tax.cents()
	if net, ok := s.Net.cents(); !amountOK && ok {
		amount, amountOK = net+tax+refund, true
	}
	code, codeOK := currency.Normal(string(s.Currency))
	at := s.ChargedAt.or(s.CreatedAt)
	if !amountOK || !codeOK || at.IsZero() {
		return missing(KindSale, string(s.ID), "charge_amount_cents, currency or charged_at")
	}
	sale := &Sale{
		CustomerID: string(s.Referral), PartnerID: string(s.Affiliate), ChargeID: string(s.ChargeID), AmountMinor: amount,
		RefundedMinor: refund, Currency: code, OccurredAt: at.Time,
	}
	if taxOK && tax != 0 {
		sale.TaxMinor = &tax
	}
	if refund != 0 {
		sale.RefundedAt = voided.or(s.UpdatedAt).known()
	}
	return Row{Kind: KindSale, ID: string(s.ID), Sale: sale}
}

type rewardfulPayout struct {
	Amount      number                   `json:"amount"`
	Currency    lenient.Text             `json:"currency"`
	State       lenient.Text             `json:"state"`
	PaidAt      moment                   `json:"paid_at"`
	CreatedAt   moment                   `json:"created_at"`
	Affiliate   lenient.ID               `json:"affiliate"`
	Commissions lenient.List[lenient.ID] `json:"commissions"`
}

func (p rewardfulPayout) rows(id string) []Row {
	amount, amountOK := p.Amount.cents()
	code, codeOK := currency.Normal(string(p.Currency))
	if p.Affiliate == "" || !amountOK || !codeOK {
		return []Row{missing(KindPayout, id, "affiliate, amount or currency")}
	}
	payout := &Payout{
		PartnerID: string(p.Affiliate), AmountMinor: amount, Currency: code, Status: string(p.State),
		PaidAt: p.PaidAt.known(), CreatedAt: p.CreatedAt.or(p.PaidAt).Time,
	}
	for _, commission := range p.Commissions {
		payout.CommissionIDs = append(payout.CommissionIDs, string(commission))
	}
	return []Row{{Kind: KindPayout, ID: id, Payout: payout}}
}
