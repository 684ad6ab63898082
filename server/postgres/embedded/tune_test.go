package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
)

// TestTuned: a cluster for Rail sets its memory, and logs slow statements without their values.
func TestTuned(t *testing.T) {
	dir := openDir(t)
	s, err := Start(t.Context(), Options{Dir: dir, Tuned: true})
	check(t, err)
	defer func() { check(t, s.Stop()) }()
	for name, want := range map[string]string{
		"autovacuum_vacuum_scale_factor": "0.02", "log_min_duration_statement": "1s", "log_parameter_max_length": "0",
		"autovacuum_vacuum_insert_scale_factor": "0.05",
	} {
		require.Equal(t, want, value(t, s, "SELECT current_setting('"+name+"')"), name)
	}
	require.NotEqual(t, "4MB", value(t, s, "SELECT current_setting('effective_cache_size')"))
	value(t, s, "SELECT 'slow' || pg_sleep(1.1)::text")
	log, err := os.ReadFile(filepath.Join(dir, "postgres.log"))
	check(t, err)
	require.Regexp(t, `duration: \d+\.\d+ ms .*pg_sleep`, string(log))
}

// TestMemorySettings: PostgreSQL accepts the settings of a small container and of a large machine.
func TestMemorySettings(t *testing.T) {
	t.Parallel()
	for memory, want := range map[uint64]string{
		128 * mega: "shared_buffers=32MB effective_cache_size=64MB maintenance_work_mem=16MB work_mem=2MB",
		512 * mega: "shared_buffers=102MB effective_cache_size=256MB maintenance_work_mem=32MB work_mem=2MB",
		16 * giga:  "shared_buffers=3276MB effective_cache_size=8192MB maintenance_work_mem=1024MB work_mem=64MB",
		512 * giga: "shared_buffers=8192MB effective_cache_size=262144MB maintenance_work_mem=1024MB work_mem=64MB",
	} {
		require.True(t, strings.HasSuffix(strings.Join(tuned(memory), " "), want), strings.Join(tuned(memory), " "))
	}
	require.NotContains(t, strings.Join(tuned(0), " "), "shared_buffers")
}

// TestStartIsPatient: a start continues as long as PostgreSQL logs progress.
func TestStartIsPatient(t *testing.T) {
	before := startLimit
	startLimit = 2 * time.Second
	t.Cleanup(func() { startLimit = before })
	bin, dir := pretended(t, "92.1"), openDir(t)
	check(t, os.WriteFile(filepath.Join(bin, "postgres"), []byte(`#!/bin/sh
case "$1" in --version) echo 'postgres (PostgreSQL) 92.1'; exit;; esac
for n in 1 2 3 4 5 6; do echo "LOG:  redo in progress, elapsed time: $n s, current LSN: 0/$n"; sleep 1; done
while sleep 0.1; do echo 'FATAL:  the database system is starting up'; done
`), 0o755))
	check(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	check(t, os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("92\n"), 0o600))
	began := clock.Real()
	_, err := Start(t.Context(), Options{Dir: dir, BinDir: bin})
	took := clock.Real().Sub(began)
	require.ErrorIs(t, err, errStalled)
	require.Greater(t, took, 6*time.Second, "it went on while there was progress")
	require.Less(t, took, 60*time.Second)
}
