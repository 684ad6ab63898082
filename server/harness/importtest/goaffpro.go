package importtest

import (
	"net/http"
	"slices"
	"strings"

	"rail/server/inbound/importer/source"
)

// GoAffProKey is the key that the fake of GoAffPro takes.
const GoAffProKey = "goaffpro-token"

// GoAffPro is GoAffPro's API for a world: affiliates with the requested fields, with totals, and pages past the end
// that repeat the last one. Its list is affiliates.
func GoAffPro(w *World, odd Oddities) http.Handler {
	odd.PastEnd = true
	all := newLists(odd, map[string]func() []Object{"affiliates": func() []Object { return goaffproAffiliates(w) }})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Goaffpro-Access-Token") != GoAffProKey {
			answerJSON(w, http.StatusForbidden, Object{"error": "invalid access token"})
			return
		}
		query := r.URL.Query()
		page, limit := parameter(query, "page", 1, 1<<30), parameter(query, "limit", 10, 100)
		objects, ok := all.get(strings.TrimPrefix(r.URL.Path, "/v1/admin/"), page == 1)
		if !ok {
			answerJSON(w, http.StatusNotFound, Object{"error": "not found"})
			return
		}
		shown, _ := all.page(objects, page, limit)
		fields, answer := strings.Split(query.Get("fields"), ","), []Object{}
		for _, object := range shown {
			o := Object{}
			for name, value := range object {
				if slices.Contains(fields, name) {
					o[name] = value
				}
			}
			answer = append(answer, o)
		}
		answerJSON(w, http.StatusOK, Object{"affiliates": answer, "limit": limit, "total_results": len(objects)})
	})
}

func goaffproAffiliates(w *World) []Object {
	links, coupons := map[string][]any{}, map[string]any{}
	for _, l := range w.Links {
		links[l.Link.PartnerID] = append(links[l.Link.PartnerID], l.Link.Value)
	}
	for _, c := range w.Coupons {
		coupons[c.Coupon.PartnerID] = Object{"code": c.Coupon.Code}
	}
	states := map[string]string{
		source.Active: "approved", source.Pending: "pending", source.Suspended: "blocked", source.Declined: "rejected",
	}
	return objectsOf(w.Partners, func(row source.Row) Object {
		p := row.Partner
		return Object{
			"id":         Numeric(row.ID),
			"name":       p.FirstName + " " + p.LastName,
			"email":      p.Email,
			"country":    p.CountryCode,
			"status":     states[p.Status],
			"created_at": p.CreatedAt,
			"ref_code":   links[row.ID][0],
			"ref_codes":  links[row.ID],
			"coupon":     coupons[row.ID],
		}
	})
}
