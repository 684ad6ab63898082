package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rail/server/clock"
)

// archivesInto starts the cluster of dir, with or without an archive, and returns its history.
func archivesInto(t *testing.T, dir, archive string, work func(*Server, string)) string {
	t.Helper()
	s, err := Start(t.Context(), Options{Dir: dir, ArchiveDir: archive})
	check(t, err)
	history, err := s.History()
	check(t, err)
	if work != nil {
		work(s, history)
	}
	check(t, s.Stop())
	return history
}

// TestHistory: a cluster continues its history until it has run without an archive. A new cluster in its place begins
// another one.
func TestHistory(t *testing.T) {
	dir := openDir(t)
	archive := filepath.Join(openDir(t), "it's 100% safe")
	one := archivesInto(t, dir, archive, func(s *Server, history string) {
		file := value(t, s, "SELECT pg_walfile_name(pg_current_wal_insert_lsn())")
		value(t, s, "SELECT pg_create_restore_point('x')::text")
		value(t, s, "SELECT pg_switch_wal()::text")
		for path := filepath.Join(WAL(history), file+".gz"); ; {
			if _, err := os.Stat(path); err == nil {
				return
			}
			check(t, clock.Wait(t.Context(), pollEvery))
		}
	})
	if again := archivesInto(t, dir, archive, nil); again != one || filepath.Dir(one) != archive {
		t.Errorf("%q after %q", again, one)
	}
	if none := archivesInto(t, dir, "", nil); none != "" {
		t.Errorf("archives into %q", none)
	}
	if other := archivesInto(t, dir, archive, nil); other == one || filepath.Dir(other) != archive {
		t.Errorf("%q goes on after a gap", other)
	}
	last := archivesInto(t, dir, archive, nil)
	check(t, os.RemoveAll(filepath.Join(dir, "data")))
	if other := archivesInto(t, dir, archive, nil); other == last || filepath.Dir(other) != archive {
		t.Errorf("a new cluster goes on with %q", other)
	}
}

// TestArchiveRefusesAnother: archiving does not overwrite a different file of the same name.
func TestArchiveRefusesAnother(t *testing.T) {
	archivesInto(t, openDir(t), filepath.Join(openDir(t), "archive"), func(s *Server, history string) {
		file := value(t, s, "SELECT pg_walfile_name(pg_current_wal_insert_lsn())")
		path := filepath.Join(WAL(history), file+".gz")
		check(t, os.WriteFile(path, []byte("of another cluster"), 0o644))
		value(t, s, "SELECT pg_switch_wal()::text")
		for value(t, s, "SELECT coalesce(last_failed_wal, '') FROM pg_stat_archiver") != file {
			check(t, clock.Wait(t.Context(), pollEvery))
		}
		text, err := os.ReadFile(path)
		check(t, err)
		if string(text) != "of another cluster" {
			t.Error("it was overwritten")
		}
		check(t, os.Remove(path)) // the shutdown waits for the archive
	})
}

// TestRecoverNeedsRoom: Recover does not replace a cluster, and leaves none after an error.
func TestRecoverNeedsRoom(t *testing.T) {
	dir := openDir(t)
	fill := func(string) error { return os.ErrInvalid }
	if _, err := Recover(t.Context(), Options{Dir: dir}, clock.Real(), fill); err == nil || Exists(dir) {
		t.Error(err)
	}
	archivesInto(t, dir, "", nil)
	if _, err := Recover(t.Context(), Options{Dir: dir}, clock.Real(), fill); err == nil || !strings.Contains(err.Error(), "there is a database") {
		t.Error(err)
	}
}
