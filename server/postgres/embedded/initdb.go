package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

const superuser = "postgres"

// cluster holds the state of one call of Start.
type cluster struct {
	Options
	layout
	account account
	bin     string
}

// Exists reports whether a directory contains a cluster, which it does only once the
// cluster is complete.
func Exists(dir string) bool {
	_, err := os.Stat(layout{dir: dir}.versionFile())
	return !errors.Is(err, fs.ErrNotExist)
}

// initialise makes the cluster in another folder and then renames it, so that a crash leaves either
// no cluster or a complete one.
func (c cluster) initialise(ctx context.Context) error {
	_, err := os.Stat(c.versionFile())
	if err == nil {
		return c.account.give(c.data())
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.Logf("making a PostgreSQL cluster in %s", c.data())
	if err := os.RemoveAll(c.fresh()); err != nil {
		return err
	}
	if err := makePrivate(c.fresh(), c.account); err != nil {
		return err
	}
	if err := c.initdb(ctx); err != nil {
		return errors.Join(err, os.RemoveAll(c.fresh()))
	}
	// The note of a former cluster: its history has WAL of the same names.
	if err := c.forget(); err != nil {
		return err
	}
	if err := os.Rename(c.fresh(), c.data()); err != nil {
		return err
	}
	return syncDir(c.dir)
}

// initdb makes a cluster that trusts every connection: only the account itself can
// reach the socket.
func (c cluster) initdb(ctx context.Context) error {
	args := []string{"-D", c.fresh(), "-U", superuser, "-A", "trust", "-E", "UTF8",
		"--locale=C.UTF-8", "--data-checksums", "--no-instructions"}
	if !c.Durable {
		args = append(args, "--no-sync")
	}
	var out bytes.Buffer
	cmd := c.command(ctx, "initdb", syscall.SIGKILL, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.fresh(), &out, &out
	p, err := spawn(cmd)
	if err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	<-p.done
	if p.err != nil {
		return fmt.Errorf("initdb: %w: %s", p.err, out.Bytes())
	}
	return nil
}

// command returns a server program to run as the account. It inherits only PATH, because the
// environment contains secrets and PG* settings.
func (c cluster) command(ctx context.Context, name string, onDeath syscall.Signal, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.SysProcAttr = attributes(c.account, onDeath)
	cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}
	return cmd
}

// syncDir makes a rename in the directory survive a loss of power.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
