package webhook_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/outbound/webhook/vectors"
	"rail/server/outbound/webhook/verify"
)

// The code around the receivers of webhook's README.md. It turns each into a program that reads a
// delivery and a secret.
const (
	nodeBefore = `
import { readFileSync } from 'node:fs'
const { secret, headers, body: rawBody } = JSON.parse(readFileSync(0, 'utf8'))
const request = { headers }
`
	nodeAfter = `
console.log(event.type)`
	pythonBefore = `
import json, sys
`
	// Headers are passed unchanged, and no exception may be raised.
	pythonHostile = `
print(sum(verified(h, b"{}", "whsec_x", int(sys.argv[1])) for h in [None] + json.load(sys.stdin)))
`
	pythonAfter = `
d = json.load(sys.stdin)
body = d["body"].encode()
print(json.loads(body)["type"] if verified(d["headers"]["rail-signature"], body, d["secret"], d["now"]) else "bad")`
)

// receiver returns the README's code block in a language.
func receiver(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatch(text, -1)
	require.Len(t, found, 1, language)
	return string(found[0][1])
}

// TestReceivers: the README's receivers verify deliveries of the running server, and refuse them
// with another secret. Receivers in Python and in Node with the package standardwebhooks run if
// they are installed.
func TestReceivers(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	base := apitest.Real(t, apitest.Loopback)
	h.Server, h.ProgramID = base, base.Program()
	secret := h.endpoint("/in", M{"event_types": []string{"affiliate.created"}}).String("secret")
	h.Deliver()
	h.Partner(h.ProgramID, M{"first_name": "Zoë <&> ☃"})
	r := h.sink.Wait(t, "/in", 1)[0]
	now := h.Clock.Now().Time
	require.NoError(t, verify.Signature(r.Header, []byte(r.Body), secret, now))
	require.NoError(t, verify.Standard(r.Header, []byte(r.Body), secret, now))
	other := "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	require.Error(t, verify.Signature(r.Header, []byte(r.Body), other, now))
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	if _, err := exec.LookPath("python3"); err == nil {
		in, err := json.Marshal(vectors.Hostile(now, uint64(now.UnixNano()), 1000))
		require.NoError(t, err)
		code := pythonBefore + receiver(t, "python") + pythonHostile
		cmd := exec.CommandContext(t.Context(), "python3", "-c", code, strconv.FormatInt(now.Unix(), 10))
		cmd.Stdin = bytes.NewReader(in)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, "0\n", string(out))
	}
	for name, command := range map[string][]string{
		"node":    {"node", "--input-type=module", "-e", nodeBefore + receiver(t, "ts") + nodeAfter},
		"python3": {"python3", "-c", pythonBefore + receiver(t, "python") + pythonAfter},
	} {
		if _, err := exec.LookPath(name); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, "node_modules", "standardwebhooks")); name == "node" && err != nil {
			continue
		}
		run := func(secret string) (string, error) {
			headers := map[string]string{"rail-signature": r.Header.Get("Rail-Signature")}
			for _, h := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
				headers[h] = r.Header.Get(h)
			}
			in, err := json.Marshal(M{"headers": headers, "body": r.Body, "secret": secret, "now": now.Unix()})
			require.NoError(t, err)
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			cmd.Dir, cmd.Stdin = root, bytes.NewReader(in)
			out, err := cmd.Output()
			return string(bytes.TrimSpace(out)), err
		}
		kind, err := run(secret)
		require.NoError(t, err, name)
		require.Equal(t, "affiliate.created", kind, name)
		kind, err = run(other)
		require.True(t, err != nil || kind == "bad", "%s took another secret's signature", name)
	}
}
