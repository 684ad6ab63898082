package importtest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rail/server/clock"
	"rail/server/inbound/importer/source"
)

// PartnerStackKey is the key that the fake of PartnerStack takes, public and secret part.
const PartnerStackKey = "pk_public:sk_secret"

// PartnerStack is PartnerStack's API for a world: pages after a key, in an envelope, newest first unless requested
// otherwise, amounts in cents, times in milliseconds, and links with a request for each partner. Its lists are
// partnerships, links, customers, transactions and rewards. A transaction's key is the charge of the world's sale.
func PartnerStack(w *World, odd Oddities) http.Handler {
	p := partnerstack{w}
	all := newLists(odd, map[string]func() []Object{
		"partnerships": func() []Object { return objectsOf(w.Partners, p.partner) },
		"links":        func() []Object { return objectsOf(w.Links, p.link) },
		"customers":    func() []Object { return objectsOf(w.Customers, p.customer) },
		"transactions": p.transactions,
		"rewards":      p.rewards,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if public, secret, _ := r.BasicAuth(); public+":"+secret != PartnerStackKey {
			answerJSON(w, http.StatusUnauthorized, Object{"message": "Unauthorized", "status": "401"})
			return
		}
		path, partner, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v2/"), "/partnership/")
		objects, ok := all.get(path, !r.URL.Query().Has("starting_after"))
		if !ok {
			answerJSON(w, http.StatusNotFound, Object{"message": "Not found", "status": "404"})
			return
		}
		shown, more := all.stackPage(stackFilter(path, objects, partner, r.URL.Query()), r.URL.Query())
		answerJSON(w, http.StatusOK, Object{
			"data": Object{"items": shown, "has_more": more}, "message": "Page returned successfully", "status": 200,
		})
	})
}

// stackFilter selects objects. Scheduled rewards are shown only on request, archived partnerships too.
func stackFilter(path string, objects []Object, partner string, query url.Values) []Object {
	since, _ := strconv.ParseInt(query.Get("min_updated"), 10, 64)
	return slices.DeleteFunc(slices.Clone(objects), func(o Object) bool {
		updated, _ := o["updated_at"].(int64)
		switch path {
		case "partnerships":
			return o["archived"] == true && query.Get("include_archived") != "true"
		case "links":
			return o["partnership"] != partner
		case "customers":
			return updated < since
		case "rewards":
			return (o["reward_status"] == "scheduled") != (query.Get("status") == "scheduled")
		}
		return false
	})
}

func (l *lists) stackPage(objects []Object, query url.Values) (shown []Object, more bool) {
	if query.Get("order_by") == "created_at" {
		slices.Reverse(objects)
	}
	size := parameter(query, "limit", 10, 250)
	shown = l.after(objects, "key", query.Get("starting_after"), size)
	last := len(shown) == 0 || len(objects) == 0 || shown[len(shown)-1]["key"] == objects[len(objects)-1]["key"]
	return shown, !last || l.odd.PastEnd
}

// millis returns a time as PartnerStack gives it.
func millis(at clock.Time) int64 { return at.UnixMilli() }

// partnerstack makes the objects of a world.
type partnerstack struct{ *World }

func (partnerstack) partner(row source.Row) Object {
	p := row.Partner
	status := map[string]string{source.Pending: "pending", source.Declined: "declined"}[p.Status]
	if status == "" {
		status = "approved"
	}
	return Object{
		"key":             row.ID,
		"partner_key":     "key" + row.ID,
		"email":           p.Email,
		"first_name":      p.FirstName,
		"last_name":       p.LastName,
		"address":         Object{"country": p.CountryCode},
		"group":           Object{"key": "grup_1", "name": p.Group, "slug": strings.ToLower(p.Group)},
		"approved_status": status,
		"archived":        p.Status == source.Suspended,
		"stats":           Object{"CUSTOMER_COUNT": 0},
		"created_at":      millis(p.CreatedAt),
		"updated_at":      millis(p.CreatedAt),
	}
}

func (partnerstack) link(row source.Row) Object {
	return Object{
		"key":         row.Link.Value,
		"dest":        row.Link.URL,
		"url":         "https://get.example/" + row.Link.Value,
		"partnership": row.Link.PartnerID,
		"created_at":  millis(row.Link.CreatedAt),
	}
}

func (partnerstack) customer(row source.Row) Object {
	c := row.Customer
	updated := c.CreatedAt
	if c.ConvertedAt != nil {
		updated = *c.ConvertedAt
	}
	return Object{
		"key":             row.ID,
		"name":            c.Name,
		"email":           c.Email,
		"customer_key":    "user-" + c.ExternalIDs[0],
		"provider_key":    c.ExternalIDs[0],
		"partnership_key": c.PartnerID,
		"has_paid":        c.ConvertedAt != nil,
		"test":            false,
		"created_at":      millis(c.CreatedAt),
		"updated_at":      millis(updated),
	}
}

func (p partnerstack) transactions() []Object {
	return objectsOf(p.Sales, func(row source.Row) Object {
		s := row.Sale
		o := p.transaction(row)
		o["key"] = s.ChargeID
		o["partnership_key"] = s.PartnerID
		o["customer"] = Object{"key": s.CustomerID}
		return o
	})
}

// transaction returns a transaction as within a reward, without its key.
func (partnerstack) transaction(row source.Row) Object {
	s := row.Sale
	updated := s.OccurredAt
	if s.RefundedAt != nil {
		updated = *s.RefundedAt
	}
	return Object{
		"amount":      s.AmountMinor,
		"amount_usd":  s.AmountMinor,
		"currency":    s.Currency,
		"product_key": nil,
		"archived":    s.RefundedMinor > 0,
		"created_at":  millis(s.OccurredAt),
		"updated_at":  millis(updated),
	}
}

// rewards are the commissions. A commission that is not yet due is scheduled: its creation is the day on which it is due.
func (p partnerstack) rewards() []Object {
	sales := byID(p.Sales)
	states := map[string]string{
		source.Open: "scheduled", source.Due: "approved", source.Paid: "approved", source.Voided: "declined",
		source.Rejected: "declined",
	}
	return objectsOf(p.Commissions, func(row source.Row) Object {
		k, s := row.Commission, sales[row.Commission.SaleID]
		o := Object{
			"key":             row.ID,
			"amount":          k.AmountMinor,
			"currency":        "USD",
			"reward_status":   states[k.Status],
			"payment_status":  nil,
			"payment_date":    nil,
			"decline_reason":  nil,
			"partnership_key": k.PartnerID,
			"customer":        Object{"key": k.CustomerID},
			"source":          Object{"type": "transaction", "key": s.Sale.ChargeID},
			"transaction":     p.transaction(s),
			"created_at":      millis(k.CreatedAt),
			"updated_at":      millis(lastOf(k.CreatedAt, k.PaidAt, k.VoidedAt)),
		}
		switch k.Status {
		case source.Open:
			o["created_at"] = millis(*k.MatureAt)
		case source.Paid:
			o["payment_status"], o["payment_date"] = "withdrawn", millis(*k.PaidAt)
		case source.Voided, source.Rejected:
			o["decline_reason"] = k.Reason
		}
		return o
	})
}
