package reference_test

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/samples"
	"rail/openapi"
	"rail/server/http/docs/reference"
)

// pages returns the text of each page, by its name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all, err := reference.Pages(openapi.Bundle, samples.JSON)
	require.NoError(t, err)
	require.Equal(t, "index", all[0].Name)
	out := map[string]string{}
	for _, p := range all {
		require.NotEmpty(t, p.Title)
		require.NotEmpty(t, p.About)
		require.NotEmpty(t, p.Sections[0].Prose)
		out[p.Name] = html.UnescapeString(string(p.Body))
	}
	return out
}

// TestEveryOperation finds each operation and each event of the description on its page.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	all := pages(t)
	var description struct {
		Paths, Webhooks map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(openapi.Bundle, &description))
	found := 0
	for path, item := range description.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var op struct {
				OperationID, Summary string
				Tags                 []string
			}
			require.NoError(t, json.Unmarshal(raw, &op))
			page := strings.ReplaceAll(strings.ToLower(op.Tags[0]), " ", "-")
			require.Contains(t, all[page], `<h2 id="`+op.OperationID+`">`+op.Summary+"</h2>\n<p class=\"call\"><b>"+
				strings.ToUpper(method)+"</b> <code>"+path+"</code>", page)
			found++
		}
	}
	require.Greater(t, found, 190)
	for event := range description.Webhooks {
		require.Contains(t, all["events"], `<h2 id="`+event+`">`)
	}
}

// TestEverySchema finds each schema once, on the page of the operations that use it most directly.
func TestEverySchema(t *testing.T) {
	t.Parallel()
	var description struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(openapi.Bundle, &description))
	places := map[string][]string{}
	for name, text := range pages(t) {
		for _, id := range regexp.MustCompile(` id="(\w+)"`).FindAllStringSubmatch(text, -1) {
			places[id[1]] = append(places[id[1]], name)
		}
	}
	for schema := range description.Components.Schemas {
		require.Len(t, places[schema], 1, schema)
	}
	for schema, page := range map[string]string{
		"Sale": "sales", "SaleCreate": "sales", "Partner": "partners", "ErrorCode": "index", "SaleCreatedData": "events",
	} {
		require.Equal(t, []string{page}, places[schema])
	}
}

// TestSale reads the page of an operation.
func TestSale(t *testing.T) {
	t.Parallel()
	page := pages(t)["sales"]
	_, sale, _ := strings.Cut(page, `<h2 id="createSale">`)
	sale, _, _ = strings.Cut(sale, "<h2")
	for _, want := range []string{
		"<span class=\"in\">scope commissions:write or write</span>", "await rail.sales.create(", `id="sample-createSale-go"`,
		`<dt><code>amount_minor</code> <span class="in">integer, int64, 1 to 999999999999, required</span></dt>`,
		`<dt><code>partner_id</code> <span class="in"><a href="partners.html#PartnerId">PartnerId</a></span></dt>`,
		`<dt><code>201</code> <span class="in"><a href="#RecordedSale">RecordedSale</a></span></dt>`,
		`<a href="index.html#Unauthorized">401 Unauthorized</a>`, `  "object": "sale",`,
	} {
		require.Contains(t, sale, want)
	}
	require.NotContains(t, sale, "<dt><code>Idempotency-Key</code>") // the overview describes it
	require.Contains(t, pages(t)["index"], "<dt><code>Idempotency-Key</code>")
}
