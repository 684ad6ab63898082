package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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
	"rail/server/harness/importtest"
	"rail/server/harness/process"
	"rail/server/harness/wait"
	"rail/server/http/docs/guides"
)

var (
	// fenced finds the code blocks of a guide: their language and text.
	fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	// filed matches the beginning of a block with a file name.
	filed = regexp.MustCompile(`^(?://|#) (\S+)\n`)
)

// TestGuides runs the code of each guide beside a server, in every language, and on the
// host as in a container.
func TestGuides(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "curl", "node")
	r := newRail(t)
	r.now = clock.NewManual(time.Now()) // receivers compare times with their own clock
	r.environ["RAIL_WEBHOOK_ALLOW_CIDRS"] = "127.0.0.0/8"
	sources := importSourcesOf(t)
	maps.Copy(r.environ, sources)
	printed, _ := r.serving()
	address := regexp.MustCompile(`listens on (\S+)`).FindStringSubmatch(printed)[1]
	binary := filepath.Join(t.TempDir(), "rail")
	require.NoError(t, process.Build(t.Context(), binary))
	built := compiled(t, strings.NewReplacer("9009", freePort(t), "http://127.0.0.1:8080", address))
	ran := map[string]int{}
	for _, g := range guides.All() {
		run := func(name string, run func(t *testing.T, folder string, here *strings.Replacer)) {
			ran[name]++
			t.Run(g.Name+"/"+name, func(t *testing.T) {
				r.now.Advance(10 * time.Second) // refills the key's rate limit
				folder := t.TempDir()
				require.NoError(t, os.Chmod(filepath.Dir(folder), 0o755)) // a guide starts a private PostgreSQL
				require.NoError(t, os.Symlink(r.environ["RAIL_DATA_DIR"], filepath.Join(folder, ".rail")))
				run(t, folder, strings.NewReplacer("9009", freePort(t), "http://127.0.0.1:8080", address))
			})
		}
		run("shell", func(t *testing.T, folder string, here *strings.Replacer) {
			installed(t, folder, binary)
			pasted(t, folder, here.Replace(string(g.Text)), sources)
		})
		if strings.Count(g.InContainer(), guides.InContainer) > 1 { // not only in its setup
			run("container", func(t *testing.T, folder string, here *strings.Replacer) {
				installed(t, folder, binary)
				docked(t, folder)
				pasted(t, folder, here.Replace(g.InContainer()), sources)
			})
		}
		for file, command := range programs {
			if code, steps := g.Program(file); len(steps) > 0 {
				run(file, func(t *testing.T, folder string, here *strings.Replacer) {
					command := cmp.Or(command, filepath.Join(built, g.Name))
					needs(t, strings.Fields(command)[0])
					programmed(t, folder, file, here.Replace(code), command, address, steps)
				})
			}
		}
	}
	require.Equal(t, map[string]int{"shell": 21, "container": 8, "guide.mjs": 18, "guide.py": 18, "guide.go": 18}, ran)
}

// programs are the files that guides write their calls into, and the commands that run them; "" for the binary of
// compiled.
var programs = map[string]string{
	"guide.mjs": "node guide.mjs",
	"guide.py":  "python3 guide.py",
	"guide.go":  "",
}

// compiled compiles the Go programs of all guides at once, into a folder with a binary for each.
func compiled(t *testing.T, here *strings.Replacer) (folder string) {
	t.Helper()
	source := t.TempDir()
	folder = filepath.Join(source, "bin")
	require.NoError(t, os.WriteFile(filepath.Join(source, "go.mod"), []byte("module guides\n\ngo 1.26\n"), 0o600))
	for _, g := range guides.All() {
		if code, steps := g.Program("guide.go"); len(steps) > 0 {
			require.NoError(t, os.Mkdir(filepath.Join(source, g.Name), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(source, g.Name, "guide.go"), []byte(here.Replace(code)), 0o600))
		}
	}
	for _, args := range [][]string{{"vet", "./..."}, {"build", "-o", folder + "/", "./..."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = source, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return folder
}

// needs skips a test on a machine without these programs.
func needs(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no " + name)
		}
	}
}

// installed makes a bin/rail in a folder, which leads to a binary.
func installed(t *testing.T, folder, binary string) {
	t.Helper()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "bin"), 0o700))
	require.NoError(t, os.Symlink(binary, filepath.Join(folder, "bin", "rail")))
}

// docked makes a bin/docker that knows one command: rail in the container of compose.yaml.
func docked(t *testing.T, folder string) {
	t.Helper()
	const docker = `#!/bin/sh
[ "$1 $2 $3 $4 $5" = "compose exec -T rail /rail" ] || exit 64
shift 5
exec "$(dirname "$0")/rail" "$@"
`
	require.NoError(t, os.WriteFile(filepath.Join(folder, "bin", "docker"), []byte(docker), 0o700)) // #nosec G306 -- it is run
}

// programmed runs the calls of a guide in a language, and compares the answers.
func programmed(t *testing.T, folder, file, code, command, address string, steps []guides.Step) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(folder, ".rail", "demo.key"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(code), 0o600))
	ctx, stop := context.WithTimeout(t.Context(), wait.Limit)
	defer stop()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "RAIL="+address, "KEY="+strings.TrimSpace(string(key)))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, code)
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, step := range steps {
		require.GreaterOrEqual(t, len(answers), step.Calls, "%s", out)
		answered(t, i, strings.Join(answers[:step.Calls], "\n"), step.Answer)
		answers = answers[step.Calls:]
	}
	require.Empty(t, answers)
}

// freePort returns an unused port.
func freePort(t *testing.T) string {
	t.Helper()
	port, err := process.FreePort()
	require.NoError(t, err)
	return port
}

// importSourcesOf serves the products that guides import from, and returns their addresses by the variables of the
// environment.
func importSourcesOf(t *testing.T) map[string]string {
	t.Helper()
	addresses := map[string]string{}
	for name, serve := range map[string]func(*importtest.World, importtest.Oddities) http.Handler{
		"REWARDFUL":     importtest.Rewardful,
		"TOLT":          importtest.Tolt,
		"FIRSTPROMOTER": importtest.FirstPromoter,
		"TAPFILIATE":    importtest.Tapfiliate,
		"PARTNERSTACK":  importtest.PartnerStack,
		"DUB":           importtest.Dub,
	} {
		w := importtest.NewWorld(7, 6, time.Now(), importtest.Shape{Param: "via", OneCurrency: true})
		addresses["RAIL_IMPORT_URL_"+name] = importtest.Serve(t, serve(w, importtest.Oddities{}), importtest.Faults{}).URL
	}
	return addresses
}

// pasted runs the blocks of a text in a folder. more are variables of the environment.
func pasted(t *testing.T, folder, text string, more map[string]string) {
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
	ctx, stop := context.WithTimeout(t.Context(), wait.Limit)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.WaitDelay = time.Second // for background processes of the script
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))
	for variable, value := range more {
		cmd.Env = append(cmd.Env, variable+"="+value)
	}
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

// shown checks the block of JSON that follows a block of sh, if one does.
func shown(t *testing.T, at int, out string, blocks [][]string) {
	t.Helper()
	answer := ""
	if at+1 < len(blocks) && blocks[at+1][1] == "json" {
		answer = blocks[at+1][2]
	}
	answered(t, at, out, answer)
}

// answered checks that one line of the output has all that the guide's answer has.
func answered(t *testing.T, at int, out, answer string) {
	t.Helper()
	assert.NotRegexp(t, `"type":"(api|authentication|permission)_error"`, out)
	if answer == "" {
		assert.NotContains(t, out, `{"error":`, "a refusal that the guide does not show")
		return
	}
	var want any
	require.NoError(t, json.Unmarshal([]byte(answer), &want))
	for line := range strings.Lines(out) {
		var got any
		if json.Unmarshal([]byte(line), &got) == nil && within(want, got) {
			return
		}
	}
	assert.Failf(t, "no answer is like the guide's", "block %d: %s\n%s", at, answer, out)
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
