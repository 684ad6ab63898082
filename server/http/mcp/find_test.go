package mcp_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestFindOperations: the operation for a task comes first.
func TestFindOperations(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	c := open(t, s.URL+"/mcp?write", s.Key, newest)
	for task, want := range map[string]string{
		"record a sale":                            "createSale",
		"add a partner":                            "createPartner",
		"invite an affiliate":                      "createPartner",
		"refund a sale":                            "refundSale",
		"list partners":                            "listPartners",
		"show me all sales":                        "listSales",
		"change a partner's group":                 "updatePartner",
		"ban a partner":                            "banPartner",
		"approve an application":                   "approveApplication",
		"who applied to join":                      "listApplications",
		"create a coupon code":                     "createCoupon",
		"make a tracking link":                     "createLink",
		"record a click":                           "createClick",
		"add a customer":                           "createCustomer",
		"merge two customers":                      "mergeCustomer",
		"credit a customer to a partner":           "creditCustomer",
		"give a partner a bonus commission":        "createCommission",
		"approve a commission":                     "approveCommission",
		"reject a commission":                      "rejectCommission",
		"correct the amount of a commission":       "correctCommission",
		"what does a partner have to get, balance": "listBalances",
		"preview the payouts of the month":         "previewPayoutBatch",
		"run payouts":                              "createPayoutBatch",
		"mark a payout as paid":                    "markPayoutPaid",
		"send the payout batch":                    "sendPayoutBatch",
		"create a commission rule":                 "createFlow",
		"which rules exist":                        "listFlows",
		"revenue report by month":                  "retrieveReport",
		"suspicious risk flags":                    "listRiskFlags",
		"send a newsletter to partners":            "sendCampaign",
		"test a webhook":                           "pingWebhookEndpoint",
		"resend failed webhook deliveries":         "replayWebhookDelivery",
		"audit log":                                "listAuditLogEntries",
		"change the settings of the program":       "updateProgram",
		"delete a tag":                             "deleteTag",
		"events of the payment processor":          "listInboxEvents",
	} {
		found, _ := c.call("find", M{"query": task}).data["operations"].([]any)
		var names []string
		for _, o := range found {
			names = append(names, o.(map[string]any)["operation"].(string))
		}
		require.NotEmpty(t, names, task)
		if want != names[0] {
			t.Errorf("%s: %v, not %s", task, names, want)
		}
	}
}

// TestFindReads: without write, only operations that read are found, and all their arguments are described.
func TestFindReads(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	c := open(t, s.URL+"/mcp", s.Key, newest)
	found, _ := c.call("find", M{"query": "record a sale"}).data["operations"].([]any)
	for _, o := range found {
		require.NotEqual(t, "createSale", o.(map[string]any)["operation"])
	}
	found, _ = c.call("find", M{"query": "list sales"}).data["operations"].([]any)
	first := found[0].(map[string]any)
	require.Equal(t, []any{"sales", "listSales"}, []any{first["tool"], first["operation"]})
	arguments, _ := first["arguments"].([]any)
	at := slices.IndexFunc(arguments, func(a any) bool { return a.(map[string]any)["name"] == "limit" })
	require.Positive(t, at)
	require.Equal(t, "integer", arguments[at].(map[string]any)["type"])
	require.Equal(t, map[string]any{"name": "program_id", "required": true, "type": "string", "about": "The program whose objects are listed."},
		arguments[0])
}

// TestFindObjects: partners, customers and sales are found by names, emails and ids, in the newest programs or one, and
// guides by words.
func TestFindObjects(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	ada := s.Partner(program, M{"first_name": "Ada", "last_name": "Lovelace", "email": "ada@partner.example"})
	customer := s.Customer(program, ada, M{
		"email": "grace@shop.example", "name": "Grace Hopper", "external_customer_id": "cus_42", "identifier": "user-7",
	})
	s.Flow(program)
	sale := s.Sale(program, customer, M{"external_charge_id": "ch_77"}).String("id")
	c := open(t, s.URL+"/mcp", s.Key, newest)
	for query, want := range map[string]string{
		"Lovelace": ada, "ada@partner.example": ada, "grace@shop.example": customer, "cus_42": customer, "user-7": customer,
		"ch_77": sale,
	} {
		objects, _ := c.call("find", M{"query": query}).data["objects"].([]any)
		require.Len(t, objects, 1, query)
		require.Equal(t, want, objects[0].(map[string]any)["id"], query)
		objects, _ = c.call("find", M{"query": query, "program_id": other}).data["objects"].([]any)
		require.Empty(t, objects, query)
	}
	require.NotEmpty(t, c.call("find", M{"query": "Ada", "program_id": "prg_unknown"}).refused("resource_not_found"))
	guides, _ := c.call("find", M{"query": "how do I verify a signature of webhooks"}).data["guides"].([]any)
	require.NotEmpty(t, guides)
	require.Contains(t, guides[0].(map[string]any)["uri"], "rail://guides/")
}
