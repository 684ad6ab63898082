package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who the server runs as. PostgreSQL refuses to run as root, so a
// root process lends it another account.
type account struct {
	name       string
	uid, gid   uint32
	credential *syscall.Credential // nil: as this process
}

func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{name: "this account", uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return lent(u)
		}
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is no account postgres or nobody to run it as: run as another user")
}

func lent(u *user.User) (account, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("user id of %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("group id of %s: %w", u.Username, err)
	}
	a := account{name: u.Username, uid: uint32(uid), gid: uint32(gid)}
	a.credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	return a, nil
}

// blockedBy names the highest existing directory on the way to path that the
// account cannot enter, path included; empty when there is none. It reads mode
// bits only, and only for a lent account: this process's own meets the kernel.
func (a account) blockedBy(path string) string {
	if a.credential == nil {
		return ""
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	blocked := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err == nil && !a.mayEnter(st) {
			blocked = dir
		}
		if dir == filepath.Dir(dir) {
			return blocked
		}
	}
}

func (a account) mayEnter(st fs.FileInfo) bool {
	perm := st.Mode().Perm()
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return true
	case sys.Uid == a.uid:
		return perm&0o100 != 0
	case sys.Gid == a.gid:
		return perm&0o010 != 0
	}
	return perm&0o001 != 0
}

// give makes the account the owner of a directory that is its alone.
func (a account) give(dir string) error {
	if a.credential == nil {
		return nil
	}
	return os.Chown(dir, int(a.uid), int(a.gid))
}
