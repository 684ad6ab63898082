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

// pgbench runs scripts on the database with the session settings of the server, so that both have
// the same plans and time limits.
type pgbench struct {
	program, dsn, dir string
	settings          map[string]string
	clients, seconds  int
}

// tps matches the result in what pgbench prints.
var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

// newPgbench returns a pgbench of the PostgreSQL that runs; scripts go to dir, where they can be
// read afterwards. Some packages of PostgreSQL leave pgbench out, which is an error here.
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

// run returns the transactions a second. Statements are prepared once in a session (-M prepared), as
// the server's are, and nothing is vacuumed before (-n).
func (p pgbench) run(ctx context.Context, name string, s script) (float64, error) {
	path := filepath.Join(p.dir, name+".pgbench")
	if err := os.WriteFile(path, []byte(s.text), 0o600); err != nil {
		return 0, err
	}
	// Two threads (-j): pgbench needs little beside the database.
	args := []string{
		"-n", "-M", "prepared", "-c", strconv.Itoa(p.clients), "-j", "2", "-T", strconv.Itoa(p.seconds), "-f", path,
	}
	for _, d := range s.defines {
		args = append(args, "-D", d)
	}
	cmd := exec.CommandContext(ctx, p.program, append(args, p.dsn)...)
	cmd.Env = append(os.Environ(), "PGOPTIONS="+p.options())
	out, err := cmd.CombinedOutput()
	// The text is there also where pgbench fails, and then says why.
	m := tps.FindSubmatch(out)
	if err != nil || m == nil {
		return 0, fmt.Errorf("pgbench %s: %w\n%s", name, err, out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// options returns the settings in the form of PGOPTIONS.
func (p pgbench) options() string {
	var b strings.Builder
	for name, value := range p.settings {
		fmt.Fprintf(&b, "-c %s=%s ", name, value)
	}
	return b.String()
}
