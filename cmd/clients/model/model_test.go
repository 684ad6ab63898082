package model

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/openapi"
)

func read(t *testing.T) *Model {
	t.Helper()
	m, err := Read(openapi.Bundle)
	require.NoError(t, err)
	return m
}

// TestEveryOperationIsAMethod checks that clients lack only the operations that payment processors call.
func TestEveryOperationIsAMethod(t *testing.T) {
	t.Parallel()
	m := read(t)
	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(openapi.Bundle, &described))
	methods := 0
	for _, r := range m.Resources {
		require.NotEmpty(t, r.Description, r.Name)
		methods += len(r.Methods)
	}
	for path, item := range described.Paths {
		for verb, raw := range item {
			if verb == "parameters" {
				continue
			}
			var op struct{ OperationID string }
			require.NoError(t, json.Unmarshal(raw, &op))
			if strings.HasPrefix(path, "/hooks/") {
				require.Nil(t, m.Method(op.OperationID))
				continue
			}
			require.NotNil(t, m.Method(op.OperationID), op.OperationID)
			methods--
		}
	}
	require.Zero(t, methods)
}

func TestNamesOfMethods(t *testing.T) {
	t.Parallel()
	m := read(t)
	for id, want := range map[string]string{
		"listPartners": "partners.list", "createPartner": "partners.create", "retrievePartner": "partners.retrieve",
		"approveApplication": "applications.approve", "undoPartnerBan": "partners.undo_ban",
		"createPartnerSSO": "partners.create_sso", "createEmbedToken": "embed_tokens.create",
		"listMaturingCommissions": "commissions.list_maturing", "createSaleBatch": "sales.create_batch",
		"markPayoutPaid": "payouts.mark_paid", "markPayoutsPaid": "payouts.mark_many_paid",
		"retrievePortalSettings": "programs.retrieve_portal_settings", "rehearseFlows": "flows.rehearse",
		"reportPayoutResults": "payout_batches.report_results", "listWebhookDeliveries": "webhook_endpoints.list_deliveries",
		"followEvents": "events.follow", "setInboundSigning": "inbound_signing.set",
		"createTaxFormStatus": "tax_form_statuses.create", "retrieveAuditLogEntry": "audit_log_entries.retrieve",
		"createBrowserLead": "browser.create_lead", "retrieveOpenAPIDocument": "documents.retrieve_openapi",
	} {
		method := m.Method(id)
		require.NotNil(t, method, id)
		require.Equal(t, want, method.Resource+"."+method.Name)
	}
}

func TestStylesOfNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][3]string{
		"createPartnerSSO":     {"create_partner_sso", "createPartnerSSO", "CreatePartnerSSO"},
		"external_customer_id": {"external_customer_id", "externalCustomerID", "ExternalCustomerID"},
		"expand[]":             {"expand", "expand", "Expand"},
		"retrieveLLMsText":     {"retrieve_llms_text", "retrieveLLMsText", "RetrieveLLMsText"},
		"sale.created":         {"sale_created", "saleCreated", "SaleCreated"},
		"OpenAPIDocument":      {"openapi_document", "openapiDocument", "OpenAPIDocument"},
		"id":                   {"id", "id", "ID"},
		"":                     {"", "", ""},
	} {
		require.Equal(t, want, [3]string{Snake(name), Camel(name), Pascal(name)}, name)
	}
}

func TestMethodOfAList(t *testing.T) {
	t.Parallel()
	m := read(t)
	list := m.Method("listPartners")
	require.Equal(t, &Page{
		Item: Shape{Kind: Named, Name: "Partner"}, Param: "starting_after", Cursor: "id", More: "has_more",
	}, list.Page)
	require.Equal(t, "program_id", list.Query[0].Name)
	require.True(t, list.Query[0].Required)
	at := slices.IndexFunc(list.Query, func(p Param) bool { return p.Name == "expand[]" })
	require.Equal(t, "expand", list.Query[at].Ident)
	require.True(t, list.Query[at].Explode)
	at = slices.IndexFunc(list.Query, func(p Param) bool { return p.Name == "status" })
	require.Equal(t, List, list.Query[at].Shape.Kind)
	require.False(t, list.Query[at].Explode)
	require.Equal(t, map[string]Value{"program_id": "prg_01kb2m4q8e7v9t3n5x6c0d1f2g"}, list.Example.Query)
	require.False(t, slices.ContainsFunc(list.Query, func(p Param) bool { return p.Name == "format" }))

	feed := m.Method("followEvents")
	require.Equal(t, "after", feed.Page.Param)
	require.Equal(t, "cursor", feed.Page.Cursor)
	require.True(t, feed.Page.OfPage)
	require.Equal(t, "type", m.Method("listWebhookEvents").Page.Cursor)
	require.Nil(t, m.Method("listPayoutTotals").Page) // has no cursor
}

func TestMethodOfAWrite(t *testing.T) {
	t.Parallel()
	m := read(t)
	create := m.Method("createPartner")
	require.True(t, create.Idempotent)
	require.Equal(t, &Body{Shape: Shape{Kind: Named, Name: "PartnerCreate"}, Required: true}, create.Body)
	require.Equal(t, "Partner", create.Answer.Shape.Name)
	require.Contains(t, create.Codes, "partner_email_taken")
	body := create.Example.Body.(Members)
	require.Equal(t, "program_id", body[0].Name) // in the order of the description
	require.Equal(t, "ada@example.com", body.Get("email"))

	require.Empty(t, m.Method("updatePartner").Query)
	require.Empty(t, m.Method("approveApplication").Query)
	require.Len(t, m.Method("retrieveCampaign").Query, 1) // requires program_id

	detach := m.Method("detachExternalID")
	require.Equal(t, []string{"id", "external_customer_id"}, []string{detach.PathParams[0].Name, detach.PathParams[1].Name})
	require.Len(t, detach.Example.Path, 2)
	visit := m.Method("createBrowserVisit")
	require.Equal(t, Publishable, visit.Security)
	require.True(t, visit.Answer.Optional)
	require.False(t, visit.Idempotent)
	require.True(t, m.Method("retrieveLLMsText").Answer.Text)
	require.Equal(t, Public, m.Method("retrieveLLMsText").Security)
}

func TestTypes(t *testing.T) {
	t.Parallel()
	m := read(t)
	partner := m.Type("PartnerCreate")
	require.True(t, partner.Request)
	require.False(t, partner.Response)
	country, _ := partner.Shape.member("country_code")
	require.Equal(t, Shape{Kind: Named, Name: "CountryCode", Nullable: true}, country.Shape)
	require.Equal(t, String, m.Follow(country.Shape).Kind)
	require.True(t, m.Follow(country.Shape).Nullable)
	invite, _ := partner.Shape.member("invite")
	require.Equal(t, false, invite.Default)
	require.Equal(t, Map, m.Type("ImportMapping").Shape.Kind)
	require.Equal(t, String, m.Type("ImportMapping").Shape.Item.Item.Kind)
	require.Equal(t, Any, m.Type("Metadata").Shape.Item.Kind)
	event := m.Type("Event").Shape
	require.Equal(t, "type", event.Tag)
	require.Equal(t, "SaleCreatedEvent", event.Tags["sale.created"])
	require.Len(t, m.Events, len(event.Variants))
	require.True(t, m.Type("SaleCreatedData").Response)
}

func TestCodesOfErrors(t *testing.T) {
	t.Parallel()
	m := read(t)
	require.Len(t, m.Codes, len(m.Type("ErrorCode").Shape.Values))
	at := slices.IndexFunc(m.Codes, func(c Code) bool { return c.Name == "partner_email_taken" })
	require.Equal(t, Code{
		Name: "partner_email_taken", Type: "conflict_error", Statuses: []int{409},
		Message: "A partner with this email exists in the program.",
	}, m.Codes[at])
}

// TestRefusedDescriptions checks that the reader fails for a description that it would misread.
func TestRefusedDescriptions(t *testing.T) {
	t.Parallel()
	const refusals = `"components":{"schemas":{"ErrorCode":{"type":"string","enum":["a"]},"A":{"type":"string"}}}`
	operation := func(id string) string {
		return `{"operationId":"` + id + `","tags":["T"],"responses":{"200":{"content":{"application/json":{` +
			`"schema":{"$ref":"#/components/schemas/A"}}}}}}`
	}
	for document, message := range map[string]string{
		`{"paths":{"/v1/cats/{id}":{"get":` + operation("retrieveCat") + `}},` + refusals + `}`:                                           "other parameters",
		`{"paths":{"/v1/cats":{"get":` + operation("listCats") + `},"/v1/cats/a":{"get":` + operation("listCat") + `}},` + refusals + `}`: "both cats.list",
		`{"paths":{"/v1/cats":{"post":{"operationId":"createCat","tags":["T"],"requestBody":{},"parameters":[` +
			`{"name":"q","in":"query","required":true,"schema":{}}]}}},` + refusals + `}`: "requires q",
		`{"components":{"schemas":{"A":{"allOf":[]}}}}`:                      "allOf",
		`{"components":{"schemas":{"A":{"$ref":"#/components/schemas/B"}}}}`: "does not exist",
		`{"components":{"schemas":{"A":{"enum":[1.5]}}}}`:                    "neither",
		`{"components":{"schemas":{"A":{"type":"array"}}}}`:                  "no items",
		`{}`: "no ErrorCode",
	} {
		_, err := Read([]byte(document))
		require.ErrorContains(t, err, message, document)
	}
}
