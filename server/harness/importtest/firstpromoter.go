package importtest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rail/server/clock"
	"rail/server/inbound/importer/source"
)

// The key and the account that the fake of FirstPromoter takes.
const (
	FirstPromoterKey     = "firstpromoter-key"
	FirstPromoterAccount = "acc_1"
)

// FirstPromoter is FirstPromoter's API for a world with one currency: numeric ids, bare arrays (promoters have an
// envelope) without totals, amounts in cents without a currency. Its lists are promoters, promo_codes, referrals,
// commissions and payouts. Suspended partners are archived.
func FirstPromoter(w *World, odd Oddities) http.Handler {
	f := firstPromoter{w}
	all := newLists(odd, map[string]func() []Object{
		"promoters":   f.promoters,
		"promo_codes": f.codes,
		"referrals":   f.referrals,
		"commissions": f.commissions,
		"payouts":     func() []Object { return objectsOf(w.Payouts, f.payout) },
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+FirstPromoterKey || r.Header.Get("Account-Id") != FirstPromoterAccount {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		query, name := r.URL.Query(), strings.TrimPrefix(r.URL.Path, "/api/v2/company/")
		page, size := parameter(query, "page", 1, 1<<30), parameter(query, "per_page", 20, 100)
		payout := query.Get("filters[payout_id]")
		objects, ok := all.get(name, page == 1 && size > 1 && payout == "")
		if !ok {
			answerJSON(w, http.StatusNotFound, Object{"message": "Not found"})
			return
		}
		archived := query.Get("filters[archived]") == "true"
		objects = slices.DeleteFunc(slices.Clone(objects), func(o Object) bool {
			return name == "promoters" && (o["archived_at"] != nil) != archived ||
				payout != "" && strconv.Itoa(Numeric(o["payout"].(string))) != payout
		})
		shown, _ := all.page(objects, page, size)
		if name == "promoters" {
			answerJSON(w, http.StatusOK, Object{"data": shown, "meta": Object{"pending_count": 0}})
			return
		}
		answerJSON(w, http.StatusOK, shown)
	})
}

// firstPromoter makes the objects of a world.
type firstPromoter struct{ *World }

func (f firstPromoter) promoters() []Object {
	groups := map[string]string{}
	for _, row := range f.Partners {
		groups[row.ID] = row.Partner.Group
	}
	states, campaigns := map[string]string{}, map[string][]Object{}
	for _, row := range f.Partners {
		states[row.ID] = map[string]string{
			source.Active: "accepted", source.Pending: "pending", source.Declined: "rejected", source.Suspended: "blocked",
		}[row.Partner.Status]
	}
	for _, row := range f.Links {
		partner := row.Link.PartnerID
		c := f.campaign(row.ID, partner)
		c["created_at"] = row.Link.CreatedAt
		c["state"] = states[partner]
		c["campaign"] = Object{"id": 1, "name": groups[partner]}
		c["ref_token"] = row.Link.Value
		c["ref_link"] = row.Link.URL + "?fpr=" + row.Link.Value
		campaigns[partner] = append(campaigns[partner], c)
	}
	return objectsOf(f.Partners, func(row source.Row) Object { return f.promoter(row, campaigns[row.ID]) })
}

func (firstPromoter) promoter(row source.Row, campaigns []Object) Object {
	p := row.Partner
	o := Object{
		"id":                 Numeric(row.ID),
		"email":              p.Email,
		"name":               p.FirstName + " " + p.LastName,
		"cust_id":            nil,
		"joined_at":          p.CreatedAt,
		"archived_at":        nil,
		"promoter_campaigns": campaigns,
		"profile": Object{
			"first_name":   p.FirstName,
			"last_name":    p.LastName,
			"country":      p.CountryCode,
			"website":      nil,
			"company_name": nil,
		},
	}
	if p.Status == source.Suspended {
		o["archived_at"] = p.CreatedAt
	}
	return o
}

// campaign is the membership of a promoter in a campaign, named by a link.
func (firstPromoter) campaign(link, partner string) Object {
	return Object{
		"id":          Numeric(link),
		"campaign_id": 1,
		"promoter_id": Numeric(partner),
		"promoter":    Object{"id": Numeric(partner)},
	}
}

// firstLinks are the first links of partners.
func (f firstPromoter) firstLinks() map[string]string {
	first := map[string]string{}
	for _, row := range slices.Backward(f.Links) {
		first[row.Link.PartnerID] = row.ID
	}
	return first
}

func (f firstPromoter) codes() []Object {
	first := f.firstLinks()
	return objectsOf(f.Coupons, func(row source.Row) Object {
		o := Object{
			"id":                   Numeric(row.ID),
			"code":                 row.Coupon.Code,
			"ext_id":               row.Coupon.ExternalID,
			"promoter_campaign_id": Numeric(first[row.Coupon.PartnerID]),
			"archived_at":          nil,
		}
		if !row.Coupon.Active {
			o["archived_at"] = row.Coupon.CreatedAt
		}
		return o
	})
}

func (f firstPromoter) referrals() []Object {
	first := f.firstLinks()
	return objectsOf(f.Customers, func(row source.Row) Object {
		c := row.Customer
		firstName, family, _ := strings.Cut(c.Name, " ")
		o := Object{
			"id":                Numeric(row.ID),
			"email":             c.Email,
			"uid":               c.ExternalIDs[0],
			"state":             "signup",
			"entry_source":      "cookie",
			"first_name":        firstName,
			"last_name":         family,
			"username":          nil,
			"created_at":        c.CreatedAt,
			"customer_since":    orNull(c.ConvertedAt),
			"promoter_campaign": f.campaign(first[c.PartnerID], c.PartnerID),
		}
		if c.Status == source.Paying {
			o["state"] = "active"
		}
		if c.CouponID != "" {
			o["entry_source"] = "coupon"
		}
		return o
	})
}

func (f firstPromoter) commissions() []Object {
	first, sales := f.firstLinks(), byID(f.Sales)
	return objectsOf(f.Commissions, func(row source.Row) Object {
		k, sale := row.Commission, sales[row.Commission.SaleID].Sale
		status, updated := "approved", k.CreatedAt
		switch k.Status {
		case source.Open:
			status = "pending"
		case source.Voided, source.Rejected:
			status = "denied"
		}
		for _, at := range []*clock.Time{k.PaidAt, k.VoidedAt} {
			if at != nil {
				updated = *at
			}
		}
		return Object{
			"id":                     Numeric(row.ID),
			"status":                 status,
			"commission_type":        "sale",
			"unit":                   "cash",
			"amount":                 k.AmountMinor,
			"is_paid":                k.Status == source.Paid,
			"is_split":               false,
			"tier":                   1,
			"sale_amount":            sale.AmountMinor,
			"original_sale_amount":   sale.AmountMinor,
			"original_sale_currency": sale.Currency,
			"event_id":               sale.ChargeID,
			"external_note":          k.Reason,
			"created_at":             k.CreatedAt,
			"status_updated_at":      updated,
			"promoter_campaign":      f.campaign(first[k.PartnerID], k.PartnerID),
			"referral":               Object{"id": Numeric(k.CustomerID)},
			"payout":                 k.PayoutID, // for the filter
		}
	})
}

func (firstPromoter) payout(row source.Row) Object {
	p := row.Payout
	return Object{
		"id":            Numeric(row.ID),
		"status":        "completed",
		"amount":        p.AmountMinor,
		"unit":          "cash",
		"paid_at":       orNull(p.PaidAt),
		"created_at":    p.CreatedAt,
		"promoter":      Object{"id": Numeric(p.PartnerID)},
		"payout_method": Object{"id": 1, "method": p.Method},
	}
}
