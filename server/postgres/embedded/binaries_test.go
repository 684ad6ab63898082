package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pretended returns a folder with programs that report a version of PostgreSQL.
func pretended(t *testing.T, version string) string {
	t.Helper()
	dir := openDir(t)
	for _, name := range []string{"postgres", "initdb"} {
		text := fmt.Sprintf("#!/bin/sh\necho '%s (PostgreSQL) %s'\n", name, version)
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	return dir
}

// TestProgramsOfTheCluster: a cluster uses the programs of its version, even if newer ones are found first.
func TestProgramsOfTheCluster(t *testing.T) {
	t.Setenv("RAIL_PG_BINDIR", "")
	t.Setenv("PG_BINDIR", "")
	newer, own := pretended(t, "93.4 (Debian 93.4-1)"), pretended(t, "92devel")
	check(t, os.WriteFile(filepath.Join(newer, "pg_config"), []byte("#!/bin/sh\necho "+own+"\n"), 0o755))
	t.Setenv("PATH", newer+":"+os.Getenv("PATH"))
	dir := openDir(t)
	want := func(o Options, found string) {
		t.Helper()
		if got, err := Programs(o); err != nil || got != found {
			t.Errorf("%+v: %q, %v; want %q", o, got, err, found)
		}
	}
	want(Options{Dir: dir}, newer) // no cluster yet
	check(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	create := func(major string) {
		t.Helper()
		check(t, os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte(major+"\n"), 0o600))
	}
	create("92")
	want(Options{Dir: dir}, own)
	create("93")
	want(Options{Dir: dir}, newer)
	create("91")
	_, err := Programs(Options{Dir: dir})
	if !errors.Is(err, ErrOtherMajor) {
		t.Fatal(err)
	}
	for _, part := range []string{"is of PostgreSQL 91", "there is 93 in " + newer, "apt-get install postgresql-91", "RAIL_PG_BINDIR"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	// A configured directory is not replaced.
	create("92")
	if _, err := Programs(Options{Dir: dir, BinDir: newer}); !errors.Is(err, ErrOtherMajor) {
		t.Error(err)
	}
	want(Options{Dir: dir, BinDir: own}, own)
	if _, err := Start(t.Context(), Options{Dir: dir, BinDir: newer}); !errors.Is(err, ErrOtherMajor) {
		t.Error(err)
	}
}
