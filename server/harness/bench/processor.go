package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// tick is the unit of /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// meter reads what a database server has used.
type meter struct {
	postmaster int
	pool       *pgxpool.Pool // to it; nil to read processor time alone
}

// spent is the processor time of a program and of the database, the bytes of the database's log and of its files, and
// the objects and bytes that this process allocated, so far or from one reading to another.
type spent struct {
	program, database time.Duration
	log, files        int64
	objects, heap     uint64
}

func (s spent) since(began spent) spent {
	return spent{
		program: s.program - began.program, database: s.database - began.database,
		log: s.log - began.log, files: s.files - began.files,
		objects: s.objects - began.objects, heap: s.heap - began.heap,
	}
}

// of returns the microseconds that each request took: of the program alone, and with the database.
func (s spent) of(requests float64) (program, both float64) {
	return float64(s.program.Microseconds()) / requests, float64((s.program + s.database).Microseconds()) / requests
}

// newMeter returns the meter of the cluster in a directory, which pool leads to. Where the system has no /proc,
// the database's time is 0.
func newMeter(dir string, pool *pgxpool.Pool) meter {
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		return meter{pool: pool}
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return meter{pool: pool}
	}
	return meter{pid, pool}
}

// read returns the time of a process and of all processes of the database; pid 0 is this process.
// Sessions that have ended count too: their parent has their time.
func (m meter) read(pid int) spent {
	s := spent{program: processorTime()}
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(allocated)
	s.objects, s.heap = allocated[0].Value.Uint64(), allocated[1].Value.Uint64()
	if m.pool != nil { // where it fails, the load does too
		_ = m.pool.QueryRow(context.Background(),
			"SELECT (pg_current_wal_insert_lsn() - '0/0')::int8, pg_database_size(current_database())").Scan(&s.log, &s.files)
	}
	if pid != 0 {
		_, s.program, _ = processTime(pid)
	}
	_, own, ended := processTime(m.postmaster)
	s.database = own + ended
	all, _ := filepath.Glob("/proc/[0-9]*") // its only error is that of the pattern
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if parent, own, _ := processTime(pid); parent == m.postmaster && parent != 0 {
			s.database += own
		}
	}
	return s
}

// processTime returns the parent of a process, its time in user and system mode, and that of
// its children that have ended; zeros where there is no such process.
func processTime(pid int) (parent int, own, ended time.Duration) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, 0
	}
	// The name, in parentheses, may hold spaces; behind it stand the state and then the parent.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 15 {
		return 0, 0, 0
	}
	var n [15]int
	for i := 1; i < len(n); i++ {
		n[i], _ = strconv.Atoi(f[i]) // all are numbers
	}
	return n[1], time.Duration(n[11]+n[12]) * tick, time.Duration(n[13]+n[14]) * tick
}

// processorTime returns what this process has used so far, in user and system mode, finer than /proc.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
