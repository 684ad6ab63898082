package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// wanted is the outcome of the job in either language.
var wanted = outcome{
	Sales: 5, Pages: 3, DueMinor: 5000, AfterRefund: 4000,
	HandleRefused: api.ErrorCodePartnerHandleTaken, UnknownRefused: api.ErrorCodeResourceNotFound,
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

// TestTypeScript compiles the client strictly, with types from the description that the
// server serves, and runs it.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := compiled(t, s.URL)
	out, err := ran(t, program, s.URL, s.Key)
	require.NoError(t, err, "%s", out)
	done(t, s, out)
	out, err = ran(t, program, s.URL, "rail_live_none")
	require.Error(t, err)
	require.Contains(t, string(out), "401 api_key_invalid")
}

// TestTypeScriptSeesMistakes checks that the compiler refuses names that are not in the
// description. Otherwise types that are too wide would pass TestTypeScript.
func TestTypeScriptSeesMistakes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	dir := sources(t)
	script(t, dir, s.URL, "types")
	source, err := os.ReadFile(filepath.Join(dir, "main.ts"))
	require.NoError(t, err)
	mistakes := map[string]string{
		"amount_minor: 4999": "amount_minor: '49.99'", "rate_type: 'percent'": "rate_type: 'share'",
		"balance.due_minor": "balance.owed_minor",
		"'/v1/customers'":   "'/v1/buyers'", "email: 'another@example.com'": "mail: 'another@example.com'",
	}
	for right, wrong := range mistakes {
		require.Equal(t, 1, bytes.Count(source, []byte(right)), right)
		source = bytes.Replace(source, []byte(right), []byte(wrong), 1)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.ts"), source, 0o600))
	out, err := tool(t, dir, s.URL, "", "npm", "run", "--silent", "build").CombinedOutput()
	require.Error(t, err)
	for i, line := range strings.Split(string(source), "\n") {
		for right, wrong := range mistakes {
			if strings.Contains(line, wrong) {
				require.Contains(t, string(out), fmt.Sprintf("main.ts(%d,", i+1), "nothing said of %q", line)
				delete(mistakes, right)
			}
		}
	}
	require.Empty(t, mistakes, "in no line")
}

// sources copies the client to a folder of the test's own.
func sources(t *testing.T) string {
	t.Helper()
	packages, err := filepath.Abs("../../node_modules")
	require.NoError(t, err)
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed: the TypeScript client is not tested")
	}
	if _, err := os.Stat(filepath.Join(packages, "openapi-fetch")); err != nil {
		t.Skip("the npm packages are not installed (make packages): the TypeScript client is not tested")
	}
	dir := t.TempDir()
	for _, name := range []string{"main.ts", "package.json", "tsconfig.json"} {
		raw, err := os.ReadFile(filepath.Join("typescript", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	}
	require.NoError(t, os.Symlink(packages, filepath.Join(dir, "node_modules")))
	return dir
}

// compiled generates the client's types from a server's description and compiles it.
func compiled(t *testing.T, url string) (dir string) {
	t.Helper()
	dir = sources(t)
	script(t, dir, url, "types")
	script(t, dir, url, "build")
	return dir
}

func script(t *testing.T, dir, url, name string) {
	t.Helper()
	out, err := tool(t, dir, url, "", "npm", "run", "--silent", name).CombinedOutput()
	require.NoError(t, err, "%s: %s", name, out)
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
