package source

import (
	"context"

	"rail/server/inbound/lenient"
	"rail/server/locale/currency"
)

// tapMoney has the payments and balances of affiliates.
type tapMoney struct {
	paid map[lenient.ID]moment        // times of payments, by id
	last map[string]map[string]moment // last payment, by affiliate and currency
	open map[string]map[string]int64  // balances, by affiliate and currency
}

// readMoney reads payments and balances.
func (t *tapfiliate) readMoney(ctx context.Context) error {
	m := &tapMoney{
		paid: map[lenient.ID]moment{}, last: map[string]map[string]moment{}, open: map[string]map[string]int64{},
	}
	err := t.all(ctx, "/payments/", func(id lenient.ID, raw []byte) {
		var p tapPayment
		_ = lenient.Into(raw, &p)
		code, _ := currency.Normal(string(p.Currency))
		if p.status() != Paid || id == "" {
			return
		}
		at := p.PaidAt.or(p.CreatedAt)
		m.paid[id] = at
		if of := inside(m.last, string(p.Affiliate)); of[code].Before(at.Time.Time) {
			of[code] = at
		}
	})
	if err != nil {
		return err
	}
	err = t.all(ctx, "/balances/", func(_ lenient.ID, raw []byte) {
		var b struct {
			Affiliate lenient.ID   `json:"affiliate"`
			Currency  lenient.Text `json:"currency"`
			Balance   number       `json:"balance"`
		}
		_ = lenient.Into(raw, &b)
		code, valid := currency.Normal(string(b.Currency))
		if amount, ok := b.Balance.minor(code); valid && ok && amount != 0 {
			inside(m.open, string(b.Affiliate))[code] = amount // a page may come twice
		}
	})
	if err == nil {
		t.money = m
	}
	return err
}

// inside returns the map under a key, which it adds if needed.
func inside[V any](of map[string]map[string]V, key string) map[string]V {
	if of[key] == nil {
		of[key] = map[string]V{}
	}
	return of[key]
}

// payout reports whether an approved commission is paid, with the time, and with the payment if it is known.
func (m *tapMoney) payout(k *tapCommission, affiliate, code string) (paid bool, at moment, payment lenient.ID) {
	if k.Payout.present {
		at, ok := m.paid[k.Payout.ID]
		if !ok {
			return k.Payout.ID != "", k.CreatedAt, ""
		}
		return true, at, k.Payout.ID
	}
	at, ok := m.last[affiliate][code]
	// The next delta sees payments that were made since the payments were read.
	if !ok || k.CreatedAt.After(at.Time.Time) {
		return false, at, ""
	}
	return true, at, ""
}

// optionalID is an id, and whether the member was there at all.
type optionalID struct {
	ID      lenient.ID
	present bool
}

// UnmarshalJSON notes that the member was there.
func (g *optionalID) UnmarshalJSON(raw []byte) error {
	g.present = true
	return g.ID.UnmarshalJSON(raw)
}

type tapConversion struct {
	ExternalID  lenient.ID                  `json:"external_id"`
	Amount      number                      `json:"amount"`
	Program     lenient.ID                  `json:"program"`
	Affiliate   lenient.ID                  `json:"affiliate"`
	Customer    lenient.ID                  `json:"customer"`
	CreatedAt   moment                      `json:"created_at"`
	Commissions lenient.List[tapCommission] `json:"commissions"`
}

type tapCommission struct {
	ID        lenient.ID   `json:"id"`
	Amount    number       `json:"amount"`
	Currency  lenient.Text `json:"currency"`
	Approved  lenient.Bool `json:"approved"`
	Comment   lenient.Text `json:"comment"`
	Affiliate lenient.ID   `json:"affiliate"`
	CreatedAt moment       `json:"created_at"`
	Payout    optionalID   `json:"payout"`
}

// conversion returns the sale and its commissions. Conversions of shops have no customer: their commissions are
// rewards.
func (t *tapfiliate) conversion(c tapConversion, id string) []Row {
	code := t.code(&c)
	amount, readable := c.Amount.minor(code)
	row := Row{Kind: KindSale, ID: id, Sale: &Sale{
		CustomerID: string(c.Customer), PartnerID: string(c.Affiliate), ChargeID: string(c.ExternalID),
		AmountMinor: amount, Currency: code, OccurredAt: c.CreatedAt.Time,
	}}
	switch {
	case code == "":
		row = missing(KindSale, id, "currency")
	case !readable:
		row = missing(KindSale, id, "amount")
	case c.Customer == "":
		row = missing(KindSale, id, "customer")
	case c.CreatedAt.IsZero():
		row = missing(KindSale, id, "created_at")
	}
	all := []Row{row}
	for _, k := range c.Commissions {
		one := t.commission(&c, &k, id, code)
		if one.Commission != nil && row.Sale != nil {
			one.Commission.SaleID = id
		}
		all = append(all, one)
	}
	return all
}

// code returns the currency of a conversion: that of its commissions, its program, or the account.
func (t *tapfiliate) code(c *tapConversion) string {
	for _, k := range c.Commissions {
		if code, ok := currency.Normal(string(k.Currency)); ok {
			return code
		}
	}
	return firstOf(lenient.Text(t.programs[c.Program]), lenient.Text(t.currency))
}

func (t *tapfiliate) commission(c *tapConversion, k *tapCommission, conversion, fallback string) Row {
	id := string(k.ID)
	code, ok := currency.Normal(string(k.Currency))
	if k.Currency == "" {
		code, ok = fallback, fallback != ""
	}
	amount, readable := k.Amount.minor(code)
	partner := distinct(k.Affiliate, c.Affiliate)
	k.CreatedAt = k.CreatedAt.or(c.CreatedAt)
	switch {
	case id == "":
		return missing(KindCommission, "of conversion "+conversion, "id")
	case !ok:
		return refused(KindCommission, id, NotMoney, "the currency is %q", k.Currency)
	case !readable:
		return missing(KindCommission, id, "amount")
	case len(partner) == 0:
		return missing(KindCommission, id, "affiliate")
	case k.CreatedAt.IsZero():
		return missing(KindCommission, id, "created_at")
	}
	row := &Commission{
		PartnerID: partner[0], CustomerID: string(c.Customer), AmountMinor: amount, Currency: code, Status: Open,
		Reason: string(k.Comment), CreatedAt: k.CreatedAt.Time,
	}
	switch {
	case k.Approved.V:
		row.Status = Due
		if paid, at, payment := t.money.payout(k, partner[0], code); paid {
			row.Status, row.PaidAt, row.PayoutID = Paid, at.known(), string(payment)
		}
	case k.Approved.OK:
		row.Status = Rejected
		row.Reason = firstOf(k.Comment, "Disapproved in Tapfiliate.")
	}
	return Row{Kind: KindCommission, ID: id, Commission: row}
}

type tapPayment struct {
	Affiliate lenient.ID   `json:"affiliate"`
	Amount    number       `json:"amount"`
	Currency  lenient.Text `json:"currency"`
	Status    lenient.Text `json:"status"`
	PaidAt    moment       `json:"paid_at"`
	CreatedAt moment       `json:"created_at"`
}

// status returns the state. Older answers have none: such a payment was made.
func (p tapPayment) status() string { return firstOf(p.Status, Paid) }

func (p tapPayment) rows(id string) []Row {
	code, ok := currency.Normal(string(p.Currency))
	amount, readable := p.Amount.minor(code)
	switch status := p.status(); {
	case p.Affiliate == "":
		return []Row{missing(KindPayout, id, "affiliate")}
	case !ok:
		return []Row{missing(KindPayout, id, "currency")}
	case !readable:
		return []Row{missing(KindPayout, id, "amount")}
	case status != Paid && status != "pending" && status != "cancelled":
		return []Row{refused(KindPayout, id, UnknownStatus, "status %q", p.Status)}
	}
	payout := &Payout{
		PartnerID: string(p.Affiliate), AmountMinor: amount, Currency: code, Status: p.status(),
		CreatedAt: p.CreatedAt.or(p.PaidAt).Time,
	}
	if payout.Status == Paid {
		payout.PaidAt = p.PaidAt.or(p.CreatedAt).known()
	}
	return []Row{{Kind: KindPayout, ID: id, Payout: payout}}
}
