package python_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/cmd/clients/model"
	"rail/cmd/clients/python"
	"rail/cmd/clients/story"
	"rail/server/harness/pgtest"
	"rail/server/outbound/webhook/vectors"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// described returns the model of the description.
func described(t *testing.T) *model.Model {
	t.Helper()
	bundle, err := os.ReadFile("../../../openapi/bundle.json")
	require.NoError(t, err)
	m, err := model.Read(bundle)
	require.NoError(t, err)
	return m
}

// installed writes a wheel to a folder that Python imports it from, as it is: a wheel of pure Python is a folder as a
// zip. It skips the test without Python.
func installed(t *testing.T, m *model.Model) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed: the Python client is not tested")
	}
	files, err := python.Files(m)
	require.NoError(t, err)
	name, content, err := python.Wheel(files, "v1.2.3", time.Unix(1767225600, 0))
	require.NoError(t, err)
	require.Equal(t, "rail_client-1.2.3-py3-none-any.whl", name)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// command runs Python with a wheel.
func command(t *testing.T, wheel string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "python3", append([]string{"-B", "-W", "error"}, args...)...)
	cmd.Env = slices.Concat(env, []string{"PYTHONPATH=" + wheel})
	return cmd
}

// TestStory tells the story with the wheel.
func TestStory(t *testing.T) {
	t.Parallel()
	wheel := installed(t, described(t))
	story.Run(t, "rail-python/1.2.3 ", func(w story.World) ([]byte, error) {
		return command(t, wheel, w.Environ(), "story.py").CombinedOutput()
	})
}

// TestRuntime runs the tests of the hand-written part.
func TestRuntime(t *testing.T) {
	t.Parallel()
	out, err := command(t, installed(t, described(t)), os.Environ(), "runtime/test_runtime.py").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestHostile sends hostile headers to construct_event, which refuses each with its own error.
func TestHostile(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767225600, 0)
	in, err := json.Marshal(vectors.Hostile(now, uint64(time.Now().UnixNano()), 1000))
	require.NoError(t, err)
	cmd := command(t, installed(t, described(t)), os.Environ(), "-c", `
import json, sys
from rail_client import SignatureError, construct_event
for header in json.load(sys.stdin):
    try:
        construct_event(b"{}", header, "whsec_x", now=int(sys.argv[1]))
    except SignatureError:
        continue
    print("accepted:", repr(header))
`, strconv.FormatInt(now.Unix(), 10))
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}

// runSamples runs each sample. Python compares its arguments with the method's parameters.
const runSamples = `
import contextlib, io, json, sys
for name, source in json.load(sys.stdin).items():
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, name, "exec"), {})
`

// TestSamples runs the sample of every method against a server that compares its request with the example of the
// description.
func TestSamples(t *testing.T) {
	t.Parallel()
	m := described(t)
	wheel, server := installed(t, m), story.NewExamples(t, m)
	samples := map[string]string{}
	for _, r := range m.Resources {
		for _, method := range r.Methods {
			samples[method.OperationID] = python.Setup(method) + python.Sample(m, method)
		}
	}
	run := func() ([]byte, error) {
		in, err := json.Marshal(samples)
		require.NoError(t, err)
		env := append(os.Environ(), "RAIL_BASE_URL="+server.URL, "RAIL_API_KEY=rail_live_1")
		cmd := command(t, wheel, env, "-c", runSamples)
		cmd.Stdin = bytes.NewReader(in)
		return cmd.CombinedOutput()
	}
	out, err := run()
	require.NoError(t, err, "%s", out)
	server.Done(t)
	wrong := strings.Replace(samples["createPartner"], "email=", "mail=", 1)
	require.NotEqual(t, samples["createPartner"], wrong)
	samples = map[string]string{"createPartner": wrong}
	out, err = run()
	require.Error(t, err)
	require.Contains(t, string(out), "unexpected keyword argument 'mail'")
}

// typed is a program whose wrong lines the types refuse.
const typed = `from rail_client import Rail, construct_event, types

rail = Rail("https://rail.example.com", "key")
partner: types.Partner = rail.partners.create(program_id="p", email="ada@example.com", first_name=None, status="active")
minor: int = sum(sale["amount_minor"] for sale in rail.sales.list(program_id="p", expand=["partner"]))
event = construct_event(b"{}", {}, "whsec_x")
if event["type"] == "sale.created":
    minor = event["data"]["amount_minor"]
    event["data"]["handle"]  # wrong
rail.partners.create(program_id="p", mail="ada@example.com")  # wrong
rail.partners.create(program_id="p", email="ada@example.com", status="declined")  # wrong
rail.partners.update("part_1", email="ada@example.com")  # wrong
partner["nickname"]  # wrong
rail.sales.retrieve()  # wrong
`

// TestTypes checks the client and all samples by `pyright`, strictly and for the oldest Python, and a program with
// mistakes, which it must find.
func TestTypes(t *testing.T) {
	t.Parallel()
	pyright, err := filepath.Abs("../../../node_modules/.bin/pyright")
	require.NoError(t, err)
	if _, err := os.Stat(pyright); err != nil {
		t.Skip("the npm packages are not installed (make packages): the types in Python are not checked")
	}
	m := described(t)
	files, err := python.Files(m)
	require.NoError(t, err)
	for _, r := range m.Resources {
		for _, method := range r.Methods {
			files["samples/"+method.OperationID+".py"] = []byte(python.Setup(method) + python.Sample(m, method) + "\n")
		}
	}
	files["typed.py"] = []byte(typed)
	files["pyrightconfig.json"] = []byte(`{"typeCheckingMode": "strict", "pythonVersion": "3.9", "reportUnusedExpression": false}`)
	dir := t.TempDir()
	for name, source := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, source, 0o600))
	}
	cmd := exec.CommandContext(t.Context(), pyright, "--outputjson")
	cmd.Dir = dir
	out, err := cmd.Output()
	require.Error(t, err, "no mistake was found")
	var report struct {
		GeneralDiagnostics []struct {
			File, Message string
			Range         struct{ Start struct{ Line int } }
		}
	}
	require.NoError(t, json.Unmarshal(out, &report), "%s", out)
	found := map[int]bool{}
	for _, d := range report.GeneralDiagnostics {
		require.Equal(t, "typed.py", filepath.Base(d.File), "%s: %s", d.File, d.Message)
		found[d.Range.Start.Line] = true
	}
	for i, line := range strings.Split(typed, "\n") {
		require.Equal(t, strings.HasSuffix(line, "# wrong"), found[i], "%s: %v", line, report.GeneralDiagnostics)
	}
}

// TestCompiles compiles every file, for the oldest Python that the client supports by its grammar.
func TestCompiles(t *testing.T) {
	t.Parallel()
	files, err := python.Files(described(t))
	require.NoError(t, err)
	sources := map[string]string{}
	for name, source := range files {
		if strings.HasSuffix(name, ".py") {
			sources[name] = string(source)
		}
	}
	in, err := json.Marshal(sources)
	require.NoError(t, err)
	cmd := command(t, installed(t, described(t)), os.Environ(), "-c", `
import ast, json, sys
for name, source in json.load(sys.stdin).items():
    ast.parse(source, name, feature_version=(3, 9))
import rail_client.types
`)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v1.2.3-4-gc4207ac": "1.2.3+4.gc4207ac", "c4207ac0": "0.0.0+c4207ac0",
		"c4207ac0-dirty": "0.0.0+c4207ac0.dirty", "V2": "0.0.0+v2",
	} {
		require.Equal(t, want, python.Version(version), version)
	}
}

// TestWheel checks that the same input makes the same bytes, and that pip accepts them if it is installed.
func TestWheel(t *testing.T) {
	t.Parallel()
	m := described(t)
	wheel := installed(t, m)
	first, err := os.ReadFile(wheel)
	require.NoError(t, err)
	second, err := os.ReadFile(installed(t, m))
	require.NoError(t, err)
	require.Equal(t, first, second)
	if exec.CommandContext(t.Context(), "python3", "-m", "pip", "--version").Run() != nil {
		t.Skip("pip is not installed: it does not install the wheel")
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "python3", "-m", "pip", "install", "--no-index", "--no-deps", "--quiet",
		"--disable-pip-version-check", "--target", dir, wheel).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = command(t, dir, os.Environ(), "-c", "import rail_client; print(rail_client.__version__)").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "1.2.3\n", string(out))
}
