package source

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"rail/server/inbound/lenient"
	"rail/server/locale/currency"
)

type fpCommission struct {
	ID         lenient.ID   `json:"id"`
	Status     lenient.Text `json:"status"`
	Type       lenient.Text `json:"commission_type"`
	Unit       lenient.Text `json:"unit"`
	Amount     number       `json:"amount"`
	IsPaid     lenient.Bool `json:"is_paid"`
	IsSplit    lenient.Bool `json:"is_split"`
	Tier       lenient.Int  `json:"tier"`
	SaleAmount number       `json:"sale_amount"`
	Original   number       `json:"original_sale_amount"`
	Currency   lenient.Text `json:"original_sale_currency"`
	EventID    lenient.ID   `json:"event_id"`
	Note       lenient.Text `json:"external_note"`
	CreatedAt  moment       `json:"created_at"`
	UpdatedAt  moment       `json:"status_updated_at"`
	Campaign   fpCampaign   `json:"promoter_campaign"`
	Referral   lenient.ID   `json:"referral"`
}

var fpCommissionStates = map[lenient.Text]string{"pending": Open, "approved": Due, "denied": Rejected}

// commission returns a commission and its sale. The commission of a higher tier or of a shared sale, and a deduction,
// are rewards: a sale has one commission.
func (s *firstPromoter) commission(k fpCommission, id string) []Row {
	amount, ok := k.Amount.cents()
	status := fpCommissionStates[k.Status]
	if k.IsPaid.V && status != "" {
		status = Paid
	}
	c := &Commission{
		PartnerID: k.Campaign.owner(), AmountMinor: amount, Currency: s.currency, Status: status, Reason: string(k.Note),
		CreatedAt: k.CreatedAt.Time,
	}
	switch status {
	case Paid:
		c.PaidAt = k.UpdatedAt.or(k.CreatedAt).known()
	case Rejected:
		c.VoidedAt = k.UpdatedAt.or(k.CreatedAt).known()
	}
	row := Row{Kind: KindCommission, ID: id, Commission: c}
	switch {
	case k.Unit != "cash" && k.Unit != "":
		row = refused(KindCommission, id, NotMoney, "the unit is %q", k.Unit)
	case status == "":
		row = refused(KindCommission, id, UnknownStatus, "status %q is not known", k.Status)
	case c.PartnerID == "" || !ok || c.CreatedAt.IsZero():
		row = missing(KindCommission, id, "promoter_campaign, amount or created_at")
	case s.currency == "":
		row = missing(KindCommission, id, "currency")
	}
	if k.Referral == "" || k.Type != "sale" || k.Tier.N > 1 {
		return []Row{row}
	}
	sale, ok := s.sale(k, id)
	if !ok {
		return []Row{row}
	}
	if sale.Sale != nil && !k.IsSplit.V {
		c.SaleID, c.CustomerID = sale.ID, string(k.Referral)
	}
	return []Row{sale, row}
}

// sale returns the sale of a commission, in the currency of the payment if that is stated; none for a refund.
func (s *firstPromoter) sale(k fpCommission, id string) (Row, bool) {
	amount, ok := k.SaleAmount.cents()
	code := s.currency
	if original, has := k.Original.cents(); has && original > 0 {
		if unit, valid := currency.Normal(string(k.Currency)); valid {
			amount, code, ok = original, unit, true
		}
	}
	if ok && amount <= 0 {
		return Row{}, false
	}
	name := firstOf(lenient.Text(k.EventID), lenient.Text("commission "+id))
	if !ok || code == "" || k.CreatedAt.IsZero() {
		return missing(KindSale, name, "sale_amount, currency or created_at"), true
	}
	sale := &Sale{
		CustomerID: string(k.Referral), PartnerID: k.Campaign.owner(), ChargeID: string(k.EventID), AmountMinor: amount,
		Currency: code, OccurredAt: k.CreatedAt.Time,
	}
	if k.IsSplit.V {
		sale.PartnerID = ""
	}
	return Row{Kind: KindSale, ID: name, Sale: sale}, true
}

type fpPayout struct {
	Status    lenient.Text `json:"status"`
	Amount    number       `json:"amount"`
	Unit      lenient.Text `json:"unit"`
	PaidAt    moment       `json:"paid_at"`
	CreatedAt moment       `json:"created_at"`
	Promoter  lenient.ID   `json:"promoter"`
	Method    struct {
		Method lenient.Text `json:"method"`
	} `json:"payout_method"`
}

func (s *firstPromoter) payout(p fpPayout, id string) []Row {
	amount, ok := p.Amount.cents()
	switch {
	case p.Unit != "cash" && p.Unit != "":
		return []Row{refused(KindPayout, id, NotMoney, "the unit is %q", p.Unit)}
	case p.Promoter == "" || !ok || s.currency == "":
		return []Row{missing(KindPayout, id, "promoter, amount or currency")}
	}
	status := string(p.Status)
	if status == "completed" {
		status = Paid
	}
	return []Row{{Kind: KindPayout, ID: id, Payout: &Payout{
		PartnerID: string(p.Promoter), AmountMinor: amount, Currency: s.currency, Status: status,
		Method: string(p.Method.Method), PaidAt: p.PaidAt.known(), CreatedAt: p.CreatedAt.or(p.PaidAt).Time,
	}}}
}

// addCommissions adds the commissions of a payout, which need a separate request. It adds none unless they are all
// of that promoter and their sum is the payout: otherwise the source selected others.
func (s *firstPromoter) addCommissions(ctx context.Context, row Row) error {
	if row.Payout == nil || row.Payout.Status != Paid {
		return nil
	}
	sum, paid := int64(0), map[string]bool{}
	for page, before := 1, -1; before < len(paid); page++ {
		before = len(paid)
		got, _, err := s.client.list(ctx, "/commissions", url.Values{
			"filters[payout_id]": {row.ID}, "page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(perPage)},
		})
		if err != nil {
			return err
		}
		for _, raw := range got.objects {
			var k fpCommission
			_ = lenient.Into(raw, &k)
			amount, ok := k.Amount.cents()
			if !ok || k.ID == "" || k.Campaign.owner() != row.Payout.PartnerID {
				return nil
			}
			if !paid[string(k.ID)] {
				paid[string(k.ID)], sum = true, sum+amount
			}
		}
		if len(got.objects) < perPage {
			break
		}
	}
	if sum == row.Payout.AmountMinor {
		row.Payout.CommissionIDs = slices.Sorted(maps.Keys(paid))
	}
	return nil
}
