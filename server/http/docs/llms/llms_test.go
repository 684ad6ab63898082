package llms

import (
	"strings"
	"testing"

	"rail/openapi"
	"rail/server/http/docs/description"
)

func TestShortNamesEveryOperation(t *testing.T) {
	text, err := Short(openapi.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	d, err := description.Parse(openapi.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(text, "\n- GET ") + strings.Count(text, "\n- POST ") + strings.Count(text, "\n- DELETE ")
	want := 0
	for _, item := range d.Paths.Values {
		for _, op := range []*description.Operation{item.Get, item.Post, item.Delete} {
			if op == nil {
				continue
			}
			want++
			if !strings.Contains(text, ": "+op.Summary) {
				t.Errorf("%s is missing", op.ID)
			}
			note := op.Notes()
			if !strings.Contains(text, op.Summary+note) || strings.Contains(note, "console") != (op.Audience == "console") {
				t.Errorf("%s: %s", op.ID, note)
			}
		}
	}
	if lines != want {
		t.Errorf("%d lines for %d operations", lines, want)
	}
}

func TestFullHoldsParametersFieldsAndEvents(t *testing.T) {
	text, err := Full(openapi.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### POST /v1/sales", "- `amount_minor` (integer, int64, 1 to 999999999999, required):",
		"- `starting_after` (query,", "### sale.created", "### Partner\n", "200: A page of sales. SaleList.\n", "Refusals: 400 BadRequest",
		"- `Idempotency-Key` (header,", "## Changelog",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, bad := range []string{"%!", "- `` ", "(, "} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in the text", bad)
		}
	}
}

// TestEveryOperationHasAnExample: every operation has an example request, and a response
// if it returns one.
func TestEveryOperationHasAnExample(t *testing.T) {
	text, err := Full(openapi.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(text[:strings.Index(text, "\n## Events")], "\n### ")[1:] {
		method, _, _ := strings.Cut(section, " ")
		_, example, found := strings.Cut(section, "\nExample:\n\n    "+method+" /")
		if !found || strings.Contains(section, "\nBody: ") && !strings.Contains(example, "\n    {") ||
			!strings.Contains(example, "\n    20") {
			t.Errorf("no example: %s", section)
		}
		if strings.Contains(example, "<nil>") {
			t.Errorf("a parameter without an example: %s", section)
		}
	}
}

// TestPartsAreTheTags: a part has the operations of its tag and the objects that they
// refer to, and nothing else.
func TestPartsAreTheTags(t *testing.T) {
	parts, err := Parts(openapi.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	sales := parts["Sales"]
	for _, want := range []string{"### POST /v1/sales\n", "### Sale\n", "### Partner\n", `{"program_id":"prg_`} {
		if !strings.Contains(sales, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, bad := range []string{"### POST /v1/flows\n", "### Campaign\n"} {
		if strings.Contains(sales, bad) {
			t.Errorf("%q is in the part", bad)
		}
	}
	if retries := parts["Webhook endpoints"]; !strings.Contains(retries, "has 8 attempts") {
		t.Error("the retries are missing")
	}
}
