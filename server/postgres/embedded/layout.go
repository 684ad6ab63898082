package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxSocketPath, in bytes, stays below the kernel's 108 (104 on macOS).
const maxSocketPath = 100

// ErrUnreachable means that the server's account cannot enter the directory.
var ErrUnreachable = errors.New("directory closed to the server's account")

// layout names the paths of one cluster.
type layout struct {
	dir    string // absolute
	socket string // directory of the socket, private to the account
}

// The paths in dir: data is the cluster if versionFile exists; a new cluster is created in fresh.
func (l layout) data() string        { return filepath.Join(l.dir, "data") }
func (l layout) versionFile() string { return filepath.Join(l.data(), "PG_VERSION") }
func (l layout) fresh() string       { return filepath.Join(l.dir, "data.init") }
func (l layout) lock() string        { return filepath.Join(l.dir, "start.lock") }
func (l layout) log() string         { return filepath.Join(l.dir, "postgres.log") }
func (l layout) pidFile() string     { return filepath.Join(l.data(), "postmaster.pid") }

// prepare makes the directories. It writes nothing unless the account can enter them.
func prepare(dir string, who account) (layout, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, err
	}
	if err := reachable(dir, who); err != nil {
		return layout{}, err
	}
	if err := makeOpen(dir); err != nil {
		return layout{}, err
	}
	l := layout{dir: dir, socket: socketDir(dir)}
	if err := reachable(filepath.Dir(l.socket), who); err != nil {
		return layout{}, err
	}
	return l, makePrivate(l.socket, who)
}

// reachable returns the error, with advice, if the account cannot enter dir.
func reachable(dir string, who account) error {
	blocked := who.blockedBy(dir)
	if blocked == "" {
		return nil
	}
	return fmt.Errorf("%w: PostgreSQL runs as %q here, because this process is root, and that account cannot enter %s; "+
		"set RAIL_DATA_DIR to a directory elsewhere (such as /var/lib/rail), or run as another user than root, or chmod o+x %s",
		ErrUnreachable, who.name, blocked, blocked)
}

// makeOpen makes dir, and lets other accounts enter it regardless of the umask. It does not change
// the mode of an existing directory.
func makeOpen(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := makeOpen(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil { // other accounts may enter
		if errors.Is(err, fs.ErrExist) {
			return nil // another process has created it at the same time
		}
		return err
	}
	return os.Chmod(dir, 0o755) // as above
}

// makePrivate makes a directory that only the account can enter. An existing one must be private:
// under /tmp any user could have made it.
func makePrivate(dir string, who account) error {
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		return who.give(dir)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || st.Mode().Perm()&0o077 != 0 || !ok {
		return fmt.Errorf("%s is not a private directory (mode 0700): remove it", dir)
	}
	if sys.Uid != who.uid && sys.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("%s belongs to user id %d, not to %d: remove it or run as that user", dir, sys.Uid, who.uid)
	}
	return who.give(dir)
}

// socketDir is inside dir if that path is short enough, else in the temporary
// directory under a name that every process derives from dir alone.
func socketDir(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	name := "rail-" + hex.EncodeToString(sum[:8])
	for _, c := range []string{filepath.Join(dir, "socket"), filepath.Join(os.TempDir(), name)} {
		if len(c)+len(socketName(defaultPort)) < maxSocketPath {
			return c
		}
	}
	return filepath.Join("/tmp", name)
}

// socketName returns the name that PostgreSQL gives its socket.
func socketName(port int) string { return fmt.Sprintf("/.s.PGSQL.%d", port) }
