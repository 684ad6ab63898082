package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"rail/server/postgres/embedded"
)

// pgbench runs scripts on the database with the session settings of the server.
type pgbench struct {
	program, dsn, dir string
	settings          map[string]string
	clients, seconds  int
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

func newPgbench(dsn, dir string, settings map[string]string, o Options) (pgbench, error) {
	bin, err := embedded.BinDir()
	if err != nil {
		return pgbench{}, err
	}
	program := filepath.Join(bin, "pgbench")
	if _, err := os.Stat(program); err != nil {
		return pgbench{}, fmt.Errorf("pgbench is not beside the server programs: %w", err)
	}
	return pgbench{program, dsn, dir, settings, o.Clients, o.Seconds}, nil
}

// run returns the transactions a second.
func (p pgbench) run(ctx context.Context, name string, s script) (float64, error) {
	path := filepath.Join(p.dir, name+".pgbench")
	if err := os.WriteFile(path, []byte(s.text), 0o600); err != nil {
		return 0, err
	}
	args := []string{
		"-n", "-M", "prepared", "-c", strconv.Itoa(p.clients), "-j", "2", "-T", strconv.Itoa(p.seconds), "-f", path,
	}
	for _, d := range s.defines {
		args = append(args, "-D", d)
	}
	cmd := exec.CommandContext(ctx, p.program, append(args, p.dsn)...)
	cmd.Env = append(os.Environ(), "PGOPTIONS="+p.options())
	out, err := cmd.CombinedOutput()
	m := tps.FindSubmatch(out)
	if err != nil || m == nil {
		return 0, fmt.Errorf("pgbench %s: %w\n%s", name, err, out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

func (p pgbench) options() string {
	var b strings.Builder
	for name, value := range p.settings {
		fmt.Fprintf(&b, "-c %s=%s ", name, value)
	}
	return b.String()
}
