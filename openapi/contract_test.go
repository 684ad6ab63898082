package openapi_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/openapi"
)

type object = map[string]any

// at returns the object that a path leads to.
func at(in object, path ...string) object {
	for _, name := range path {
		in = in[name].(object)
	}
	return in
}

func schema(d object, name string) object { return at(d, "components", "schemas", name) }

// lose removes a property from a schema, also where it is required.
func lose(s object, name string) {
	delete(s["properties"].(object), name)
	var rest []any
	for _, r := range s["required"].([]any) {
		if r != name {
			rest = append(rest, r)
		}
	}
	s["required"] = rest
}

// repository is a repository with the current description.
type repository struct {
	*testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t, t.TempDir()}
	r.write(func(object) {})
	r.put("gen/script/rail.js", "one")
	return r
}

func (r repository) put(name, text string) {
	r.Helper()
	name = filepath.Join(r.dir, filepath.FromSlash(name))
	require.NoError(r, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(r, os.WriteFile(name, []byte(text), 0o644))
}

// write writes the changed description.
func (r repository) write(change func(object)) {
	r.Helper()
	var d object
	require.NoError(r, json.Unmarshal(openapi.Bundle, &d))
	change(d)
	raw, err := json.MarshalIndent(d, "", " ")
	require.NoError(r, err)
	r.put("openapi/bundle.json", string(raw))
}

// release stores the description with which the next release is compared.
func (r repository) release() (output string) {
	r.Helper()
	out, err := exec.CommandContext(r.Context(), "../.ci/released", r.dir).CombinedOutput()
	require.NoError(r, err, "%s", out)
	return string(out)
}

// guarded runs the guard.
func (r repository) guarded() (output string, passed bool) {
	r.Helper()
	out, err := exec.CommandContext(r.Context(), "../.ci/contract", r.dir).CombinedOutput()
	return string(out), err == nil
}

// TestContractGuard checks that a breaking change passes only with another version.
func TestContractGuard(t *testing.T) {
	if os.Getenv("RAIL_TEST_FULL") == "" {
		t.Skip("the guard's tool takes long to build: RAIL_TEST_FULL=1 runs this")
	}
	r := newRepository(t)
	output, passed := r.guarded()
	require.False(t, passed, output)
	require.Contains(t, output, "no description to compare with")
	r.release()
	for name, c := range map[string]struct {
		passes bool
		change func(d object)
	}{
		"nothing": {true, func(object) {}},
		"an optional field more": {
			true, func(d object) { at(schema(d, "PartnerCreate"), "properties")["zip"] = object{"type": "string"} },
		},
		"an answer's field more": {
			true, func(d object) { at(schema(d, "Partner"), "properties")["zip"] = object{"type": "string"} },
		},
		"an answer's value more": {true, func(d object) { append1(schema(d, "PartnerStatus"), "enum", "asleep") }},
		"other words":            {true, func(d object) { schema(d, "Partner")["description"] = "Someone." }},
		"an answer's field less": {false, func(d object) { lose(schema(d, "Sale"), "amount_minor") }},
		"an optional field less": {false, func(d object) { lose(schema(d, "Partner"), "group") }},
		"a request's field less": {false, func(d object) { lose(schema(d, "PartnerCreate"), "handle") }},
		"a value less": {
			false, func(d object) { s := schema(d, "RateType"); s["enum"] = s["enum"].([]any)[1:] },
		},
		"an error code less": {
			false, func(d object) { s := schema(d, "ErrorCode"); s["enum"] = s["enum"].([]any)[1:] },
		},
		"a required field more": {false, func(d object) { requireZip(schema(d, "PartnerCreate")) }},
		"an operation less":     {false, func(d object) { delete(at(d, "paths"), "/v1/sales/{id}/refund") }},
		"an event less":         {false, func(d object) { delete(at(d, "webhooks"), "sale.created") }},
		"a field of another type": {
			false, func(d object) { at(schema(d, "Sale"), "properties")["amount_minor"] = object{"type": "string"} },
		},
		"a field less, new version": {
			true, func(d object) { lose(schema(d, "Sale"), "amount_minor"); at(d, "info")["version"] = "2030-01-01" },
		},
	} {
		r.write(c.change)
		output, passed := r.guarded()
		require.Equal(t, c.passes, passed, "%s: %s", name, output)
		require.Contains(t, output, "contract: ", name)
	}
}

// TestReleaseKeepsItsContract checks that a release stores its description and its script, which pages of merchants
// name by its hash, and that a repetition changes nothing.
func TestReleaseKeepsItsContract(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(name)))
		require.NoError(t, err)
		return text
	}
	version := at(document(t), "info")["version"].(string)
	description := "openapi/released/" + version + ".json.gz"
	require.Contains(t, r.release(), description)
	require.Equal(t, string(read("openapi/bundle.json")), unpacked(t, read(description)))
	require.Equal(t, "one", string(read("server/http/docs/script/released/rail-7692c3ad.js"))) // of the SHA-256 of "one"
	require.Empty(t, r.release())

	r.write(func(d object) { schema(d, "Partner")["description"] = "Someone." })
	r.put("gen/script/rail.js", "two")
	r.release()
	require.Equal(t, string(read("openapi/bundle.json")), unpacked(t, read(description)))
	require.Equal(t, "one", string(read("server/http/docs/script/released/rail-7692c3ad.js")))
	require.Equal(t, "two", string(read("server/http/docs/script/released/rail-3fc4ccfe.js")))

	r.write(func(d object) { at(d, "info")["version"] = "2030-01-01" })
	require.Contains(t, r.release(), "2030-01-01")
	require.Contains(t, unpacked(t, read(description)), "Someone.")
}

// TestReleasedDescription checks that the tree has a released description under its version, which is not later than
// that of the current description.
func TestReleasedDescription(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("released/*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		var d object
		require.NoError(t, json.Unmarshal([]byte(unpacked(t, text)), &d))
		version := at(d, "info")["version"].(string)
		require.Equal(t, version+".json.gz", filepath.Base(name))
		require.LessOrEqual(t, version, at(document(t), "info")["version"].(string))
	}
}

// TestTablesAppendColumns: the columns of a table, which are the required members of a row, begin with those of the last
// release. Readers of CSV may find columns by their places.
func TestTablesAppendColumns(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("released/*.json.gz")
	require.NoError(t, err)
	text, err := os.ReadFile(slices.Max(names))
	require.NoError(t, err)
	var before object
	require.NoError(t, json.Unmarshal([]byte(unpacked(t, text)), &before))
	released := columns(before)
	require.Greater(t, len(released), 30)
	all := columns(document(t))
	for id, old := range released {
		now := all[id]
		require.GreaterOrEqual(t, len(now), len(old), id)
		require.Equal(t, old, now[:len(old)], id)
	}
}

// columns returns the columns of each operation's table.
func columns(d object) map[string][]any {
	out := map[string][]any{}
	eachOperation(d, func(id string, op object, _ []any) {
		ok, _ := at(op, "responses")["200"].(object)
		content, _ := ok["content"].(object)
		if content["text/csv"] == nil {
			return
		}
		members := at(resolved(d, at(content, "application/json", "schema")), "properties")
		rows := members["data"]
		if members["has_more"] == nil {
			rows = members["rows"]
		}
		out[id] = resolved(d, at(resolved(d, rows.(object)), "items"))["required"].([]any)
	})
	return out
}

func unpacked(t *testing.T, packed []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}

func append1(in object, list string, v any) { in[list] = append(in[list].([]any), v) }

func requireZip(s object) {
	at(s, "properties")["zip"] = object{"type": "string"}
	append1(s, "required", "zip")
}
