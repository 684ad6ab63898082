package bar

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"rail/server/harness/process"
)

// build builds the server. overlay is empty, or the flag of go build that replaces
// sources.
func build(ctx context.Context, overlay []string) (path string, remove func(), err error) {
	dir, err := temporary()
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // a temporary file may stay
	path = filepath.Join(dir, "rail")
	if err := process.Build(ctx, path, overlay...); err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

// instance is a server process that can be killed and restarted at the same address.
type instance struct {
	binary, addr, home string
	environ            []string
	cmd                *exec.Cmd
	log                tail
}

// newInstance starts a server at a free port, with an empty home and a minimal environment, so that a developer's
// settings do not affect a test. It trusts forwarded addresses, by which callers without a key are limited.
func newInstance(binary, dsn string, key [32]byte, environ ...string) (*instance, error) {
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	home, err := temporary()
	if err != nil {
		return nil, err
	}
	p := &instance{binary: binary, addr: "127.0.0.1:" + port, home: home}
	p.environ = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "RAIL_DATA_DIR=" + home, "RAIL_DATABASE_URL=" + dsn,
		"RAIL_SECRET_KEY=" + hex.EncodeToString(key[:]),
		"RAIL_ADDR=" + p.addr, "RAIL_DB_MAX_CONNS=16", "RAIL_LOG_LEVEL=error", "RAIL_TRUSTED_PROXIES=127.0.0.0/8",
		"RAIL_SMTP_URL=dir:" + filepath.Join(home, "mail"),
	}, environ...)
	return p, p.start()
}

// start starts the process and waits until it serves.
func (p *instance) start() error {
	cmd := exec.Command(p.binary, "serve")
	cmd.Env, cmd.Stderr = p.environ, &p.log
	if _, err := process.Serve(cmd); err != nil {
		return fmt.Errorf("%w\n%s", err, p.log.String())
	}
	p.cmd = cmd
	return nil
}

// kill kills the process; its requests are cut off.
func (p *instance) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		return fmt.Errorf("the server had ended before it was killed: %w\n%s", err, p.log.String())
	}
	return nil
}

// again restarts the process. It retries while the database is down, as whatever
// supervises a server does.
func (p *instance) again(ctx context.Context) error {
	for {
		err := p.start()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}

// end stops the process and returns an error unless it shut down cleanly.
func (p *instance) end() error {
	defer os.RemoveAll(p.home)                //nolint:errcheck // temporary
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // a stopped process would not see the next one
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // Wait returns the error if it had ended
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the server did not end well: %w\n%s", err, p.log.String())
	}
	return nil
}

// tail is a writer that keeps the end of a log, which says why a server ended.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write appends to the log.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - 16<<10; over > 0 {
		t.text = t.text[over:]
	}
	return len(p), nil
}

// String returns the end of the log.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
