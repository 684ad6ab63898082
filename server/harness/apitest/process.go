package apitest

import (
	"context"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/auth/keyring"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/process"
	"rail/server/secret"
)

// built builds the server, once for each test binary, and leaves it in the temporary directory.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rail-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "rail")
	return path, process.Build(context.Background(), path)
})

// Process is a server process that a test may pause and kill. Its Server has the process's URL.
type Process struct {
	*Server
	Cmd *exec.Cmd
}

// Processes starts n server processes on the database of s, which must be one of
// Real. They stop with the test.
func Processes(t testing.TB, s *Server, n int, environ ...string) []*Process {
	t.Helper()
	out := make([]*Process, n)
	for i := range out {
		out[i] = StartProcess(t, s, environ...)
	}
	return out
}

// StartProcess starts one server process on the database of s, behind a
// PgBouncer where RAIL_TEST_BOUNCER is set.
func StartProcess(t testing.TB, s *Server, environ ...string) *Process {
	t.Helper()
	path, err := built()
	require.NoError(t, err)
	s.recordKey()
	cmd := exec.Command(path, "serve")
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "RAIL_DATABASE_URL=" + s.DSN,
		"RAIL_SECRET_KEY=" + hex.EncodeToString(s.Config.SecretKey[:]),
		"RAIL_ADDR=127.0.0.1:0", "RAIL_DATA_DIR=" + t.TempDir(), "RAIL_DB_MAX_CONNS=12", "RAIL_LOG_LEVEL=error",
		"RAIL_ADDRESS_RATE_LIMIT=1000000",
	}, environ...)
	// Through the pooler, except for connections that need a session.
	if os.Getenv("RAIL_TEST_BOUNCER") != "" {
		cmd.Env = append(cmd.Env, "RAIL_DATABASE_URL="+pgtest.Bouncer(t, s.DSN), "RAIL_DATABASE_SESSION_URL="+s.DSN)
	}
	cmd.Stderr = os.Stderr
	// Everything except the URL comes from s: the database, the keys, the test.
	replica := *s
	replica.URL, err = process.Serve(cmd)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT) // a test may have paused it
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have been killed
		_ = cmd.Wait()
	})
	replica.Client = replica.ClientFor(replica.Key)
	return &Process{&replica, cmd}
}

// recordKey records the secret key's fingerprint in the database, which processes check.
func (s *Server) recordKey() {
	s.T.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(s.T, err)
	require.NoError(s.T, keyring.Adopt(context.Background(), s.Pool, keyring.SecretKey{Keeper: keeper, Now: s.Clock.Now()}))
}

// Real starts a server on a database that processes can serve too. Their clock is the
// system's; that of the server itself is manual and begins at the present.
func Real(t testing.TB, options ...Option) *Server {
	t.Helper()
	return On(t, pgtest.DurableDSN(t), clock.NewManual(clock.System{}.Now().Time), options...)
}
