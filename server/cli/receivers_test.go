package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/wait"
	"rail/server/http/docs/guides"
	"rail/server/outbound/webhook"
	"rail/server/outbound/webhook/vectors"
)

// TestReceiversSurvive starts each receiver of the webhook guide and sends it hostile headers and bodies, and
// then a valid delivery, which it must accept.
func TestReceiversSurvive(t *testing.T) {
	t.Parallel()
	var text string
	for _, g := range guides.All() {
		if g.Name == "webhooks" {
			text = string(g.Text)
		}
	}
	runs := map[string][]string{
		"receive.mjs": {"node", "receive.mjs"},
		"receive.py":  {"python3", "receive.py"},
		"receive.go":  {"./receive"},
	}
	found := 0
	for _, b := range fenced.FindAllStringSubmatch(text, -1) {
		name := filed.FindStringSubmatch(b[2])
		if name == nil {
			continue
		}
		found++
		t.Run(name[1], func(t *testing.T) {
			t.Parallel()
			received(t, name[1], b[2], runs[name[1]])
		})
	}
	require.Equal(t, len(runs), found)
}

// received tests one receiver against strangers.
func received(t *testing.T, name, code string, run []string) {
	t.Helper()
	if _, err := exec.LookPath(run[0]); err != nil && name != "receive.go" {
		t.Skip("no " + run[0])
	}
	folder, port := t.TempDir(), freePort(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(strings.ReplaceAll(code, "9009", port)), 0o600))
	if name == "receive.go" {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", "receive", "receive.go")
		build.Dir, build.Env = folder, append(os.Environ(), "GO111MODULE=off")
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	ctx, stop := context.WithTimeout(t.Context(), wait.Limit)
	defer stop()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, run[0], run[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, &errs
	cmd.Env = append(os.Environ(), "RAIL_WEBHOOK_SECRET="+vectors.Secret1)
	require.NoError(t, cmd.Start())
	address := "127.0.0.1:" + port
	wait.Until(t, func() bool {
		c, err := net.Dial("tcp", address)
		return err == nil && c.Close() == nil
	}, "%s does not listen", name)
	strangers(t, address)
	body := `{"id":"evt_1","type":"sale.created","note":"zoë <&>"}`
	signed := webhook.RailSignature(time.Now(), []byte(body), vectors.Secret2, vectors.Secret1)
	require.Equal(t, http.StatusNoContent, sent(t, address, signed, body), "%s", &errs)
	require.NoError(t, cmd.Wait(), "%s", &errs)
	require.JSONEq(t, `{"took":"sale.created","id":"evt_1"}`, out.String())
}

// strangers sends unsigned requests: each must be answered 400.
func strangers(t *testing.T, address string) {
	t.Helper()
	now := time.Now()
	for _, header := range vectors.Hostile(now, uint64(now.UnixNano()), 150) {
		require.Equal(t, http.StatusBadRequest, sent(t, address, header, "{}"), "%q", header)
	}
	old := webhook.RailSignature(now.Add(-time.Hour), []byte("{}"), vectors.Secret1)
	require.Equal(t, http.StatusBadRequest, sent(t, address, old, "{}"))
	require.Equal(t, http.StatusBadRequest, sent(t, address, webhook.RailSignature(now, []byte("{}"), vectors.Secret1), "[]"))
	for _, broken := range []string{
		"Content-Length: 100\r\n\r\n{",
		"Content-Length: -1\r\n\r\n{}",
		"Content-Length: x\r\n\r\n{}",
		"Content-Length: " + strings.Repeat("9", 5000) + "\r\n\r\n{}",
		"Content-Length: 9000000\r\n\r\n" + strings.Repeat("a", 2<<20),
		"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
		"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		"Rail-Signature: \x00\r\nContent-Length: 2\r\n\r\n{}",
		"Rail-Signature: a\r\nRail-Signature: b\r\nContent-Length: 2\r\n\r\n{}",
		"Rail-Signature: " + strings.Repeat("a", 200_000) + "\r\nContent-Length: 2\r\n\r\n{}",
		"\r\n",
	} {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err, "the receiver is gone")
		_, _ = c.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\n" + broken))
		require.NoError(t, c.Close())
	}
}

// sent posts a body with a raw header, and returns the status.
func sent(t *testing.T, address, header, body string) int {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err, "the receiver is gone")
	defer func() { require.NoError(t, c.Close()) }()
	require.NoError(t, c.SetDeadline(time.Now().Add(wait.Limit)))
	_, err = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nRail-Signature: %s\r\nContent-Length: %d\r\n\r\n%s", header, len(body), body)
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err, "no answer to %q", header)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}
