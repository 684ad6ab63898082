package importtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"rail/server/inbound/importer/source"
	"rail/server/locale/currency"
)

// TapfiliateKey is the key that the fake of Tapfiliate takes.
const TapfiliateKey = "tap-key"

// Tapfiliate is Tapfiliate's API for a world: bare lists with a Link header, decimal amounts, commissions within
// conversions, and affiliates whose id is the value of their link. Its lists are affiliates, affiliate-groups,
// programs, customers, conversions, payments, balances and programs/prog/affiliates.
func Tapfiliate(w *World, odd Oddities) http.Handler {
	t := tapfiliate{w}
	all := newLists(odd, map[string]func() []Object{
		"affiliates":               func() []Object { return objectsOf(w.Partners, t.affiliate) },
		"affiliate-groups":         t.groups,
		"programs":                 func() []Object { return []Object{{"id": "prog", "currency": "USD"}} },
		"programs/prog/affiliates": func() []Object { return objectsOf(w.Partners, t.affiliation) },
		"customers":                func() []Object { return objectsOf(w.Customers, t.customer) },
		"conversions":              t.conversions,
		"payments":                 func() []Object { return objectsOf(w.Payouts, t.payment) },
		"balances":                 t.balances,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != TapfiliateKey {
			answerJSON(w, http.StatusUnauthorized, Object{"message": "Invalid API key"})
			return
		}
		page := parameter(r.URL.Query(), "page", 1, 1<<30)
		objects, ok := all.get(strings.Trim(strings.TrimPrefix(r.URL.Path, "/1.6"), "/"), page == 1)
		if !ok {
			answerJSON(w, http.StatusNotFound, Object{"message": "Not found"})
			return
		}
		shown, pages := all.page(objects, page, parameter(r.URL.Query(), "limit", 25, 100))
		if page < pages || all.odd.PastEnd {
			w.Header().Add("Link", fmt.Sprintf(`<https://api.tapfiliate.com%s?page=%d>; rel="next"`, r.URL.Path, page+1))
		}
		w.Header().Add("Link", fmt.Sprintf(`<https://api.tapfiliate.com%s?page=%d>; rel="last"`, r.URL.Path, pages))
		answerJSON(w, http.StatusOK, shown)
	})
}

// tapfiliate makes the objects of a world.
type tapfiliate struct{ *World }

// decimal returns an amount as a JSON number in units of a currency.
func decimal(minor int64, code string) json.Number { return json.Number(currency.Decimal(minor, code)) }

func (tapfiliate) affiliate(row source.Row) Object {
	p := row.Partner
	return Object{
		"id":                 row.ID,
		"email":              p.Email,
		"firstname":          p.FirstName,
		"lastname":           p.LastName,
		"company":            nil,
		"address":            Object{"country": Object{"code": p.CountryCode, "name": p.CountryCode}},
		"affiliate_group_id": "group-" + strings.ToLower(p.Group),
		"referral_link":      Object{"link": "https://shop.example/?ref=" + row.ID},
		"coupon":             nil,
		"created_at":         p.CreatedAt.Format("2006-01-02T15:04:05-07:00"),
		"meta_data":          Object{},
	}
}

func (tapfiliate) groups() []Object {
	return []Object{{"id": "group-standard", "title": "Standard"}, {"id": "group-gold", "title": "Gold"}}
}

func (tapfiliate) affiliation(row source.Row) Object {
	approved := map[string]any{source.Active: true, source.Suspended: false, source.Declined: false}[row.Partner.Status]
	return Object{"affiliate": Object{"id": row.ID, "email": row.Partner.Email}, "approved": approved}
}

func (tapfiliate) customer(row source.Row) Object {
	c := row.Customer
	o := Object{
		"id":          row.ID,
		"customer_id": c.ExternalIDs[0],
		"status":      map[string]any{source.Paying: "paid", source.Trial: "trial", source.Cancelled: "cancelled"}[c.Status],
		"created_at":  c.CreatedAt,
		"click":       nil,
		"program":     Object{"id": "prog"},
		"affiliate":   Object{"id": c.PartnerID},
		"meta_data":   Object{},
	}
	if c.LinkID != "" {
		o["click"] = Object{"created_at": c.LeadAt, "referrer": nil, "landing_page": "https://shop.example/"}
	}
	return o
}

func (t tapfiliate) conversions() []Object {
	commissions := map[string][]Object{}
	for _, row := range t.Commissions {
		commissions[row.Commission.SaleID] = append(commissions[row.Commission.SaleID], t.commission(row))
	}
	return objectsOf(t.Sales, func(row source.Row) Object {
		s := row.Sale
		return Object{
			"id":          Numeric(row.ID),
			"external_id": s.ChargeID,
			"amount":      decimal(s.AmountMinor, s.Currency),
			"program":     Object{"id": "prog"},
			"affiliate":   Object{"id": s.PartnerID},
			"customer":    Object{"id": s.CustomerID},
			"created_at":  s.OccurredAt,
			"commissions": commissions[row.ID],
			"meta_data":   nil,
		}
	})
}

func (tapfiliate) commission(row source.Row) Object {
	k := row.Commission
	o := Object{
		"id":                    Numeric(row.ID),
		"amount":                decimal(k.AmountMinor, k.Currency),
		"conversion_sub_amount": decimal(k.AmountMinor*10/3, k.Currency),
		"currency":              k.Currency,
		"approved":              nil,
		"affiliate":             Object{"id": k.PartnerID},
		"kind":                  "regular",
		"comment":               nil,
		"payout":                nil,
		"final":                 nil,
		"created_at":            k.CreatedAt,
	}
	switch k.Status {
	case source.Due:
		o["approved"] = true
	case source.Paid:
		o["approved"], o["payout"] = true, k.PayoutID
	case source.Voided, source.Rejected:
		o["approved"], o["comment"] = false, k.Reason
	}
	return o
}

func (tapfiliate) payment(row source.Row) Object {
	p := row.Payout
	return Object{
		"id":         row.ID,
		"affiliate":  Object{"id": p.PartnerID},
		"amount":     decimal(p.AmountMinor, p.Currency),
		"currency":   p.Currency,
		"status":     p.Status,
		"created_at": p.CreatedAt,
		"paid_at":    orNull(p.PaidAt),
	}
}

// balances are the approved commissions that are not paid.
func (t tapfiliate) balances() []Object {
	all := []Object{}
	for _, p := range t.Partners {
		for _, code := range []string{"EUR", "USD"} {
			sum := int64(0)
			for _, row := range t.Commissions {
				k := row.Commission
				if k.PartnerID == p.ID && k.Currency == code && k.Status == source.Due {
					sum += k.AmountMinor
				}
			}
			if sum != 0 {
				all = append(all, Object{"affiliate": Object{"id": p.ID}, "currency": code, "balance": decimal(sum, code)})
			}
		}
	}
	return all
}
