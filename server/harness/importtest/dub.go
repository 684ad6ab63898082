package importtest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rail/server/clock"
	"rail/server/inbound/importer/source"
)

// DubKey is the key that the fake of Dub takes.
const DubKey = "dub_key"

// Dub is Dub's API for a world in US dollars: bare lists without totals, by page, or in the order of ids before or after
// one, amounts in cents. Its lists are partners, customers, commissions, payouts and discount-codes. Commissions that are
// duplicate, fraud or canceled need that status as a filter.
func Dub(w *World, odd Oddities) http.Handler {
	d := dub{w}
	all := newLists(odd, map[string]func() []Object{
		"partners":       d.partners,
		"customers":      d.customers,
		"commissions":    d.commissions,
		"payouts":        func() []Object { return objectsOf(w.Payouts, d.payout) },
		"discount-codes": func() []Object { return objectsOf(w.Coupons, d.code) },
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+DubKey {
			answerJSON(w, http.StatusUnauthorized, Object{"error": Object{"code": "unauthorized"}})
			return
		}
		query := r.URL.Query()
		page := parameter(query, "page", 1, 1<<30)
		list := strings.Trim(r.URL.Path, "/")
		objects, ok := all.get(list, page == 1 && !query.Has("startingAfter") && !query.Has("endingBefore"))
		if !ok {
			answerJSON(w, http.StatusNotFound, Object{"error": Object{"code": "not_found"}})
			return
		}
		answerJSON(w, http.StatusOK, all.dubPage(dubFilter(list, objects, query), query, page))
	})
}

// dubFilter returns the discount codes of a partner, or the commissions of a status.
func dubFilter(list string, objects []Object, query url.Values) []Object {
	hidden := []string{"duplicate", "fraud", "canceled"}
	return slices.DeleteFunc(slices.Clone(objects), func(o Object) bool {
		status, _ := o["status"].(string)
		switch {
		case list == "discount-codes":
			return o["partnerId"] != query.Get("partnerId")
		case list != "commissions":
			return false
		case query.Has("status"):
			return status != query.Get("status")
		}
		return slices.Contains(hidden, status)
	})
}

// dubPage returns a page.
func (l *lists) dubPage(objects []Object, query url.Values, page int) []Object {
	if query.Get("sortOrder") == "asc" {
		slices.Reverse(objects)
	}
	size := parameter(query, "pageSize", 100, 100)
	after, before := query.Get("startingAfter"), query.Get("endingBefore")
	if after+before == "" {
		shown, _ := l.page(objects, page, size)
		return shown
	}
	slices.SortStableFunc(objects, func(a, b Object) int { return strings.Compare(dubID(a), dubID(b)) })
	shown := slices.DeleteFunc(slices.Clone(objects), func(o Object) bool {
		return after != "" && dubID(o) <= after || before != "" && dubID(o) >= before
	})
	fromEnd := before != ""
	if len(shown) == 0 && l.odd.PastEnd {
		shown, fromEnd = objects, !fromEnd
	}
	if fromEnd {
		return shown[max(len(shown)-size, 0):]
	}
	return shown[:min(size, len(shown))]
}

func dubID(o Object) string {
	id, _ := o["id"].(string)
	return id
}

// after returns the objects after the one with an id. With PastEnd, the end repeats the last page.
func (l *lists) after(objects []Object, member, id string, size int) []Object {
	at := slices.IndexFunc(objects, func(o Object) bool { return o[member] == id })
	if at+1 == len(objects) && l.odd.PastEnd {
		return objects[max(len(objects)-size, 0):]
	}
	return objects[at+1 : min(at+1+size, len(objects))]
}

// dub makes the objects of a world.
type dub struct{ *World }

func (d dub) partners() []Object {
	links := map[string][]Object{}
	for _, l := range d.Links {
		links[l.Link.PartnerID] = append(links[l.Link.PartnerID], Object{
			"id":        l.ID,
			"domain":    "refer.example",
			"key":       l.Link.Value,
			"shortLink": "https://refer.example/" + l.Link.Value,
			"url":       l.Link.URL + "?" + l.Link.Param + "=" + url.QueryEscape(l.Link.Value),
		})
	}
	states := map[string]string{
		source.Active: "approved", source.Pending: "pending", source.Suspended: "banned", source.Declined: "rejected",
	}
	return objectsOf(d.Partners, func(row source.Row) Object {
		p := row.Partner
		return Object{
			"id":          row.ID,
			"name":        p.FirstName + " " + p.LastName,
			"companyName": nil,
			"email":       p.Email,
			"country":     p.CountryCode,
			"website":     nil,
			"status":      states[p.Status],
			"groupId":     p.Group,
			"tenantId":    nil,
			"createdAt":   p.CreatedAt,
			"links":       links[row.ID],
			"earnings":    0,
		}
	})
}

func (dub) code(row source.Row) Object {
	return Object{"id": row.ID, "code": row.Coupon.Code, "discountId": "disc_1", "partnerId": row.Coupon.PartnerID}
}

// customers are those of partners, and one of another link.
func (d dub) customers() []Object {
	all := objectsOf(d.Customers, func(row source.Row) Object {
		c := row.Customer
		o := Object{
			"id":                     row.ID,
			"externalId":             "user-" + c.ExternalIDs[0],
			"stripeCustomerId":       c.ExternalIDs[0],
			"name":                   c.Name,
			"email":                  c.Email,
			"createdAt":              c.CreatedAt,
			"firstSaleAt":            orNull(c.ConvertedAt),
			"subscriptionCanceledAt": nil,
			"sales":                  0,
			"programId":              "prog_1",
			"partner":                Object{"id": c.PartnerID},
			"link":                   nil,
		}
		if c.LinkID != "" {
			o["link"] = Object{"id": c.LinkID}
		}
		return o
	})
	return append(all, Object{
		"id": "other-link", "externalId": "user-0", "createdAt": d.Now, "programId": nil, "partner": nil, "link": nil,
	})
}

func (d dub) commissions() []Object {
	sales := byID(d.Sales)
	states := map[string]string{
		source.Open: "pending", source.Due: "processed", source.Paid: "paid", source.Voided: "refunded",
		source.Rejected: "fraud",
	}
	return objectsOf(d.Commissions, func(row source.Row) Object {
		k := row.Commission
		o := Object{
			"id":          row.ID,
			"type":        "custom",
			"amount":      0,
			"earnings":    k.AmountMinor,
			"currency":    "usd",
			"status":      states[k.Status],
			"invoiceId":   nil,
			"description": k.Reason,
			"quantity":    1,
			"createdAt":   k.CreatedAt,
			"updatedAt":   lastOf(k.CreatedAt, k.PaidAt, k.VoidedAt),
			"paidAt":      orNull(k.PaidAt),
			"partner":     Object{"id": k.PartnerID},
			"customer":    nil,
		}
		if s := sales[k.SaleID].Sale; s != nil {
			o["type"], o["amount"], o["invoiceId"] = "sale", s.AmountMinor, s.ChargeID
			o["customer"] = Object{"id": s.CustomerID}
		}
		return o
	})
}

// lastOf returns the last of times in order that is known.
func lastOf(first clock.Time, others ...*clock.Time) clock.Time {
	for _, other := range others {
		if other != nil {
			first = *other
		}
	}
	return first
}

func (dub) payout(row source.Row) Object {
	p := row.Payout
	status := "completed"
	if p.Status != source.Paid {
		status = p.Status
	}
	return Object{
		"id":          row.ID,
		"amount":      p.AmountMinor,
		"currency":    "USD",
		"status":      status,
		"createdAt":   p.CreatedAt,
		"initiatedAt": orNull(p.PaidAt),
		"paidAt":      orNull(p.PaidAt),
		"partner":     Object{"id": p.PartnerID},
	}
}
