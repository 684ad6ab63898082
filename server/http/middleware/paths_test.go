package middleware_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rail/server/harness/apitest"
)

// TestNearestPath: the 404 of an unknown path names the path that was probably meant, and no other.
func TestNearestPath(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for path, nearest := range map[string]string{
		"/programs":                   "/v1/programs",
		"/api/programs":               "/v1/programs",
		"/api/v1/programs":            "/v1/programs",
		"/V1/programs":                "/v1/programs",
		"/v2/sales":                   "/v1/sales",
		"/v1/sale":                    "/v1/sales",
		"/v1/payout-batches":          "/v1/payout_batches",
		"/v1/webhookEndpoints":        "/v1/webhook_endpoints",
		"/v1/affiliates":              "/v1/partners",
		"/v1/affiliates/part_1":       "/v1/partners/part_1",
		"/v1/rules":                   "/v1/flows",
		"/v1/partners/part_1/bann":    "/v1/partners/part_1/ban",
		"/v1/partners//x":             "",
		"/v1/partners/part_1/approve": "",
		"/v1/api_keys":                "",
		"/v1":                         "",
		"/rules":                      "/v1/flows",
	} {
		e, _ := s.Get(path).Body["error"].(M)
		want := "No such path."
		if nearest != "" {
			want += " Did you mean " + nearest + "?"
		}
		assert.Equal(t, want, e["message"], path)
	}
}

// TestEventNamesInTheWordsOfTheAPI: a type with the API's word for its object is a slip that the refusal names.
func TestEventNamesInTheWordsOfTheAPI(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	for name, nearest := range map[string]string{
		"partner.created": "affiliate.created", "link.deleted": "affiliate_link.deleted", "flow.updated": "rule.updated",
	} {
		a := s.Post("/v1/webhook_endpoints", M{
			"program_id": program, "url": "https://hooks.example/", "event_types": []string{name},
		})
		e, _ := a.Body["error"].(M)
		assert.Contains(t, e["message"], "Did you mean "+nearest+"?", name)
	}
}
