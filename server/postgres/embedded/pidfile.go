package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// postmaster holds the pid file of a server, running or killed.
type postmaster struct {
	pid    int
	port   int
	socket string // empty early in the start
	ready  bool   // neither starting nor stopping
}

// readPostmaster returns nil if there is no file, or one without a process id yet.
func (l layout) readPostmaster() (*postmaster, error) {
	text, err := os.ReadFile(l.pidFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as documented
	}
	if err != nil {
		return nil, err
	}
	return parsePostmaster(string(text)), nil
}

// parsePostmaster reads the lines pid, data, start, port, socket directory,
// listen address, shared memory, status.
func parsePostmaster(text string) *postmaster {
	lines := append(strings.Split(text, "\n"), make([]string, 8)...)
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 0 {
		return nil
	}
	pm := &postmaster{pid: pid, socket: strings.TrimSpace(lines[4])}
	pm.ready = strings.TrimSpace(lines[7]) == "ready"
	if pm.port, err = strconv.Atoi(strings.TrimSpace(lines[3])); err != nil {
		pm.socket = ""
	}
	return pm
}

// exists reports whether any process has the id, a zombie included.
func exists(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// disown marks the files of a killed server whose process id now belongs to another program,
// because PostgreSQL would take that program for a running server.
func (l layout) disown(pm *postmaster) error {
	files := []string{l.pidFile()}
	if pm.socket != "" {
		files = append(files, pm.socket+socketName(pm.port)+".lock")
	}
	for _, name := range files {
		if err := claim(name, pm.pid); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// claim replaces the process id in the first line with this process's, which the server recognizes
// as its parent's. It keeps the other lines, by which the server finds killed sessions that are
// still attached to shared memory.
func claim(name string, pid int) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	if strings.TrimSpace(first) != strconv.Itoa(pid) {
		return nil
	}
	return os.WriteFile(name, fmt.Appendf(nil, "%d\n%s", os.Getpid(), rest), 0o600)
}
