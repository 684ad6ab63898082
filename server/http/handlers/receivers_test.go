package handlers_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/outbound/webhook/verify"
)

// The receivers of the README, as programs that read a delivery and a secret.
const (
	nodeReceiver = `
import { readFileSync } from 'node:fs'
import { Webhook } from 'standardwebhooks'
const d = JSON.parse(readFileSync(0, 'utf8'))
console.log(new Webhook(d.secret).verify(d.body, d.headers).type)`
	pythonReceiver = `
import hashlib, hmac, json, sys
def verified(header, body, secret, now):
    pairs = [p.strip().split("=", 1) for p in header.split(",")]
    t = next(v for k, v in pairs if k == "t")
    want = hmac.new(secret.encode(), t.encode() + b"." + body, hashlib.sha256).hexdigest()
    return abs(now - int(t)) <= 300 and any(hmac.compare_digest(v, want) for k, v in pairs if k == "v1")
d = json.load(sys.stdin)
body = d["body"].encode()
print(json.loads(body)["type"] if verified(d["headers"]["rail-signature"], body, d["secret"], d["now"]) else "bad")`
)

// TestReceivers: deliveries of the running server verify with what the README
// tells receivers to use, and not with another secret. Node with the package
// standardwebhooks, and Python, take part where they are installed.
func TestReceivers(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	base := apitest.Real(t, apitest.Loopback)
	h.s, h.program = base, base.Program()
	secret := h.endpoint("/in", M{"event_types": []string{"affiliate.created"}}).String("secret")
	h.s.Deliver()
	h.s.Partner(h.program, M{"first_name": "Zoë <&> ☃"})
	r := h.sink.Wait(t, "/in", 1)[0]
	now := h.s.Clock.Now().Time
	require.NoError(t, verify.Signature(r.Header, []byte(r.Body), secret, now))
	require.NoError(t, verify.Standard(r.Header, []byte(r.Body), secret, now))
	other := "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	require.Error(t, verify.Signature(r.Header, []byte(r.Body), other, now))
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	for name, command := range map[string][]string{"node": {"node", "--input-type=module", "-e", nodeReceiver}, "python3": {"python3", "-c", pythonReceiver}} {
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
