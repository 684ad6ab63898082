package importtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"rail/server/inbound/importer/source"
)

// RefersionKey is the key that the fake of Refersion takes, public and secret key.
const RefersionKey = "rf-public:rf-secret"

// Refersion is Refersion's API for a world: POST requests with totals, and affiliates alone, whose number is only in
// their details. An affiliate's code is its id in the world. Its list is affiliates.
func Refersion(w *World, odd Oddities) http.Handler {
	all := newLists(odd, map[string]func() []Object{
		"affiliates": func() []Object { return objectsOf(w.Partners, refersionAffiliate) },
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Refersion-Public-Key")+":"+r.Header.Get("Refersion-Secret-Key") != RefersionKey {
			answerJSON(w, http.StatusUnauthorized, Object{"error": "Invalid keys"})
			return
		}
		var body struct {
			Page  string `json:"page"`
			Limit string `json:"limit"`
			Code  string `json:"affiliate_code"`
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&body) != nil {
			answerJSON(w, http.StatusNotFound, Object{"error": "Not found"})
			return
		}
		if r.URL.Path == "/v2/affiliate/get" {
			answerJSON(w, http.StatusOK, Object{
				"id": 37_000_000 + Numeric(body.Code), "link": "https://shop.refersion.com/c/" + body.Code, "status": "ACTIVE",
			})
			return
		}
		query := url.Values{"page": {body.Page}, "limit": {body.Limit}}
		page := parameter(query, "page", 1, 1<<30)
		objects, _ := all.get("affiliates", page == 1)
		shown, _ := all.page(objects, page, parameter(query, "limit", 3, 100))
		answerJSON(w, http.StatusOK, Object{"total": strconv.Itoa(len(objects)), "results": shown})
	})
}

func refersionAffiliate(row source.Row) Object {
	p := row.Partner
	states := map[string]string{
		source.Active: "ACTIVE", source.Pending: "PENDING", source.Suspended: "DISABLED", source.Declined: "DENIED",
	}
	return Object{
		"id":            row.ID,
		"offer_id":      p.Group,
		"status":        states[p.Status],
		"first_name":    p.FirstName,
		"last_name":     p.LastName,
		"email":         p.Email,
		"custom_fields": []Object{},
	}
}
