//go:build !linux

package embedded

import "syscall"

// attributes puts the child in a group of its own, so that a terminal's ^C does
// not reach it before its parent has finished. Without Linux's signal on the
// parent's death a killed parent leaves the server running; the next joins it.
func attributes(who account, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: who.credential, Setpgid: true}
}
