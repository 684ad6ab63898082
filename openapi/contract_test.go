package openapi_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
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
	var kept []any
	for _, r := range s["required"].([]any) {
		if r != name {
			kept = append(kept, r)
		}
	}
	s["required"] = kept
}

// repository has a release, v1.0.0, of the current description.
type repository struct {
	*testing.T
	dir string
}

func released(t *testing.T) repository {
	t.Helper()
	r := repository{t, t.TempDir()}
	r.git("init", "--quiet")
	r.write(func(object) {})
	r.git("add", "-A")
	r.git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "-m", "one")
	return r
}

func (r repository) git(args ...string) {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), "git", args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	require.NoError(r, err, "%s", out)
}

// write writes the changed description.
func (r repository) write(change func(object)) {
	r.Helper()
	var d object
	require.NoError(r, json.Unmarshal(openapi.Bundle, &d))
	change(d)
	raw, err := json.MarshalIndent(d, "", " ")
	require.NoError(r, err)
	require.NoError(r, os.MkdirAll(filepath.Join(r.dir, "openapi"), 0o755))
	require.NoError(r, os.WriteFile(filepath.Join(r.dir, "openapi", "bundle.json"), raw, 0o644))
}

// guarded runs the guard.
func (r repository) guarded() (said string, passed bool) {
	r.Helper()
	out, err := exec.CommandContext(r.Context(), "../.ci/contract", r.dir).CombinedOutput()
	return string(out), err == nil
}

// TestContractGuard checks that a breaking change passes only with another version.
func TestContractGuard(t *testing.T) {
	if os.Getenv("RAIL_TEST_FULL") == "" {
		t.Skip("the guard's tool takes long to build: RAIL_TEST_FULL=1 runs this")
	}
	r := released(t)
	said, passed := r.guarded()
	require.True(t, passed, said)
	require.Contains(t, said, "no release behind HEAD")
	r.git("tag", "v1.0.0")
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
		said, passed := r.guarded()
		require.Equal(t, c.passes, passed, "%s: %s", name, said)
		require.Contains(t, said, "contract: ", name)
	}
}

// TestScriptsAreServedOn checks that a later release still serves the script of a release, because pages of merchants
// name it by its hash.
func TestScriptsAreServedOn(t *testing.T) {
	t.Parallel()
	r := repository{t, t.TempDir()}
	put := func(name, text string) {
		name = filepath.Join(r.dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	put("gen/script/rail.js", "one")
	r.git("init", "--quiet")
	r.git("add", "-A")
	r.git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "-m", "one")
	r.git("tag", "v1.0.0")
	said, passed := r.guarded()
	require.True(t, passed, said)
	put("gen/script/rail.js", "two")
	said, passed = r.guarded()
	require.False(t, passed)
	require.Contains(t, said, "rail-7692c3ad.js") // the start of the SHA-256 of "one"
	put("server/http/docs/script/released/rail-7692c3ad.js", "one")
	said, passed = r.guarded()
	require.True(t, passed, said)
}

func append1(in object, list string, v any) { in[list] = append(in[list].([]any), v) }

func requireZip(s object) {
	at(s, "properties")["zip"] = object{"type": "string"}
	append1(s, "required", "zip")
}
