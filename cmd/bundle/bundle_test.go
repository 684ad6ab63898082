package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/openapi"
)

// TestBundleIsCurrent checks that the committed bundle is that of the sources.
func TestBundleIsCurrent(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "bundle.json")
	require.NoError(t, run("../../openapi/openapi.yaml", out))
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.True(t, bytes.Equal(got, openapi.Bundle), "run make generate")
}

// TestCodes checks that an operation gets its own codes, those of its conditions and an
// example of each.
func TestCodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"codes.yaml":     "'409': {type: conflict_error, codes: {taken: {message: Taken., param: name}, running: Wait.}}\n",
		"responses.yaml": "Conflict: {description: No., x-codes: [running]}\n",
		"openapi.yaml": `{paths: {/a: {post: {operationId: a, security: [], x-codes: [CODE], responses: {'200': {description: Yes.}}}}}, components: {},
x-defaults: {codes: codes.yaml, coded: {}, post: {responses: {'409': {$ref: './responses.yaml#/Conflict'}}}}}`,
		"schemas/errors.yaml": "ErrorEnvelope: {type: object}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	bundled := func(code string) (string, error) {
		raw, err := os.ReadFile(filepath.Join(dir, "openapi.yaml"))
		require.NoError(t, err)
		in, out := filepath.Join(dir, code+".yaml"), filepath.Join(dir, code+".json")
		require.NoError(t, os.WriteFile(in, bytes.ReplaceAll(raw, []byte("CODE"), []byte(code)), 0o600))
		if err := run(in, out); err != nil {
			return "", err
		}
		text, err := os.ReadFile(out)
		var flat bytes.Buffer
		require.NoError(t, json.Compact(&flat, text))
		return flat.String(), err
	}
	text, err := bundled("taken")
	require.NoError(t, err)
	require.Contains(t, text, `"409":{"description":"No. Codes: `+"`taken`, `running`."+`","content":{"application/json":`+
		`{"schema":{"$ref":"#/components/schemas/ErrorEnvelope"},"examples":{"taken":{"$ref":"#/components/examples/taken"},"running":{"$ref":"#/components/examples/running"}}}}}`)
	require.Contains(t, text,
		`"taken":{"value":{"error":{"type":"conflict_error","code":"taken","message":"Taken.","param":"name","request_id":`)
	_, err = bundled("mistyped")
	require.ErrorContains(t, err, "mistyped")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("schemas/a.yaml", "X: {type: string}\n")
	write("schemas/b.yaml", "X: {type: integer}\n")
	for text, want := range map[string]string{
		"{$ref: './schemas/none.yaml#/X'}": "no such file", "{$ref: './schemas/a.yaml#/Y'}": "does not exist",
	} {
		write("openapi.yaml", "paths: {}\ncomponents:\n  x: "+text+"\n")
		require.ErrorContains(t, run(filepath.Join(dir, "openapi.yaml"), filepath.Join(dir, "out")), want)
	}
	write("openapi.yaml", "paths: {}\ncomponents:\n  x: [{$ref: './schemas/a.yaml#/X'}, {$ref: './schemas/b.yaml#/X'}]\n")
	require.ErrorContains(t, run(filepath.Join(dir, "openapi.yaml"), filepath.Join(dir, "out")), "is defined in")
}

// TestEveryOperationHasTheDefaults checks the headers and refusals common to all
// operations.
func TestEveryOperationHasTheDefaults(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string                     `json:"operationId"`
			Security    []map[string][]string      `json:"security"`
			Responses   map[string]json.RawMessage `json:"responses"`
		} `json:"paths"`
	}
	raw := map[string]map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal(openapi.Bundle, &struct {
		Paths *map[string]map[string]json.RawMessage `json:"paths"`
	}{&raw}))
	for _, item := range raw {
		delete(item, "parameters")
	}
	clean, err := json.Marshal(map[string]any{"paths": raw})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(clean, &doc))
	for path, item := range doc.Paths {
		for method, op := range item {
			for _, status := range []string{"429", "500", "503"} {
				require.Contains(t, op.Responses, status, "%s %s", method, path)
			}
			if len(op.Security) > 0 && !strings.HasPrefix(path, "/hooks/") { // a signature, not a key
				require.Contains(t, op.Responses, "400", op.OperationID)
				require.Contains(t, op.Responses, "401", op.OperationID)
			}
		}
	}
}

// TestEvents: an event's webhook, its body, the lists of types and bodies, and the catalogue are generated from its
// entry.
func TestEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"openapi.yaml": `{paths: {/types: {get: {operationId: types, security: [], responses: {'200': {description: Yes.,
  x-list: !events [], x-count: !events 0}}}}}, components: {}, webhooks: {$ref: './webhooks.yaml'},
  x-defaults: {codes: codes.yaml, coded: {}, webhook: {schemas: ./schemas/events.yaml, tags: [Events], security: [],
  example: {id: evt_1, created_at: now, request: req_1}, responses: {'200': {description: Taken.}}}}}`,
		"codes.yaml":     "{}\n",
		"responses.yaml": "{}\n",
		"webhooks.yaml": `{egg.laid: {summary: An egg, description: It is there., x-partner-visible: true, data: {size: 3}},
  egg.sold: {summary: Gone, description: It is not., schema: Sold, data: {}, request: run_1}}`,
		"schemas/events.yaml": `{x-event: {description: 'A {type}.', data: {$ref: '#/{schema}'}},
  EventName: {enum: []}, Event: {oneOf: [], discriminator: {mapping: {}}},
  EggLaidData: {type: object}, Sold: {type: object}}`,
		"schemas/errors.yaml": "ErrorEnvelope: {type: object}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out := filepath.Join(dir, "bundle.json")
	require.NoError(t, run(filepath.Join(dir, "openapi.yaml"), out))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	var flat bytes.Buffer
	require.NoError(t, json.Compact(&flat, text))
	for _, want := range []string{
		`"egg.laid":{"post":{"operationId":"onEggLaid","summary":"An egg","description":"It is there.",` +
			`"x-partner-visible":true,"tags":["Events"],"security":[],"requestBody":{"required":true,` +
			`"content":{"application/json":` +
			`{"schema":{"$ref":"#/components/schemas/EggLaidEvent"},"examples":{"ok":{"value":{"id":"evt_1","type":"egg.laid",` +
			`"created_at":"now","data":{"size":3},"request":{"id":"req_1"}}}}}}}`,
		`"EggLaidEvent":{"description":"A egg.laid.","data":{"$ref":"#/components/schemas/EggLaidData"}}`,
		`"EggSoldEvent":{"description":"A egg.sold.","data":{"$ref":"#/components/schemas/Sold"}}`,
		`"data":{},"request":{"id":"run_1"}`,
		`{"object":"webhook_event_type","type":"egg.sold","description":"It is not.","partner_eligible":false,` +
			`"example":{"id":"evt_1",`,
		`"x-count":2`,
	} {
		require.Contains(t, flat.String(), want)
	}
}
