package importtest

import (
	"net/http"
	"strconv"
	"strings"

	"rail/server/inbound/importer/source"
)

// AffiliateWPKey is the key that the fake of AffiliateWP takes, public key and token.
const AffiliateWPKey = "wp-public:wp-token"

// AffiliateWP is AffiliateWP's API for a world in one currency: bare lists by offset, 404 instead of an empty list,
// numeric ids, amounts as text, and times without a zone. Its lists are affiliates, referrals and payouts.
func AffiliateWP(w *World, odd Oddities) http.Handler {
	p := wordpress{w}
	all := newLists(odd, map[string]func() []Object{
		"affiliates": func() []Object { return objectsOf(w.Partners, p.affiliate) },
		"referrals":  func() []Object { return objectsOf(w.Commissions, p.referral) },
		"payouts":    p.payouts,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if public, token, _ := r.BasicAuth(); public+":"+token != AffiliateWPKey {
			answerJSON(w, http.StatusUnauthorized, Object{"code": "rest_forbidden", "data": Object{"status": 401}})
			return
		}
		name, query := strings.TrimPrefix(r.URL.Path, "/wp-json/affwp/v1/"), r.URL.Query()
		offset, _ := strconv.Atoi(query.Get("offset"))
		objects, ok := all.get(name, offset == 0)
		if !ok {
			answerJSON(w, http.StatusNotFound, Object{"code": "rest_no_route", "data": Object{"status": 404}})
			return
		}
		from := min(offset, len(objects))
		shown := objects[from:min(from+parameter(query, "number", 20, 1000), len(objects))]
		if len(shown) == 0 {
			answerJSON(w, http.StatusNotFound, Object{"code": "no_" + name, "data": Object{"status": 404}})
			return
		}
		answerJSON(w, http.StatusOK, shown)
	})
}

// wordpress makes the objects of a world.
type wordpress struct{ *World }

func (wordpress) affiliate(row source.Row) Object {
	p := row.Partner
	status := map[string]string{source.Suspended: "inactive", source.Declined: "rejected"}[p.Status]
	if status == "" {
		status = p.Status
	}
	return Object{
		"id":              Numeric(row.ID),
		"affiliate_id":    Numeric(row.ID),
		"user_id":         Numeric(row.ID) + 1000,
		"rate":            "",
		"payment_email":   "",
		"status":          status,
		"earnings":        0,
		"date_registered": p.CreatedAt.Format("2006-01-02 15:04:05"),
		"user": Object{
			"user_login": "user" + row.ID,
			"user_email": p.Email,
			"first_name": p.FirstName,
			"last_name":  p.LastName,
			"user_url":   "",
		},
	}
}

func (wordpress) referral(row source.Row) Object {
	k := row.Commission
	states := map[string]string{
		source.Open: "pending", source.Due: "unpaid", source.Paid: "paid", source.Voided: "rejected",
		source.Rejected: "rejected",
	}
	payout := "0"
	if k.PayoutID != "" {
		payout = strconv.Itoa(Numeric(k.PayoutID))
	}
	return Object{
		"id":           Numeric(row.ID),
		"referral_id":  Numeric(row.ID),
		"affiliate_id": Numeric(k.PartnerID),
		"payout_id":    payout,
		"amount":       decimal(k.AmountMinor, k.Currency).String(),
		"currency":     strings.ToLower(k.Currency),
		"status":       states[k.Status],
		"description":  k.Reason,
		"reference":    k.SaleID,
		"date":         k.CreatedAt.Format("2006-01-02 15:04:05"),
	}
}

func (p wordpress) payouts() []Object {
	referrals := map[string][]string{}
	for _, row := range p.Commissions {
		id := row.Commission.PayoutID
		referrals[id] = append(referrals[id], strconv.Itoa(Numeric(row.ID)))
	}
	return objectsOf(p.Payouts, func(row source.Row) Object {
		return Object{
			"id":            Numeric(row.ID),
			"payout_id":     Numeric(row.ID),
			"affiliate_id":  Numeric(row.Payout.PartnerID),
			"referrals":     strings.Join(referrals[row.ID], ","),
			"amount":        decimal(row.Payout.AmountMinor, row.Payout.Currency).String(),
			"payout_method": row.Payout.Method,
			"status":        row.Payout.Status,
			"date":          row.Payout.PaidAt.Format("2006-01-02 15:04:05"),
		}
	})
}
