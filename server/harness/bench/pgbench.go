package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"rail/server/postgres/embedded"
)

// pgbench runs scripts on the database with the session settings of the server, so that both have
// the same plans and time limits.
type pgbench struct {
	program, dsn, dir string
	settings          map[string]string
	seconds           int
	meter             meter
}

// progress matches what pgbench prints every second: the time, and the rate since the line before.
var progress = regexp.MustCompile(`^progress: ([0-9.]+) s, ([0-9.]+) tps`)

// newPgbench returns a pgbench of the PostgreSQL that runs; scripts go to dir, where they can be
// read afterwards. Some packages of PostgreSQL leave pgbench out, which is an error here.
func newPgbench(dsn, dir string, settings map[string]string, seconds int, m meter) (pgbench, error) {
	bin, err := embedded.BinDir()
	if err != nil {
		return pgbench{}, err
	}
	program := filepath.Join(bin, "pgbench")
	if _, err := os.Stat(program); err != nil {
		return pgbench{}, fmt.Errorf("pgbench is not beside the server programs: %w", err)
	}
	return pgbench{program, dsn, dir, settings, seconds, m}, nil
}

// run runs a script. The time in which it connects and prepares, longer with more clients, is not
// counted: the server is warm too. Statements are prepared once in a session (-M prepared), as the server's are,
// and nothing is vacuumed before (-n).
func (p pgbench) run(ctx context.Context, name string, clients int, s script) (seen outcome, used spent, err error) {
	path := filepath.Join(p.dir, name+".pgbench")
	if err := os.WriteFile(path, []byte(s.text), 0o600); err != nil {
		return seen, used, err
	}
	// Two threads (-j): pgbench needs little beside the database. It is stopped before its time is over.
	args := []string{
		"-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "2", "-T", strconv.Itoa(p.seconds + 60),
		"-P", "1", "--progress-timestamp", "-f", path,
	}
	for _, d := range s.defines {
		args = append(args, "-D", d)
	}
	cmd := exec.CommandContext(ctx, p.program, append(args, p.dsn)...)
	cmd.Env = append(os.Environ(), "PGOPTIONS="+p.options())
	lines, err := cmd.StderrPipe()
	if err != nil {
		return seen, used, err
	}
	if err := cmd.Start(); err != nil {
		return seen, used, err
	}
	seen, used, err = p.watch(lines, cmd.Process.Pid, float64(clients/32))
	// It has ended where something failed, and ends with the signal's status where nothing did.
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	return seen, used, err
}

// watch counts the transactions and the processor time of p.seconds, starting some seconds after the first line of
// progress. Any other line is an error.
func (p pgbench) watch(from io.Reader, pid int, warm float64) (seen outcome, used spent, err error) {
	var began spent
	var first, start, last, transactions float64
	for lines := bufio.NewScanner(from); lines.Scan(); {
		m := progress.FindStringSubmatch(lines.Text())
		if m == nil {
			rest, _ := io.ReadAll(io.LimitReader(from, 1000)) // for the error only
			return seen, used, fmt.Errorf("pgbench: %s\n%s", lines.Text(), rest)
		}
		now, _ := strconv.ParseFloat(m[1], 64)
		rate, _ := strconv.ParseFloat(m[2], 64)
		if first == 0 {
			first = now
		}
		if start == 0 {
			// Half a second for lines that come early.
			if now > first+warm-0.5 {
				start, last, began = now, now, p.meter.read(pid)
			}
			continue
		}
		transactions += rate * (now - last)
		last = now
		if now > start+float64(p.seconds)-0.5 {
			seen.Requests, seen.Seconds = int(transactions+0.5), now-start
			return seen, p.meter.read(pid).since(began), nil
		}
	}
	return seen, used, fmt.Errorf("pgbench ended early")
}

// options returns the settings in the form of PGOPTIONS, without a limit for locks.
func (p pgbench) options() string {
	var b strings.Builder
	for name, value := range p.settings {
		fmt.Fprintf(&b, "-c %s=%s ", name, value)
	}
	b.WriteString("-c lock_timeout=0 ") // one aborted client would end the run
	return b.String()
}
