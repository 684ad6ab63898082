package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/client"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// wanted is the outcome of the job in any language.
var wanted = outcome{
	Sales: 5, Pages: 3, DueMinor: 5000, AfterRefund: 4000,
	HandleRefused: client.ErrorCodePartnerHandleTaken, UnknownRefused: client.ErrorCodeResourceNotFound,
}

// done checks the output of a client, and that the server agrees with it.
func done(t *testing.T, s *apitest.Server, printed []byte) {
	t.Helper()
	var o outcome
	require.NoError(t, json.Unmarshal(printed, &o), "%s", printed)
	require.EqualValues(t, 5, s.Must(200, s.Get("/v1/sales?program_id="+o.ProgramID)).Int("total_count"))
	require.Len(t, s.Must(200, s.Get("/v1/commissions?program_id="+o.ProgramID)).Data(), 5)
	o.ProgramID = ""
	require.Equal(t, wanted, o)
}

func TestGo(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, s.URL, s.Key))
	done(t, s, out.Bytes())
	require.ErrorContains(t, run(t.Context(), &out, s.URL, "rail_live_none"), "401 api_key_invalid")
	require.ErrorContains(t, run(t.Context(), &out, s.URL+"/docs/none", s.Key), "404 route_not_found")
}

// TestPython runs the program with the client of this repository.
func TestPython(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed: the program in Python is not tested")
	}
	client, err := filepath.Abs("../../gen/clients/python")
	require.NoError(t, err)
	s := apitest.New(t)
	python := func(key string) ([]byte, error) {
		cmd := tool(t, "python", s.URL, key, "python3", "-B", "main.py")
		cmd.Env = append(cmd.Env, "PYTHONPATH="+client)
		return cmd.CombinedOutput()
	}
	out, err := python(s.Key)
	require.NoError(t, err, "%s", out)
	done(t, s, out)
	out, err = python("rail_live_none")
	require.Error(t, err)
	require.Contains(t, string(out), "401 api_key_invalid")
}

// TestTypeScript compiles the program strictly, with the client of this repository, and runs it.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := compiled(t)
	out, err := ran(t, program, s.URL, s.Key)
	require.NoError(t, err, "%s", out)
	done(t, s, out)
	out, err = ran(t, program, s.URL, "rail_live_none")
	require.Error(t, err)
	require.Contains(t, string(out), "401 api_key_invalid")
}

// compiled copies the program to a folder of the test's own, installs the client there, and compiles it.
func compiled(t *testing.T) (dir string) {
	t.Helper()
	packages, err := filepath.Abs("../../node_modules")
	require.NoError(t, err)
	client, err := filepath.Abs("../../gen/clients/typescript")
	require.NoError(t, err)
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed: the program in TypeScript is not tested")
	}
	if _, err := os.Stat(filepath.Join(packages, "typescript")); err != nil {
		t.Skip("the npm packages are not installed (make packages): the program in TypeScript is not tested")
	}
	dir = t.TempDir()
	for _, name := range []string{"main.ts", "package.json", "tsconfig.json"} {
		raw, err := os.ReadFile(filepath.Join("typescript", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	}
	installed := filepath.Join(dir, "node_modules")
	require.NoError(t, os.Mkdir(installed, 0o700))
	require.NoError(t, os.Symlink(client, filepath.Join(installed, "rail-client")))
	require.NoError(t, os.Symlink(filepath.Join(packages, ".bin"), filepath.Join(installed, ".bin")))
	out, err := tool(t, dir, "", "", "npm", "run", "--silent", "build").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

func ran(t *testing.T, dir, url, key string) ([]byte, error) {
	t.Helper()
	return tool(t, dir, url, key, "npm", "run", "--silent", "start").CombinedOutput()
}

func tool(t *testing.T, dir, url, key string, command ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RAIL_BASE_URL="+url, "RAIL_API_KEY="+key, "NO_UPDATE_NOTIFIER=1")
	return cmd
}
