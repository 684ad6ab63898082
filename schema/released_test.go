package schema_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"rail/schema"
)

// broken compares migrations with the lines of released.sum, and returns a message for each that was edited or removed.
func broken(sums string, files fs.FS) (out []string) {
	for line := range strings.Lines(sums) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		sum, name, found := strings.Cut(line, "  ")
		text, err := fs.ReadFile(files, name)
		actual := sha256.Sum256(text)
		switch {
		case !found || len(sum) != hex.EncodedLen(sha256.Size):
			out = append(out, fmt.Sprintf("released.sum has a line without a checksum and a name: %q", line))
		case err != nil:
			out = append(out, name+" is in a release and cannot be removed: add a migration")
		case hex.EncodeToString(actual[:]) != sum:
			out = append(out, name+" is in a release and cannot be edited: add a migration")
		}
	}
	return out
}

// TestReleasedMigrations checks that the migrations of releases are unchanged, because databases have applied them.
func TestReleasedMigrations(t *testing.T) {
	t.Parallel()
	sums, err := os.ReadFile("released.sum")
	require.NoError(t, err)
	require.Empty(t, broken(string(sums), schema.FS))
}

// TestReleaseFreezesMigrations runs the script of a release, and then edits, removes and adds migrations.
func TestReleaseFreezesMigrations(t *testing.T) {
	t.Parallel()
	r := releaseFolder{t, t.TempDir()}
	r.put("openapi/bundle.json", "{\n  \"version\": \"2030-01-01\"\n}\n")
	r.put("gen/script/rail.js", "one")
	r.put("schema/000101_a.up.sql", "CREATE TABLE a (id text);")
	r.put("schema/000101_a.down.sql", "DROP TABLE a;")
	require.Contains(t, r.release(), "added 000101_a.up.sql to schema/released.sum")
	require.Empty(t, r.release(), "nothing is new")
	require.Empty(t, r.broken())

	r.put("schema/000101_a.up.sql", "CREATE TABLE a (id bigint);")
	edited := []string{"000101_a.up.sql is in a release and cannot be edited: add a migration"}
	require.Equal(t, edited, r.broken())
	require.Contains(t, r.refused(), "000101_a.up.sql: FAILED")
	require.Equal(t, edited, r.broken(), "no line was changed")

	r.put("schema/000101_a.up.sql", "CREATE TABLE a (id text);")
	r.put("schema/000102_b.up.sql", "CREATE TABLE b (id text);")
	require.Empty(t, r.broken(), "a new migration is allowed")
	require.Equal(t, "released: added 000102_b.up.sql to schema/released.sum\n", r.release())
	require.NoError(t, os.Remove(filepath.Join(r.dir, "schema", "000101_a.down.sql")))
	require.Equal(t, []string{"000101_a.down.sql is in a release and cannot be removed: add a migration"}, r.broken())
	require.Contains(t, r.refused(), "add a migration")
	require.Len(t, broken("x  000102_b.up.sql\nnoname\n", fstest.MapFS{}), 2)
}

// releaseFolder is a repository with the files that .ci/released reads.
type releaseFolder struct {
	*testing.T
	dir string
}

func (r releaseFolder) put(name, text string) {
	r.Helper()
	name = filepath.Join(r.dir, filepath.FromSlash(name))
	require.NoError(r, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(r, os.WriteFile(name, []byte(text), 0o644))
}

// run runs the script of a release.
func (r releaseFolder) run() (printed string, err error) {
	out, err := exec.CommandContext(r.Context(), "../.ci/released", r.dir).CombinedOutput()
	return string(out), err
}

// refused returns the error of the script.
func (r releaseFolder) refused() string {
	r.Helper()
	printed, err := r.run()
	require.Error(r, err)
	return printed
}

// release returns the lines of the script about the schema.
func (r releaseFolder) release() string {
	r.Helper()
	out, err := r.run()
	require.NoError(r, err, "%s", out)
	lines := strings.SplitAfter(out, "\n")
	var about []string // other tests check the description and the script
	for _, line := range lines {
		if strings.Contains(line, "schema/") {
			about = append(about, line)
		}
	}
	return strings.Join(about, "")
}

func (r releaseFolder) broken() []string {
	r.Helper()
	folder := filepath.Join(r.dir, "schema")
	sums, err := os.ReadFile(filepath.Join(folder, "released.sum"))
	require.NoError(r, err)
	return broken(string(sums), os.DirFS(folder))
}
