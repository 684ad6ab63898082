package typescript_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/cmd/clients/model"
	"rail/cmd/clients/story"
	"rail/cmd/clients/typescript"
	"rail/openapi"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// folder is the generated package.
const folder = "../../../gen/clients/typescript"

// workspace returns a folder in which the package rail-client is installed, with copies of files of testdata.
func workspace(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	generated, err := filepath.Abs(folder)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "node_modules"), 0o700))
	require.NoError(t, os.Symlink(generated, filepath.Join(dir, "node_modules", "rail-client")))
	write(t, dir, "package.json", []byte(`{"type": "module"}`))
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		write(t, dir, name, content)
	}
	return dir
}

func write(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
}

// node returns the command of Node, which runs in a folder.
func node(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed: the client in TypeScript is not tested")
	}
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Dir = dir
	return cmd
}

// compile checks the files of a folder as strictly as the compiler can.
func compile(t *testing.T, dir string, libraries string) {
	t.Helper()
	compiler, err := filepath.Abs("../../../node_modules/typescript/bin/tsc")
	require.NoError(t, err)
	if _, err := os.Stat(compiler); err != nil {
		t.Skip("the npm packages are not installed (make packages): the client in TypeScript is not compiled")
	}
	write(t, dir, "tsconfig.json", []byte(`{"compilerOptions": {"module": "nodenext", "target": "es2022", "strict": true,
		"exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true, "noImplicitOverride": true,
		"noEmit": true, "lib": [`+libraries+`], "types": []}, "include": ["*.ts"]}`))
	out, err := node(t, dir, compiler, "-p", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// process declares what programs use of Node.
const process = "declare const process: { env: Record<string, string | undefined> }\n"

// block finds the code in a page.
var block = regexp.MustCompile("(?ms)^```ts\n(.*?)^```$")

// TestSamples compiles the sample of every operation, the code of the README and of the guide, and what must not
// compile.
func TestSamples(t *testing.T) {
	t.Parallel()
	dir := workspace(t, "mistakes.ts", "story.ts")
	m, err := model.Read(openapi.Bundle)
	require.NoError(t, err)
	for _, r := range m.Resources {
		for _, method := range r.Methods {
			source := process + typescript.Setup(method) + typescript.Sample(m, method)
			write(t, dir, "sample_"+method.OperationID+".ts", []byte(source))
		}
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	guide, err := os.ReadFile("../../../server/http/docs/guides/clients.md")
	require.NoError(t, err)
	code := block.FindAllSubmatch(append(readme, guide...), -1)
	require.Len(t, code, 5)
	for i, b := range code {
		if bytes.Contains(b[1], []byte("openapi-fetch")) { // has types of another package
			continue
		}
		write(t, dir, fmt.Sprintf("page_%d.ts", i), slices.Concat([]byte(process), b[1]))
	}
	compile(t, dir, `"es2022", "dom", "dom.iterable"`)
}

// TestSamplesRun runs the sample of every operation, which must send the examples of the description.
func TestSamplesRun(t *testing.T) {
	t.Parallel()
	m, err := model.Read(openapi.Bundle)
	require.NoError(t, err)
	examples := story.NewExamples(t, m)
	dir := workspace(t)
	var all bytes.Buffer
	for _, r := range m.Resources {
		for _, method := range r.Methods {
			source := typescript.Setup(method) + typescript.Sample(m, method)
			source = strings.ReplaceAll(source, "'https://rail.example.com'", "process.env.RAIL_BASE_URL")
			write(t, dir, method.OperationID+".ts", []byte(source))
			fmt.Fprintf(&all, "await import('./%s.ts')\n", method.OperationID)
		}
	}
	write(t, dir, "all.ts", all.Bytes())
	write(t, dir, "all.mjs", bundled(t, dir, "all.ts", "--format=esm"))
	cmd := node(t, dir, "all.mjs")
	cmd.Env = append(os.Environ(), "RAIL_BASE_URL="+examples.URL, "RAIL_API_KEY=rail_live_1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	examples.Done(t)
}

// TestRuntimeIsAsDeclared compiles the runtime, and compares it with runtime.d.ts.
func TestRuntimeIsAsDeclared(t *testing.T) {
	t.Parallel()
	dir := workspace(t, "check.ts")
	for name, path := range map[string]string{
		"runtime.impl.ts": "runtime.impl.ts", "runtime.d.ts": "runtime.d.ts", "types.d.ts": folder + "/types.d.ts",
	} {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		write(t, dir, name, content)
	}
	write(t, dir, "version.d.ts", []byte("export declare const version: string, release: string\n"))
	compile(t, dir, `"es2022", "dom", "dom.iterable"`)
}

func TestRuntime(t *testing.T) {
	t.Parallel()
	out, err := node(t, workspace(t, "runtime.mjs"), "--test", "runtime.mjs").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// bundled returns a program of a folder with the client as one file.
func bundled(t *testing.T, dir, name string, flags ...string) []byte {
	t.Helper()
	args := append([]string{
		"tool", "-modfile=../../../.ci/tools.mod", "esbuild", filepath.Join(dir, name), "--bundle", "--log-level=warning",
	}, flags...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	require.NoError(t, err, "%s", problems.Bytes())
	return out
}

func TestStory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "story.mjs", bundled(t, workspace(t, "story.ts"), "story.ts", "--format=esm"))
	story.Run(t, "rail-typescript/", func(w story.World) ([]byte, error) {
		cmd := node(t, dir, "story.mjs")
		cmd.Env = w.Environ()
		return cmd.CombinedOutput()
	})
}

// TestRunsWithoutNode runs the client with the functions of Workers, and none of Node.
func TestRunsWithoutNode(t *testing.T) {
	t.Parallel()
	dir := workspace(t, "worker_host.mjs")
	write(t, dir, "worker.js", bundled(t, workspace(t, "worker.js"), "worker.js", "--format=iife", "--platform=neutral"))
	out, err := node(t, dir, "worker_host.mjs").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "2 sales, 1 tag, sale.created\n", string(out))
}

// TestRuntimeIsSmall keeps the part that is written by hand short, and independent of Node.
func TestRuntimeIsSmall(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("runtime.impl.ts")
	require.NoError(t, err)
	require.LessOrEqual(t, bytes.Count(source, []byte("\n")), 300)
	require.NotRegexp(t, `node:|require\(|process\.|\bBuffer\b`, string(source))
}
