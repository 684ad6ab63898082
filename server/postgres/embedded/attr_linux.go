package embedded

import "syscall"

// attributes puts the child in a new process group, so that a terminal's ^C does not reach it
// before its parent has finished, and makes the kernel send it sig when the thread that forked it
// ends.
func attributes(who account, sig syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: who.credential, Setpgid: true, Pdeathsig: sig}
}
