package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/process"
	"rail/server/http/docs/guides"
)

var (
	// fenced finds the code blocks of a guide: their language and text.
	fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	// filed matches the beginning of a block with a file name.
	filed = regexp.MustCompile(`^(?://|#) (\S+)\n`)
)

// TestGuides pastes the code blocks of each guide into a shell beside a server: sh blocks run, a json block must
// be in the output of the sh block above it, and others are files for a later sh block.
func TestGuides(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bash", "curl", "node"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no " + name)
		}
	}
	r := newRail(t)
	r.now = clock.NewManual(time.Now()) // receivers use the real time
	r.environ["RAIL_WEBHOOK_ALLOW_CIDRS"] = "127.0.0.0/8"
	printed, _ := r.serving()
	for _, g := range guides.All() {
		t.Run(g.Name, func(t *testing.T) {
			r.now.Advance(10 * time.Second) // the key's limit
			folder := t.TempDir()
			require.NoError(t, os.Symlink(r.environ["RAIL_DATA_DIR"], filepath.Join(folder, ".rail")))
			if strings.Contains(string(g.Text), "\nbin/rail ") {
				require.NoError(t, process.Build(t.Context(), filepath.Join(folder, "bin", "rail")))
			}
			pasted(t, folder, strings.NewReplacer("9009", freePort(t),
				"http://127.0.0.1:8080", regexp.MustCompile(`listens on (\S+)`).FindStringSubmatch(printed)[1],
			).Replace(string(g.Text)))
		})
	}
}

// freePort returns an unused port.
func freePort(t *testing.T) string {
	t.Helper()
	port, err := process.FreePort()
	require.NoError(t, err)
	return port
}

// pasted runs the blocks of a text in a folder.
func pasted(t *testing.T, folder, text string) {
	t.Helper()
	script, blocks := "exec 2>&1; set -eo pipefail; trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n", fenced.FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, blocks)
	for i, b := range blocks {
		switch language, code := b[1], b[2]; language {
		case "sh":
			script += code + fmt.Sprintf("echo '~~~ %d'\n", i)
		case "json": // below
		default:
			name := filed.FindStringSubmatch(code)
			require.NotNil(t, name, "block %d of %s is neither run nor a file", i, language)
			require.NoError(t, os.WriteFile(filepath.Join(folder, name[1]), []byte(code), 0o600))
			require.Contains(t, text[strings.Index(text, code)+len(code):], name[1], "no later block uses it")
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.WaitDelay = time.Second // for background processes of the script
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	last := ""
	for i, b := range blocks {
		if b[1] == "sh" {
			_, since, _ := strings.Cut(string(out), last)
			last = fmt.Sprintf("~~~ %d\n", i)
			answers, _, _ := strings.Cut(since, last)
			shown(t, i, answers, blocks)
		}
	}
}

// shown compares the JSON block after a sh block, if there is one, with the last matching answer.
func shown(t *testing.T, at int, out string, blocks [][]string) {
	t.Helper()
	assert.NotRegexp(t, `"type":"(api|authentication|permission)_error"`, out)
	if at+1 == len(blocks) || blocks[at+1][1] != "json" {
		assert.NotContains(t, out, `{"error":`, "a refusal that the guide does not show")
		return
	}
	var want any
	require.NoError(t, json.Unmarshal([]byte(blocks[at+1][2]), &want))
	for line := range strings.Lines(out) {
		var got any
		if json.Unmarshal([]byte(line), &got) == nil && within(want, got) {
			return
		}
	}
	assert.Failf(t, "no answer is like the guide's", "block %d: %s\n%s", at+1, blocks[at+1][2], out)
}

// within reports whether a value includes all of want.
func within(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, value := range want {
			if !within(value, object[name]) {
				return false
			}
		}
		return object != nil
	case []any:
		list, _ := got.([]any)
		if len(list) < len(want) {
			return false
		}
		for i, value := range want {
			if !within(value, list[i]) {
				return false
			}
		}
		return true
	}
	return want == got
}
