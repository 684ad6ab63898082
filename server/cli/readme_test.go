package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// noting makes curl write the header of each answer to a file.
const noting = `curl() { command curl "$@" --dump-header "$(mktemp heads/XXXXXX)"; }` + "\n"

// TestReadmeCalls pastes the calls of the README, and those of cmd/example/README.md after them, into a shell
// beside a first run.
func TestReadmeCalls(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no " + name)
		}
	}
	r := newRail(t)
	printed, _ := r.serving()
	folder := filepath.Dir(r.environ["RAIL_DATA_DIR"])
	require.NoError(t, os.Mkdir(filepath.Join(folder, "heads"), 0o755))
	require.NoError(t, os.Symlink(r.environ["RAIL_DATA_DIR"], filepath.Join(folder, ".rail")))
	const documented = "http://127.0.0.1:8080"
	calls := shellBlock(t, "README.md")
	require.Contains(t, calls, documented)
	address := regexp.MustCompile(`listens on (\S+)`).FindStringSubmatch(printed)[1]
	calls = strings.ReplaceAll(calls+shellBlock(t, "cmd/example/README.md"), documented, address)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", noting+calls)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	heads, err := filepath.Glob(filepath.Join(folder, "heads", "*"))
	require.NoError(t, err)
	require.Len(t, heads, 6+1+2, "%s", out)
	for _, head := range heads {
		text, err := os.ReadFile(head)
		require.NoError(t, err)
		require.Regexp(t, `^HTTP/1\.1 2\d\d `, string(text), "%s", out)
	}
	require.Contains(t, string(out), `"due_minor":1000`, "what the README says that the partner earned")
}

// shellBlock returns the only sh block of a page, by its path in the module.
func shellBlock(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 1, page)
	return blocks[0][1]
}
