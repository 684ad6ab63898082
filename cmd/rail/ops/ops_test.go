// Package ops_test compares the files of this folder with the program.
package ops_test

import (
	"flag"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/harness/process"
	"rail/server/harness/wait"
	"rail/server/inbound/importer"
)

var update = flag.Bool("update", false, "write .env.example anew")

func TestMain(m *testing.M) { pgtest.Main(m) }

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// tool runs a program that validates files, and skips the test if it is not installed.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// metrics returns the names of a running server's metrics.
func metrics(t *testing.T) map[string]bool {
	t.Helper()
	port, err := process.FreePort()
	require.NoError(t, err)
	address := "127.0.0.1:" + port
	s := apitest.StartProcess(t, apitest.Real(t), "RAIL_METRICS_ADDR="+address, "RAIL_DATA_DIR="+t.TempDir(),
		"RAIL_DATABASE_READ_URL=postgres://127.0.0.1:1/none") // a standby has metrics, also while it is away
	names := map[string]bool{}
	wait.Until(t, func() bool {
		for _, url := range []string{s.URL + "/docs", "http://" + address + "/metrics"} {
			res, err := http.Get(url)
			require.NoError(t, err)
			text, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+) `).FindAllSubmatch(text, -1) {
				names[string(m[1])] = true
			}
		}
		return names["rail_job_seconds"] && names["rail_requests_total"] && names["rail_webhook_queue"]
	}, "no job has run")
	return names
}

// TestMetricsExist checks that a server has every metric of the alerts and the dashboard, and that these use every
// metric of Rail.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	exposed := metrics(t)
	queried := map[string]bool{}
	for _, name := range []string{"alerts.yaml", "grafana.json"} {
		for _, m := range regexp.MustCompile(`\b(?:rail|process)_[a-z_]+\b`).FindAllString(read(t, name), -1) {
			if base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m, ""); exposed[base] {
				m = base
			}
			assert.True(t, exposed[m], "%s asks for %s, which no server tells", name, m)
			queried[m] = true
		}
	}
	for name := range exposed {
		assert.True(t, queried[name] || !strings.HasPrefix(name, "rail_"), "%s is on no dashboard", name)
	}
	for name := range exposed {
		if strings.HasPrefix(name, "rail_") {
			assert.Contains(t, read(t, "../README.md"), "`"+name, "the operator's page has every metric")
		}
	}
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	tested := read(t, "alerts_test.yaml")
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read(t, "alerts.yaml"), -1) {
		fires := regexp.MustCompile(`alertname: ` + m[1] + `\n\s+eval_time: \w+\n\s+exp_alerts:\n`)
		require.Regexp(t, fires, tested, "%s never fires", m[1])
		require.Regexp(t, `alertname: `+m[1]+`\n\s+eval_time: \w+\n\s+exp_alerts: \[\]`, tested, "%s is never silent", m[1])
	}
	tool(t, "promtool", "check", "rules", "alerts.yaml")
	tool(t, "promtool", "test", "rules", "alerts_test.yaml")
}

// TestUnits checks that systemd accepts the units, and that they confine the server.
func TestUnits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var units []string
	for _, name := range []string{
		"rail.service", "rail-migrate.service", "rail-private.service", "rail-backup.service", "rail-backup.timer",
		"rail-audit.service", "rail-audit.timer",
	} {
		// Verify needs an existing program, with any content.
		text := strings.ReplaceAll(read(t, name), "/usr/local/bin/rail", "/bin/true")
		units = append(units, filepath.Join(dir, name))
		require.NoError(t, os.WriteFile(units[len(units)-1], []byte(text), 0o600))
	}
	// With rail-private.service, the user of the backup owns the folder.
	uncommented := regexp.MustCompile(`(?m)^# (\w+=)`).ReplaceAllString(read(t, "rail-backup.service"), "$1")
	require.Contains(t, uncommented, "\nUser=rail\n")
	require.Contains(t, uncommented, "\nExecStartPre=+/usr/bin/install -d -m 0700 -o rail -g rail /var/backups/rail\n")
	units = append(units, filepath.Join(dir, "private", "rail-backup.service"))
	require.NoError(t, os.MkdirAll(filepath.Dir(units[len(units)-1]), 0o700))
	uncommented = strings.ReplaceAll(uncommented, "/usr/local/bin/rail", "/bin/true")
	require.NoError(t, os.WriteFile(units[len(units)-1], []byte(uncommented), 0o600))
	require.Empty(t, tool(t, "systemd-analyze", append([]string{"verify"}, units...)...))
	tool(t, "systemd-analyze", "security", "--offline=true", "--threshold=20", units[0])
}

// TestNginxBodies: nginx accepts the largest body that Rail does.
func TestNginxBodies(t *testing.T) {
	t.Parallel()
	limit := regexp.MustCompile(`client_max_body_size (\d+)m;`).FindStringSubmatch(read(t, "nginx.conf"))
	require.NotNil(t, limit)
	most, err := strconv.Atoi(limit[1])
	require.NoError(t, err)
	require.Greater(t, most<<20, importer.MaxUpload)
}

// TestFirstLinkAddress: the link of the first owner has the address of the server, not the one of the machine.
func TestFirstLinkAddress(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rail.service", "rail-private.service"} {
		text := strings.ReplaceAll(read(t, name), "\\\n#", "")
		require.Regexp(t, `(?m)^#.* RAIL_BASE_URL=https://\S+ .*rail user first-link`, text, name)
	}
}

// usage matches a line of the help on variables.
var usage = regexp.MustCompile(`(?m)^  ((?:RAIL|OTEL)_\w+)(?: +(.*?)(?: \(default (.*)\))?)?$`)

// TestEnvExample checks that the example has every variable, with its meaning.
func TestEnvExample(t *testing.T) {
	t.Parallel()
	if *update {
		require.NoError(t, os.WriteFile(".env.example", []byte(config.Example()), 0o644))
	}
	require.Equal(t, config.Example(), read(t, ".env.example"), "go test ./cmd/rail/ops -run TestEnvExample -update writes it anew")
	require.Contains(t, config.Example(), "\n#RAIL_LOG_FORMAT=text\n")
}

// TestVariablesExist checks that the other files set only existing variables.
func TestVariablesExist(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range usage.FindAllStringSubmatch(config.Usage(), -1) {
		names[m[1]] = true
	}
	require.Greater(t, len(names), 30)
	files, err := filepath.Glob("*")
	require.NoError(t, err)
	for _, name := range files {
		set := regexp.MustCompile(`\bRAIL_[A-Z_]+\b`).FindAllString(read(t, name), -1)
		for _, variable := range slices.Compact(set) {
			if name != "ops_test.go" && name != "kubernetes.yaml" { // which mentions RAIL_PORT
				assert.True(t, names[variable], "%s has %s, which is no variable", name, variable)
			}
		}
	}
	// A server starts with the settings of the manifests.
	text := read(t, "kubernetes.yaml")
	environ := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  (RAIL_\w+): (.+)$`).FindAllStringSubmatch(text, -1) {
		environ[m[1]] = m[2]
	}
	secret := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(secret, []byte(strings.Repeat("07", 32)), 0o600))
	database := filepath.Join(t.TempDir(), "database")
	require.NoError(t, os.WriteFile(database, []byte("postgres://h/n"), 0o600))
	maps.Copy(environ, map[string]string{"RAIL_SECRET_KEY_FILE": secret, "RAIL_DATABASE_URL_FILE": database})
	_, err = config.Read(environ)
	require.NoError(t, err)
}

// TestFilesAreShown: the folder's page has a line for each file.
func TestFilesAreShown(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != "README.md" {
			assert.Contains(t, read(t, "README.md"), "("+e.Name()+")")
		}
	}
}
