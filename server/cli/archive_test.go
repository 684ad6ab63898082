package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/process"
	"rail/server/harness/wait"
	"rail/server/postgres/archive"
	"rail/server/postgres/embedded"
)

// archived is a server process with an archive, and a caller's key and program.
type archived struct {
	rail
	binary, url, key, program string
	cmd                       *exec.Cmd
}

// start serves, from the database of the data directory.
func (a *archived) start() {
	a.Helper()
	a.cmd = exec.Command(a.binary, "serve")
	for name, value := range a.environ {
		a.cmd.Env = append(a.cmd.Env, name+"="+value)
	}
	a.cmd.Env = append(a.cmd.Env, "PATH="+os.Getenv("PATH"))
	var err error
	a.url, err = process.Serve(a.cmd)
	require.NoError(a, err)
	cmd := a.cmd
	a.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have been killed
		_ = cmd.Wait()
	})
}

// call calls the API and returns the answer's members.
func (a *archived) call(method, path string, body map[string]any) map[string]any {
	var raw bytes.Buffer
	if body != nil {
		require.NoError(a, json.NewEncoder(&raw).Encode(body))
	}
	req, err := http.NewRequestWithContext(a.Context(), method, a.url+path, &raw)
	require.NoError(a, err)
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(a, err)
	defer res.Body.Close() // only read
	var out map[string]any
	require.NoError(a, json.NewDecoder(res.Body).Decode(&out))
	require.Less(a, res.StatusCode, 300, "%v", out)
	return out
}

// partner writes a partner with a handle.
func (a *archived) partner(handle string) {
	a.call("POST", "/v1/partners", map[string]any{
		"program_id": a.program, "handle": handle, "email": handle + "@example.com",
	})
}

// partners returns their number, and which of some handles exist.
func (a *archived) partners(handles ...string) (total int, there []string) {
	list := "/v1/partners?program_id=" + a.program
	for _, h := range handles {
		if a.call("GET", list+"&email="+h+"@example.com", nil)["total_count"] != 0.0 {
			there = append(there, h)
		}
	}
	return int(a.call("GET", list, nil)["total_count"].(float64)), there
}

// time returns the database's time, by which transactions are dated.
func (a *archived) time() string {
	var at time.Time
	require.NoError(a, a.opened().QueryRow(a.Context(), "SELECT clock_timestamp()").Scan(&at))
	// --to has milliseconds: the next write needs another one.
	require.NoError(a, clock.Wait(a.Context(), 5*time.Millisecond))
	return at.Add(time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")
}

// leave makes PostgreSQL archive everything written.
func (a *archived) leave() {
	pool := a.opened()
	var file string
	// Without a write there is nothing to switch.
	_, err := pool.Exec(a.Context(), "CREATE TABLE IF NOT EXISTS mark (); DROP TABLE mark")
	require.NoError(a, err)
	require.NoError(a, pool.QueryRow(a.Context(), "SELECT pg_walfile_name(pg_switch_wal())").Scan(&file))
	wait.Until(a, func() bool {
		found, _ := filepath.Glob(filepath.Join(a.environ["RAIL_ARCHIVE_DIR"], "*", "wal", file+".gz"))
		return len(found) > 0
	})
}

// ranges waits until the archive has n base backups.
func (a *archived) ranges(n int) []archive.Range {
	a.Helper()
	var printed struct{ Data []archive.Range }
	wait.Until(a, func() bool {
		status, text, _ := a.run("archive", "list", "--json")
		return status == 0 && json.Unmarshal([]byte(text), &printed) == nil && len(printed.Data) == n
	})
	return printed.Data
}

// crash kills the server and its database without a shutdown.
func (a *archived) crash() {
	require.NoError(a, a.cmd.Process.Signal(syscall.SIGSTOP)) // otherwise it would restart the database
	text, err := os.ReadFile(filepath.Join(a.environ["RAIL_DATA_DIR"], "data", "postmaster.pid"))
	require.NoError(a, err)
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(a, err)
	require.NoError(a, syscall.Kill(pid, syscall.SIGKILL))
	require.NoError(a, a.cmd.Process.Kill())
	_ = a.cmd.Wait() // killed
}

// restored restores into a separate folder and serves from there.
func (a *archived) restored(args ...string) *archived {
	a.Helper()
	to := *a
	to.rail = newRail(a.T).phrase(phraseOfTests)
	require.Contains(a, to.must(append([]string{"restore", a.environ["RAIL_ARCHIVE_DIR"]}, args...)...), "no findings")
	to.environ["RAIL_ARCHIVE_DIR"] = a.environ["RAIL_ARCHIVE_DIR"]
	to.start()
	return &to
}

// serveArchived serves an empty program with an archive and its first base backup.
func serveArchived(t *testing.T) *archived {
	t.Helper()
	a := &archived{rail: newRail(t).phrase(phraseOfTests), binary: filepath.Join(t.TempDir(), "rail")}
	require.NoError(t, process.Build(t.Context(), a.binary))
	a.environ["RAIL_ARCHIVE_DIR"] = filepath.Join(filepath.Dir(a.environ["RAIL_DATA_DIR"]), "it's 100% safe")
	a.start()
	org := a.object("org", "create", "--name", "Acme")["id"].(string)
	a.key = a.object("key", "create", "--org", org, "--scope", "write", "--rate-limit", "10000")["key"].(string)
	a.program = a.call("POST", "/v1/programs", map[string]any{
		"name": "Acme", "website_url": "https://acme.example", "currency": "USD",
	})["id"].(string)
	a.ranges(1)
	return a
}

// TestArchive: an archive after a crash is restored to a time between two writes, and to the end; a restored
// database archives into the same folder, and is restored again.
func TestArchive(t *testing.T) {
	t.Parallel()
	a := serveArchived(t)
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for n := range 20 {
				a.partner(fmt.Sprintf("under-load-%d-%d", w, n))
			}
		})
	}
	a.must("archive", "base")
	writers.Wait()
	a.partner("before")
	moment := a.time()
	a.partner("after")
	a.leave()
	a.crash()
	two := a.ranges(2)
	require.True(t, two[0].Key)
	require.Equal(t, two[0].To, two[1].From, "each base backup is used up to the next")

	then := a.restored("--to", moment)
	total, there := then.partners("before", "after")
	require.Equal(t, []string{"before"}, there)
	require.Equal(t, 61, total)
	then.partner("afterwards")
	then.ranges(3)
	then.partner("at-last")
	then.leave()
	then.crash()

	last := a.restored()
	total, there = last.partners("before", "after", "afterwards", "at-last")
	require.Equal(t, []string{"before", "afterwards", "at-last"}, there)
	require.Equal(t, 63, total)

	// Later writes of the first one are still there, at their own time.
	abandoned := a.restored("--to", clock.At(two[1].To).String())
	_, there = abandoned.partners("before", "after", "afterwards")
	require.Equal(t, []string{"before", "after"}, there)
	refusals(t, a, two)
}

// TestArchiveIsAway: while an archive accepts no files, the server still writes, stops and starts. When the archive
// accepts files again, it gets the writes made meanwhile.
func TestArchiveIsAway(t *testing.T) {
	t.Parallel()
	a := serveArchived(t)
	found, err := filepath.Glob(filepath.Join(a.environ["RAIL_ARCHIVE_DIR"], "*", "wal"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, os.Rename(found[0], found[0]+".away"))
	a.partner("meanwhile")
	pool := a.opened()
	_, err = pool.Exec(t.Context(), "SELECT pg_switch_wal()")
	require.NoError(t, err)
	wait.Until(t, func() bool {
		var failed int
		return pool.QueryRow(t.Context(), "SELECT failed_count FROM pg_stat_archiver").Scan(&failed) == nil && failed > 0
	})
	a.partner("after-it-failed")
	pool.Close()
	require.NoError(t, a.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, a.cmd.Wait(), "it ends well")
	a.start()
	a.partner("after-a-start")
	require.NoError(t, os.Rename(found[0]+".away", found[0]))
	a.leave()
	a.crash()
	_, there := a.restored().partners("meanwhile", "after-it-failed", "after-a-start")
	require.Equal(t, []string{"meanwhile", "after-it-failed", "after-a-start"}, there)
}

// refusals requests restores that the archive cannot provide; none creates anything.
func refusals(t *testing.T, a *archived, two []archive.Range) {
	t.Helper()
	dir := a.environ["RAIL_ARCHIVE_DIR"]
	fails := func(text string, args ...string) {
		t.Helper()
		r := newRail(t).phrase(phraseOfTests)
		status, _, errs := r.run(append([]string{"restore", dir}, args...)...)
		require.NotZero(t, status)
		require.Contains(t, errs, text)
		require.False(t, embedded.Exists(r.environ["RAIL_DATA_DIR"]))
	}
	fails("it begins at "+clock.At(two[0].From).String(), "--to", "2026-01-01T00:00:00Z")
	fails("it reaches to ", "--to", "2099-01-01T00:00:00Z")
	fails("--to", "--to", "yesterday")
	status, _, errs := a.run("restore", dir)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "there is a database in")

	// The first history: one file is truncated, then another is missing.
	moment := clock.At(two[1].To).String()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(two[1].Base)), "wal", "*.gz"))
	require.NoError(t, err)
	last := files[len(files)-1]
	st, err := os.Stat(last)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(last, st.Size()/2))
	require.NoError(t, os.Chtimes(last, st.ModTime(), st.ModTime()))
	fails(last+": unexpected EOF", "--to", moment)
	require.NoError(t, os.Rename(files[len(files)-2], files[len(files)-2]+".away"))
	fails(files[len(files)-2]+" is missing", "--to", moment)
}

// TestArchiveNeeds: an archive requires a private database, and a restore its key.
func TestArchiveNeeds(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	_, _, errs := r.run("archive", "base")
	require.Contains(t, errs, "RAIL_ARCHIVE_DIR is not set")
	_, _, errs = r.run("archive", "list")
	require.Contains(t, errs, "RAIL_ARCHIVE_DIR must name the archive")
	file := filepath.Join(t.TempDir(), "rail.backup")
	status, _, errs := r.run("restore", file, "--to", "2026-01-01T00:00:00Z")
	require.Equal(t, exitUsage, status)
	require.Contains(t, errs, "--to is for an archive")
	// Another process runs the database without an archive.
	r.environ["RAIL_ARCHIVE_DIR"] = t.TempDir()
	_, _, errs = r.run("archive", "base")
	require.Contains(t, errs, "was started without RAIL_ARCHIVE_DIR")
	_, _, errs = r.run("restore", t.TempDir())
	require.Contains(t, errs, "there is no whole base backup")
}
