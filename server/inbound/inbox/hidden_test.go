package inbox_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// unseen lists invisible characters of each kind.
var unseen = map[string]string{
	"width": "\u200b", "direction": "\u202e", "isolate": "\u2066", "hyphen": "\u00ad", "line": "\u2028", "paragraph": "\u2029",
	"private": "\ue000", "beyond": "\U000f0001", "mark": "\ufeff", "control": "\u0085", "tag": "\U000e0041",
}

// TestUnseenCharacters: requests refuse email addresses with invisible characters, and remove
// such characters from names.
func TestUnseenCharacters(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	for name, r := range unseen {
		email := "ada" + r + "@shop.example"
		for path, body := range map[string]M{
			"/v1/partners":     {"program_id": h.ProgramID, "email": email},
			"/v1/applications": {"program_id": h.ProgramID, "email": email},
			"/v1/customers":    {"program_id": h.ProgramID, "email": email, "external_customer_id": name},
		} {
			a := h.Must(400, h.Do("POST", path, h.Key, body))
			require.Equal(t, "email", a.Body["error"].(M)["param"], "%s %s", path, name)
		}
		cleaned := func(text string) { t.Helper(); require.Equal(t, "Ada", strings.ReplaceAll(text, " ", ""), name) }
		a := h.Must(201, h.Post("/v1/partners", M{
			"program_id": h.ProgramID, "email": apitest.Unique("p") + "@shop.example", "first_name": "A" + r + "da", "last_name": "Ada",
			"metadata": M{"name": "A" + r + "da"},
		}))
		cleaned(a.String("first_name"))
		require.Equal(t, "A"+r+"da", a.Body["metadata"].(M)["name"], "what the caller keeps is the caller's")
		id := "/v1/partners/" + a.String("id")
		cleaned(h.Must(200, h.Post(id, M{"company_name": r + "Ada", "payout_method": "wise"})).String("company_name"))
		h.Must(400, h.Post(id, M{"payout_details": M{"email": email}}))
		h.Must(400, h.Post(id, M{"payout_details": M{"holder": []string{"A" + r + "da"}}}))
		tag := h.Must(201, h.Do("POST", "/v1/tags", h.Key, `{"program_id":"`+h.ProgramID+`", "name":"A`+r+`da"}`))
		cleaned(tag.String("name"))
		h.Must(200, h.Do("DELETE", "/v1/tags/"+tag.String("id"), h.Key, nil))

		click := h.Click(h.ProgramID, "ann").String("id")
		h.Receive(apitest.Paid("ch "+name, M{
			"external_customer_id": "cus " + name, "click_id": click, "email": email, "name": "Ada" + r, "product_name": "A" + r + "da",
		}))
		e := h.Last("recorded", nil)
		k := h.Must(200, h.Get("/v1/customers/"+e.String("customer_id")))
		require.Nil(t, k.Body["email"], name)
		cleaned(k.String("name"))
		cleaned(h.Must(200, h.Get("/v1/sales/"+e.String("sale_id"))).String("product_name"))
	}
}
