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

// account is the user that the server runs as. PostgreSQL refuses to run as root, so a root process
// runs it as another user.
type account struct {
	name       string
	uid, gid   uint32
	credential *syscall.Credential // nil for this process's own user
}

// accountFor returns this process's account, or for root the owner of the cluster's data. A new cluster
// of root belongs to the account postgres, or to the system's unprivileged one without it; it keeps its owner.
func accountFor(l layout) (account, error) {
	if os.Geteuid() != 0 {
		return account{name: "this account", uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}, nil
	}
	if owner, ok := ownerOf(l.data()); ok {
		return owner, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return lent(u)
		}
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is no account postgres or nobody to run it as: run as another user")
}

// ownerOf returns the owner of a cluster's data, if there is one other than root.
func ownerOf(data string) (account, bool) {
	st, err := os.Stat(data)
	if err != nil {
		return account{}, false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || sys.Uid == 0 {
		return account{}, false
	}
	self := account{name: "user id " + strconv.FormatUint(uint64(sys.Uid), 10), uid: sys.Uid, gid: sys.Gid}
	if u, err := user.LookupId(strconv.FormatUint(uint64(sys.Uid), 10)); err == nil {
		self.name = u.Username
	}
	self.credential = &syscall.Credential{Uid: self.uid, Gid: self.gid}
	return self, true
}

// lent returns the account under which a root process runs the server.
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

// blockedBy returns the highest existing directory on the way to path, or path itself, that the
// account cannot enter; "" if there is none. It checks mode bits, and only for a lent account: for
// its own, the kernel checks.
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

// mayEnter checks the execute bit of owner, group or others, whichever applies.
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

// give makes a lent account the owner of a directory.
func (a account) give(dir string) error {
	if a.credential == nil {
		return nil
	}
	return os.Chown(dir, int(a.uid), int(a.gid))
}
