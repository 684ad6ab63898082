// Package stripemock runs stripe-mock, Stripe's own mock server, for tests of the
// requests that Rail sends to Stripe.
package stripemock

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// New builds and starts stripe-mock, and returns its address on loopback. It accepts
// the requests that Stripe's description allows and answers with that description's
// examples. It takes test mode keys. Its version is in .ci/check.mod.
func New(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "stripe-mock")
	build := exec.CommandContext(t.Context(), "go", "build", "-modfile="+modFile(t), "-o", program, "github.com/stripe/stripe-mock")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build stripe-mock: %v\n%s", err, out)
	}
	mock := exec.CommandContext(t.Context(), program, "-http-addr", "127.0.0.1:") // the system chooses the port
	mock.Stderr = os.Stderr
	out, err := mock.StdoutPipe()
	if err == nil {
		err = mock.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mock.Wait() }) // the test's context has killed it
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, address, ok := strings.Cut(lines.Text(), "Listening for HTTP at address: "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }() // a full pipe would block it
			return "http://" + address
		}
	}
	t.Fatal("stripe-mock does not listen")
	return ""
}

// modFile returns the module file of the tools that check.
func modFile(t testing.TB) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(filepath.Dir(strings.TrimSpace(string(root))), ".ci", "check.mod")
}
