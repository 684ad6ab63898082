//go:build !linux

package embedded

import "syscall"

// attributes puts the child in a new process group, so that a terminal's ^C does not reach it
// before its parent has finished. Without Linux's parent-death signal, a killed parent leaves the
// server running; the next process joins it.
func attributes(who account, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: who.credential, Setpgid: true}
}
