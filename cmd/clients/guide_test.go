package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/cmd/clients/golang"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// TestGuide runs the programs of the guide on clients, one after another, against the same server. The first adds the
// partner, and the others find it.
func TestGuide(t *testing.T) {
	t.Chdir("../..")
	guide, err := os.ReadFile("server/http/docs/guides/clients.md")
	require.NoError(t, err)
	s := apitest.New(t)
	program := s.Program()
	root, err := os.Getwd()
	require.NoError(t, err)
	printed := []string{}
	for _, l := range []struct {
		fence, tool, file string
		install           func(t *testing.T, root, dir string)
		command           []string
		env               string
	}{
		{"python", "python3", "guide.py", nil, []string{"python3", "-B", "guide.py"}, "PYTHONPATH=" + root + "/gen/clients/python"},
		{"go", "go", "guide.go", goModule, []string{"go", "run", "."}, "GOFLAGS=-mod=mod"},
		{"ts", "node", "guide.ts", bundle, []string{"node", "guide.mjs"}, ""},
	} {
		if _, err := exec.LookPath(l.tool); err != nil {
			t.Logf("%s is not installed: its program is not run", l.tool)
			continue
		}
		source := regexp.MustCompile("(?s)```" + l.fence + "\n(.*?)```").FindStringSubmatch(string(guide))[1]
		require.Contains(t, source, "https://rail.example.com")
		dir := t.TempDir()
		source = strings.Replace(source, "https://rail.example.com", s.URL, 1)
		require.NoError(t, save(filepath.Join(dir, l.file), []byte(source)))
		if l.install != nil {
			l.install(t, root, dir)
		}
		cmd := exec.CommandContext(t.Context(), l.command[0], l.command[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "RAIL_API_KEY="+s.Key, "RAIL_PROGRAM="+program, "GOPROXY=off", l.env)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		printed = append(printed, string(out))
	}
	for i, line := range printed {
		if i == 0 {
			require.Regexp(t, `^added part_\w+\n$`, line)
		} else {
			require.Regexp(t, `^is a partner already(: part_\w+)?\n$`, line)
		}
	}
	require.NotEmpty(t, printed)
}

// goModule makes a module of a folder, beside that of the client.
func goModule(t *testing.T, root, dir string) {
	t.Helper()
	files, err := contents(os.DirFS(filepath.Join(root, "gen/client")))
	require.NoError(t, err)
	for name, content := range golang.Module(files, "1.2.3") {
		require.NoError(t, save(filepath.Join(dir, "client", name), content))
	}
	const mod = "module guide\n\ngo 1.24\n\nrequire rail/client v0.0.0\n\nreplace rail/client => ./client\n"
	require.NoError(t, save(filepath.Join(dir, "go.mod"), []byte(mod)))
}

// bundle compiles the program in TypeScript with the client.
func bundle(t *testing.T, root, dir string) {
	t.Helper()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "node_modules"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(root, "gen/clients/typescript"), filepath.Join(dir, "node_modules/rail-client")))
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=.ci/tools.mod", "esbuild", filepath.Join(dir, "guide.ts"),
		"--bundle", "--format=esm", "--log-level=warning", "--outfile="+filepath.Join(dir, "guide.mjs"))
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
