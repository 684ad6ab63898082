package importtest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rail/server/clock"
	"rail/server/inbound/importer/source"
)

// The key and the program that the fake of Tolt takes.
const (
	ToltKey     = "tolt-key"
	ToltProgram = "prg_1"
)

// Tolt is Tolt's API for a world with one currency: pages after an object, related objects on request, amounts in cents
// as text, no payouts. Its lists are partners, links, promotion-codes, customers (in a different envelope),
// transactions and commissions.
func Tolt(w *World, odd Oddities) http.Handler {
	f := tolt{w}
	all := newLists(odd, map[string]func() []Object{
		"partners":        func() []Object { return objectsOf(w.Partners, f.partner) },
		"links":           func() []Object { return objectsOf(w.Links, f.link) },
		"promotion-codes": func() []Object { return objectsOf(w.Coupons, f.code) },
		"customers":       func() []Object { return objectsOf(w.Customers, f.customer) },
		"transactions":    func() []Object { return objectsOf(w.Sales, f.transaction) },
		"commissions":     func() []Object { return objectsOf(w.Commissions, f.commission) },
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, name := r.URL.Query(), strings.TrimPrefix(r.URL.Path, "/v1/")
		after := query.Get("starting_after")
		objects, ok := all.get(name, after == "")
		from := 1 + slices.IndexFunc(objects, func(o Object) bool { return o["id"] == after })
		switch {
		case r.Header.Get("Authorization") != "Bearer "+ToltKey:
			answerJSON(w, http.StatusUnauthorized, Object{"success": false, "message": "Unauthorized"})
			return
		case !ok || query.Get("program_id") != ToltProgram:
			answerJSON(w, http.StatusNotFound, Object{"success": false, "message": "Not found"})
			return
		case after != "" && from == 0:
			answerJSON(w, http.StatusBadRequest, Object{"success": false, "message": "Invalid starting_after"})
			return
		}
		limit := parameter(query, "limit", 10, 100)
		if from == len(objects) && odd.PastEnd {
			from = max(len(objects)-limit, 0)
		}
		to := min(from+limit, len(objects))
		shown := []Object{}
		for _, object := range objects[from:to] {
			shown = append(shown, toltExpand(object, query["expand[]"]))
		}
		var data any = shown
		if name == "customers" {
			data = Object{"data": shown}
		}
		answerJSON(w, http.StatusOK, Object{
			"success":     true,
			"has_more":    to < len(objects) || odd.PastEnd,
			"total_count": len(objects),
			"data":        data,
		})
	})
}

// toltExpand returns an object with the requested related objects.
func toltExpand(object Object, requested []string) Object {
	shown := Object{}
	for name, value := range object {
		if _, related := value.(Object); !related || slices.Contains(requested, name) {
			shown[name] = value
		}
	}
	return shown
}

// tolt makes the objects of a world.
type tolt struct{ *World }

var toltProgram = Object{"id": ToltProgram, "currency_code": "USD", "payout_term": "30"}

func (tolt) partner(row source.Row) Object {
	p := row.Partner
	status := p.Status
	if status == source.Declined {
		status = "rejected"
	}
	return Object{
		"id":           row.ID,
		"email":        p.Email,
		"first_name":   p.FirstName,
		"last_name":    p.LastName,
		"company_name": nil,
		"country_code": p.CountryCode,
		"status":       status,
		"created_at":   p.CreatedAt,
		"group":        Object{"id": "grp_" + p.Group, "name": p.Group},
		"program":      toltProgram,
	}
}

func (tolt) link(row source.Row) Object {
	l := row.Link
	return Object{
		"id":         row.ID,
		"param":      l.Param,
		"value":      l.Value,
		"partner_id": l.PartnerID,
		"created_at": l.CreatedAt,
	}
}

func (tolt) code(row source.Row) Object {
	c := row.Coupon
	return Object{
		"id":         row.ID,
		"code":       c.Code,
		"type":       "percentage",
		"value":      20,
		"active":     c.Active,
		"partner_id": c.PartnerID,
		"created_at": c.CreatedAt,
	}
}

func (tolt) customer(row source.Row) Object {
	c := row.Customer
	o := Object{
		"id":                row.ID,
		"customer_id":       ToltCustomer(c.ExternalIDs[0]),
		"email":             c.Email,
		"name":              c.Name,
		"status":            c.Status,
		"created_at":        c.CreatedAt,
		"lead_at":           c.LeadAt,
		"active_at":         orNull(c.ConvertedAt),
		"partner_id":        c.PartnerID,
		"promotion_code_id": nil,
	}
	if c.CouponID != "" {
		o["promotion_code_id"] = c.CouponID
	}
	return o
}

// ToltCustomer returns the merchant's own id of the customer whom the processor calls id.
func ToltCustomer(id string) string { return "user-" + strconv.Itoa(Numeric(id)) }

func (tolt) transaction(row source.Row) Object {
	s := row.Sale
	o := Object{
		"id":           row.ID,
		"amount":       strconv.FormatInt(s.AmountMinor, 10),
		"currency":     s.Currency,
		"status":       "paid",
		"billing_type": "subscription",
		"interval":     "month",
		"charge_id":    s.ChargeID,
		"customer_id":  s.CustomerID,
		"partner_id":   s.PartnerID,
		"created_at":   s.OccurredAt,
		"updated_at":   s.OccurredAt,
		"program":      toltProgram,
	}
	if s.RefundedAt != nil {
		o["status"], o["updated_at"] = "refunded", *s.RefundedAt
	}
	return o
}

func (tolt) commission(row source.Row) Object {
	k := row.Commission
	status := map[string]string{source.Due: "approved", source.Voided: "refunded"}[k.Status]
	if status == "" {
		status = k.Status
	}
	updated := k.CreatedAt
	for _, at := range []*clock.Time{k.PaidAt, k.VoidedAt} {
		if at != nil {
			updated = *at
		}
	}
	return Object{
		"id":             row.ID,
		"amount":         strconv.FormatInt(k.AmountMinor, 10),
		"revenue":        nil,
		"status":         status,
		"customer_id":    k.CustomerID,
		"transaction_id": k.SaleID,
		"charge_id":      nil,
		"created_at":     k.CreatedAt,
		"updated_at":     updated,
		"partner":        Object{"id": k.PartnerID},
		"program":        toltProgram,
	}
}
