package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/process"
	"rail/server/harness/wait"
)

// violation matches Prism's log of an exchange that the description does not allow.
var violation = regexp.MustCompile(`(?i)violation|✖|⚠`)

// TestValidatingProxy runs the clients through Prism, which validates every request and
// response by the served description alone. With a faulty description Prism must log a
// violation, or the first run would prove nothing.
func TestValidatingProxy(t *testing.T) {
	prism := installed(t)
	s := apitest.New(t)
	document := s.Must(200, s.Get("/v1/openapi.json")).Raw
	proxy := proxied(t, prism, s.URL, document)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, proxy.url, s.Key))
	done(t, s, out.Bytes())
	script, err := ran(t, compiled(t), proxy.url, s.Key)
	require.NoError(t, err, "%s", script)
	done(t, s, script)
	proxy.log.shows(t, regexp.MustCompile("/refund has returned 200"))
	require.NotRegexp(t, violation, proxy.log.text())

	var d map[string]any
	require.NoError(t, json.Unmarshal(document, &d))
	properties := d["components"].(map[string]any)["schemas"].(map[string]any)["Balance"].(map[string]any)["properties"].(map[string]any)
	properties["due_minor"] = map[string]any{"type": "string"}
	faulty, err := json.Marshal(d)
	require.NoError(t, err)
	proxy = proxied(t, prism, s.URL, faulty)
	require.Error(t, run(t.Context(), &out, proxy.url, s.Key))
	proxy.log.shows(t, violation)
}

// installed returns the path of Prism's command, after installing it if necessary.
func installed(t *testing.T) string {
	t.Helper()
	if os.Getenv("RAIL_TEST_FULL") == "" {
		t.Skip("Prism is large: RAIL_TEST_FULL=1 installs it and runs this")
	}
	dir, err := filepath.Abs("../../.ci/prism")
	require.NoError(t, err)
	path := filepath.Join(dir, "node_modules", ".bin", "prism")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed: there is no Prism")
	}
	out, err := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--no-audit", "--no-fund",
		"--no-package-lock", "--ignore-scripts", "--loglevel=error").CombinedOutput()
	if err != nil {
		t.Skipf("npm could not install Prism: %s", out)
	}
	return path
}

// screen is a buffer that can be read while it is written.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// shows waits until the log matches a pattern: Prism's log line may arrive after the
// answer.
func (s *screen) shows(t *testing.T, pattern *regexp.Regexp) {
	t.Helper()
	wait.Until(t, func() bool { return pattern.MatchString(s.text()) }, "Prism does not log %s", pattern)
}

type proxy struct {
	url string
	log *screen
}

// proxied starts Prism before a server. It stops with the test.
func proxied(t *testing.T, prism, server string, document []byte) proxy {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openapi.json")
	require.NoError(t, os.WriteFile(path, document, 0o600))
	port, err := process.FreePort()
	require.NoError(t, err)
	p := proxy{"http://127.0.0.1:" + port, &screen{}}
	cmd := exec.CommandContext(t.Context(), prism, "proxy", path, server, "--errors", "--port", port)
	cmd.Stdout, cmd.Stderr = p.log, p.log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	wait.Until(t, func() bool {
		res, err := http.Get(p.url + "/v1/openapi.json")
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	}, "Prism does not answer: %s", p.log.text())
	return p
}
