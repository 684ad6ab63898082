package importtest

import (
	"net/http"
	"slices"
	"strings"

	"rail/server/clock"
	"rail/server/inbound/importer/source"
)

// RewardfulKey is the key that the fake of Rewardful takes.
const RewardfulKey = "rewardful-secret"

// Rewardful is Rewardful's API for a world: pages with numbers and totals, related objects on request, amounts in
// cents. Its lists are affiliates, affiliate_coupons, referrals, commissions and payouts.
func Rewardful(w *World, odd Oddities) http.Handler {
	r := rewardful{w}
	return serveRewardful(newLists(odd, map[string]func() []Object{
		"affiliates":        r.affiliates,
		"affiliate_coupons": func() []Object { return objectsOf(w.Coupons, r.coupon) },
		"referrals":         r.referrals,
		"commissions":       r.commissions,
		"payouts":           r.payouts,
	}))
}

func serveRewardful(all *lists) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key, password, _ := r.BasicAuth(); key != RewardfulKey || password != "" {
			answerJSON(w, http.StatusUnauthorized, Object{"error": "Invalid API Secret."})
			return
		}
		query := r.URL.Query()
		page, limit := parameter(query, "page", 1, 1<<30), parameter(query, "limit", 25, 100)
		objects, ok := all.get(strings.TrimPrefix(r.URL.Path, "/v1/"), page == 1)
		if !ok {
			answerJSON(w, http.StatusNotFound, Object{"error": "Not found."})
			return
		}
		objects = rewardfulFilter(objects, query["conversion_state[]"], query.Get("updated_since"))
		shown, pages := all.page(objects, page, limit)
		answer := []Object{}
		for _, object := range shown {
			answer = append(answer, expand(object, query["expand[]"]))
		}
		var next any
		if page < pages {
			next = page + 1
		}
		answerJSON(w, http.StatusOK, Object{"data": answer, "pagination": Object{
			"current_page": page,
			"next_page":    next,
			"count":        len(answer),
			"limit":        limit,
			"total_pages":  pages,
			"total_count":  len(objects),
		}})
	})
}

// rewardfulFilter selects referrals by state and last change.
func rewardfulFilter(objects []Object, states []string, since string) []Object {
	after, err := clock.Parse(since)
	return slices.DeleteFunc(slices.Clone(objects), func(o Object) bool {
		state, isReferral := o["conversion_state"].(string)
		updated, _ := o["updated_at"].(clock.Time)
		return isReferral && (len(states) > 0 && !slices.Contains(states, state) ||
			err == nil && !updated.After(after.Time))
	})
}

// expandable are the members of objects that are left out, or are only an id, unless they are requested.
var expandable = map[string]bool{"campaign": true, "links": true, "affiliate": true, "sale": true, "commissions": true}

// expand returns an object with the requested related objects.
func expand(object Object, requested []string) Object {
	shown := Object{}
	for name, value := range object {
		switch {
		case !expandable[name] || slices.Contains(requested, name):
			shown[name] = value
		case name == "affiliate" || name == "campaign":
			if related, ok := value.(Object); ok {
				shown[name] = Object{"id": related["id"]}
			}
		}
	}
	return shown
}

// rewardful makes the objects of a world.
type rewardful struct{ *World }

func (r rewardful) affiliates() []Object {
	links := map[string][]Object{}
	for _, l := range r.Links {
		links[l.Link.PartnerID] = append(links[l.Link.PartnerID], r.link(l))
	}
	return objectsOf(r.Partners, func(row source.Row) Object { return r.affiliate(row, links[row.ID]) })
}

func (rewardful) affiliate(row source.Row, links []Object) Object {
	p := row.Partner
	state := map[string]string{source.Suspended: "disabled", source.Declined: "rejected"}[p.Status]
	if state == "" {
		state = p.Status
	}
	return Object{
		"id":         row.ID,
		"email":      p.Email,
		"first_name": p.FirstName,
		"last_name":  p.LastName,
		"state":      state,
		"created_at": p.CreatedAt,
		"updated_at": p.CreatedAt,
		"campaign":   Object{"id": "campaign-" + p.Group, "name": p.Group},
		"links":      links,
	}
}

func (rewardful) link(row source.Row) Object {
	return Object{"id": row.ID, "url": row.Link.URL + "?via=" + row.Link.Value, "token": row.Link.Value}
}

func (rewardful) coupon(row source.Row) Object {
	return Object{
		"id":           row.ID,
		"external_id":  row.Coupon.ExternalID,
		"token":        row.Coupon.Code,
		"affiliate_id": row.Coupon.PartnerID,
		"archived":     !row.Coupon.Active,
	}
}

// referrals are the customers, and one visitor.
func (r rewardful) referrals() []Object {
	links, coupons := byID(r.Links), byID(r.Coupons)
	all := objectsOf(r.Customers, func(row source.Row) Object { return r.referral(row, links, coupons) })
	return append(all, Object{
		"id":               "visitor",
		"conversion_state": "visitor",
		"customer":         nil,
		"affiliate":        Object{"id": r.Partners[0].ID},
		"created_at":       r.Now,
		"updated_at":       r.Now,
	})
}

func (rewardful) referral(row source.Row, links, coupons map[string]source.Row) Object {
	c := row.Customer
	o := Object{
		"id":                   row.ID,
		"affiliate":            Object{"id": c.PartnerID},
		"link":                 nil,
		"coupon":               nil,
		"stripe_customer_id":   c.ExternalIDs[0],
		"conversion_state":     "lead",
		"created_at":           c.CreatedAt,
		"became_lead_at":       c.LeadAt,
		"became_conversion_at": orNull(c.ConvertedAt),
		"updated_at":           c.LeadAt,
		"customer":             Object{"id": c.ExternalIDs[0], "name": c.Name, "email": c.Email, "platform": "stripe"},
	}
	if c.ConvertedAt != nil {
		o["conversion_state"], o["updated_at"] = "conversion", *c.ConvertedAt
	}
	if c.LinkID != "" {
		o["link"] = rewardful{}.link(links[c.LinkID])
	}
	if c.CouponID != "" {
		o["coupon"] = rewardful{}.coupon(coupons[c.CouponID])
	}
	return o
}

func (r rewardful) commissions() []Object {
	sales, customers := byID(r.Sales), byID(r.Customers)
	return objectsOf(r.Commissions, func(row source.Row) Object {
		k := row.Commission
		state := map[string]string{source.Open: "pending", source.Due: "due", source.Paid: "paid"}[k.Status]
		if state == "" {
			state = "voided"
		}
		o := Object{
			"id":         row.ID,
			"amount":     k.AmountMinor,
			"currency":   k.Currency,
			"state":      state,
			"created_at": k.CreatedAt,
			"due_at":     orNull(k.MatureAt),
			"paid_at":    orNull(k.PaidAt),
			"voided_at":  orNull(k.VoidedAt),
		}
		if s := sales[k.SaleID]; s.Sale != nil {
			o["sale"] = r.sale(s, customers[s.Sale.CustomerID])
		}
		return o
	})
}

func (rewardful) sale(row, customer source.Row) Object {
	s := row.Sale
	return Object{
		"id":                  row.ID,
		"currency":            s.Currency,
		"charged_at":          s.OccurredAt,
		"stripe_charge_id":    s.ChargeID,
		"charge_amount_cents": s.AmountMinor,
		"refund_amount_cents": s.RefundedMinor,
		"tax_amount_cents":    0,
		"sale_amount_cents":   s.AmountMinor - s.RefundedMinor,
		"referral":            Object{"id": customer.ID, "stripe_customer_id": customer.Customer.ExternalIDs[0]},
		"affiliate":           Object{"id": s.PartnerID},
	}
}

func (r rewardful) payouts() []Object {
	paid := map[string][]Object{}
	for _, row := range r.Commissions {
		if id := row.Commission.PayoutID; id != "" {
			paid[id] = append(paid[id], Object{"id": row.ID, "amount": row.Commission.AmountMinor})
		}
	}
	return objectsOf(r.Payouts, func(row source.Row) Object {
		p := row.Payout
		return Object{
			"id":          row.ID,
			"amount":      p.AmountMinor,
			"currency":    p.Currency,
			"state":       p.Status,
			"paid_at":     orNull(p.PaidAt),
			"created_at":  p.CreatedAt,
			"affiliate":   Object{"id": p.PartnerID},
			"commissions": paid[row.ID],
		}
	})
}
