package archive

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/postgres/backup"
)

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// seg returns the name of the nth WAL file of the first timeline.
func seg(n uint64) string { return name(1, n*segment) }

// add adds a file to an archive, with a time.
func add(t *testing.T, at time.Time, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	f, err := os.Create(file)
	require.NoError(t, err)
	z := gzip.NewWriter(f)
	_, err = z.Write(make([]byte, segment))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	require.NoError(t, os.Chtimes(file, at, at))
}

// fixture returns an archive with two histories. The first has WAL 1 to 9, one a minute from noon on,
// and base backups at 1 and at 5; the second begins an hour later.
func fixture(t *testing.T) (dir, first, second string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "an [archive]")
	first, second = filepath.Join(dir, "one"), filepath.Join(dir, "two")
	base := func(history string, began time.Time, from uint64) {
		b := Base{
			Manifest: Manifest{Began: began, Ended: began.Add(time.Second), FirstWAL: seg(from), LastWAL: seg(from + 1)},
			dir:      filepath.Join(history, "base", began.Format(stamp)),
		}
		require.NoError(t, os.MkdirAll(b.dir, 0o700))
		require.NoError(t, b.complete())
	}
	for n := range 9 {
		add(t, noon.Add(time.Duration(n+1)*time.Minute), first, "wal", seg(uint64(n+1))+".gz")
	}
	add(t, noon, first, "wal", seg(1)+".00000028.backup.gz")
	base(first, noon, 1)
	base(first, noon.Add(4*time.Minute), 5)
	add(t, noon.Add(time.Hour), second, "wal", name(2, 9*segment)+".gz")
	b := Base{
		Manifest: Manifest{Began: noon.Add(time.Hour), Ended: noon.Add(time.Hour), FirstWAL: name(2, 9*segment), LastWAL: name(2, 9*segment)},
		dir:      filepath.Join(second, "base", "x"),
	}
	require.NoError(t, os.MkdirAll(b.dir, 0o700))
	require.NoError(t, b.complete())
	return dir, first, second
}

// TestNames: WAL files have the order of PostgreSQL's names.
func TestNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "00000001000000000000000A", name(1, 0xA000028))
	require.Equal(t, "000000030000000200000000", next("0000000300000001000000FF"))
	got, err := fileOf([]string{"2/FF000000", "7"})
	require.NoError(t, err)
	require.Equal(t, "0000000700000002000000FF", got)
	_, err = fileOf([]string{"nowhere", "7"})
	require.Error(t, err)
}

// TestChoose: a moment determines its base backup and WAL.
func TestChoose(t *testing.T) {
	t.Parallel()
	dir, first, second := fixture(t)
	for _, c := range []struct {
		after   time.Duration
		history string
		from    string
		files   int
		says    string
	}{
		{after: 0, says: "it begins at 2026-09-01T12:00:01.000Z"},
		{after: time.Minute, history: first, from: seg(1), files: 6}, // up to the next base backup
		{after: 4*time.Minute + time.Second, history: first, from: seg(5), files: 5},
		{after: 9 * time.Minute, history: first, from: seg(5), files: 5},
		{after: 10 * time.Minute, says: "it reaches to 2026-09-01T12:09:00.000Z"},
		{after: time.Hour, history: second, from: name(2, 9*segment), files: 1},
		{after: 2 * time.Hour, says: "it reaches to 2026-09-01T13:00:00.000Z"},
	} {
		b, err := Choose(dir, noon.Add(c.after))
		if c.says != "" {
			require.ErrorIs(t, err, ErrNoMoment)
			require.ErrorContains(t, err, c.says)
			continue
		}
		require.NoError(t, err, c.after)
		require.Equal(t, []any{c.history, c.from, c.files}, []any{b.history, b.FirstWAL, b.Files()}, c.after)
	}
	b, err := Choose(dir, time.Time{})
	require.NoError(t, err)
	require.Equal(t, second, b.history)
}

// TestMissing: a missing file ends the range, and is named.
func TestMissing(t *testing.T) {
	t.Parallel()
	dir, first, second := fixture(t)
	gone := filepath.Join(first, "wal", seg(7)+".gz")
	require.NoError(t, os.Remove(gone))
	ranges, err := List(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"", seg(7), ""}, []string{ranges[0].Missing, ranges[1].Missing, ranges[2].Missing})
	require.Equal(t, noon.Add(6*time.Minute), ranges[1].To)
	_, err = Choose(dir, noon.Add(6*time.Minute))
	require.NoError(t, err)
	_, err = Choose(dir, noon.Add(7*time.Minute))
	require.ErrorContains(t, err, gone+" is missing, so it reaches to 2026-09-01T12:06:00.000Z")
	// An archive with a gap has no last moment.
	require.NoError(t, os.RemoveAll(second))
	_, err = Choose(dir, time.Time{})
	require.ErrorContains(t, err, gone+" is missing")
}

// TestUnpack: an incomplete WAL file is refused.
func TestUnpack(t *testing.T) {
	t.Parallel()
	_, first, _ := fixture(t)
	w := wal{dir: filepath.Join(first, "wal"), files: []string{seg(1)}}
	into := t.TempDir()
	nothing := func(string, int64) {}
	require.NoError(t, w.unpack(into, nothing))
	st, err := os.Stat(filepath.Join(into, seg(1)))
	require.NoError(t, err)
	require.EqualValues(t, segment, st.Size())
	path := filepath.Join(w.dir, seg(1)+".gz")
	require.NoError(t, os.Truncate(path, 1000))
	require.ErrorIs(t, w.unpack(into, nothing), backup.ErrDamaged)
	f, err := os.Create(path)
	require.NoError(t, err)
	z := gzip.NewWriter(f)
	_, err = fmt.Fprint(z, "too short")
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	require.ErrorContains(t, w.unpack(into, nothing), "it has 9 bytes")
}

// TestPrune: only files that no moment needs are removed.
func TestPrune(t *testing.T) {
	t.Parallel()
	dir, first, second := fixture(t)
	half := filepath.Join(first, "base", "unfinished")
	require.NoError(t, os.Mkdir(half, 0o700))
	require.NoError(t, sweep(first))
	require.NoDirExists(t, half)
	require.NoError(t, os.RemoveAll(second))

	require.NoError(t, Prune(dir, noon.Add(time.Minute)))
	require.FileExists(t, filepath.Join(first, "wal", seg(1)+".gz"), "the first base backup is still needed")
	require.NoError(t, Prune(dir, noon.Add(5*time.Minute)))
	require.NoFileExists(t, filepath.Join(first, "wal", seg(4)+".gz"))
	for n := range 5 {
		require.FileExists(t, filepath.Join(first, "wal", seg(uint64(n+5))+".gz"))
	}
	_, err := Choose(dir, noon.Add(5*time.Minute))
	require.NoError(t, err)
	_, err = Choose(dir, noon.Add(3*time.Minute))
	require.ErrorContains(t, err, "it begins at 2026-09-01T12:04:01.000Z")
	require.NoError(t, Prune(dir, noon.Add(30*24*time.Hour)))
	require.FileExists(t, filepath.Join(first, "wal", seg(5)+".gz"), "the only base backup stays")
}

// TestPruneHistories: an older history stays complete until the next one covers the retention period.
func TestPruneHistories(t *testing.T) {
	t.Parallel()
	dir, first, second := fixture(t)
	require.NoError(t, Prune(dir, noon.Add(30*time.Minute)))
	require.FileExists(t, filepath.Join(first, "wal", seg(1)+".gz"))
	require.NoError(t, Prune(dir, noon.Add(61*time.Minute)))
	require.NoDirExists(t, first)
	require.DirExists(t, second)
}

// TestManifest: rail.json is read back, and an incomplete one is refused.
func TestManifest(t *testing.T) {
	t.Parallel()
	dir, first, _ := fixture(t)
	newest, err := Newest(first)
	require.NoError(t, err)
	require.Equal(t, noon.Add(4*time.Minute), newest)
	newest, err = Newest(t.TempDir())
	require.NoError(t, err)
	require.Zero(t, newest)
	found, err := filepath.Glob(filepath.Join(escaped(first), "base", "*", "rail.json"))
	require.NoError(t, err)
	raw, err := os.ReadFile(found[0])
	require.NoError(t, err)
	require.True(t, json.Valid(raw))
	require.NoError(t, os.WriteFile(found[0], raw[:20], 0o600))
	_, err = List(dir)
	require.ErrorIs(t, err, backup.ErrDamaged)
}
