package bench

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"rail/server/harness/process"
)

const (
	// connections is the number of connections, open at once.
	connections = 500
	// each is the number of requests on each connection.
	each = 20
)

// footprint measures the binary as operators run it: its memory with many connections, and its start time with an
// existing database and with a new one.
func (b *bench) footprint(ctx context.Context) error {
	rail := filepath.Join(b.db.dir, "binary")
	if err := process.Build(ctx, rail); err != nil {
		return err
	}
	p, took, err := launch(ctx, rail, b.db.dir, "RAIL_DATABASE_URL="+b.db.DSN, "RAIL_ADDRESS_RATE_LIMIT="+addressLimit,
		"RAIL_SECRET_KEY="+hex.EncodeToString(b.config.SecretKey[:]))
	if err != nil {
		return err
	}
	// Its tables are there as well: the migrations find nothing to do.
	fmt.Fprintf(b.Out, "start: %.2f s with a database that is there\n", took.Seconds())
	err = b.crowd(p.addr)
	memory, ended := p.end()
	if err := errors.Join(err, ended); err != nil {
		return err
	}
	fmt.Fprintf(b.Out, "memory: at most %.0f MB resident, %d connections, %d requests of every kind\n", memory,
		connections, connections*each)
	if p, took, err = launch(ctx, rail, filepath.Join(b.db.dir, "fresh"), "RAIL_LOG_LEVEL=error"); err != nil {
		return err
	}
	fmt.Fprintf(b.Out, "start: %.2f s with a private PostgreSQL that is made first\n", took.Seconds())
	_, err = p.end()
	return err
}

// crowd opens all connections and sends requests of every load on each, with the others open:
// memory is at its most when all are busy.
func (b *bench) crowd(addr string) error {
	clients := make([]*client, connections)
	for i := range clients {
		c, err := dial(addr, b.key)
		if err != nil {
			return err
		}
		defer c.close()
		clients[i] = c
	}
	var all sync.WaitGroup
	errs := make([]error, connections)
	// Charge ids and visitors of this run must be new to the database.
	fresh := time.Now().UnixMicro()
	for i, c := range clients {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			for n := range each {
				// Neighbouring connections send different requests, so that all kinds are in flight at once.
				l := loads[(i+n)%len(loads)]
				d := l.pick(b.size, rnd)
				d.Fresh = fresh + int64(i*each+n)
				if errs[i] = c.do(l.ask(d)); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// running is a running binary.
type running struct {
	cmd  *exec.Cmd
	addr string
}

// launch starts the binary, which migrates, and returns the time until it was ready.
func launch(ctx context.Context, rail, dir string, environ ...string) (running, time.Duration, error) {
	port, err := process.FreePort()
	if err != nil {
		return running{}, 0, err
	}
	addr := "127.0.0.1:" + port
	cmd := exec.CommandContext(ctx, rail, "serve", "--migrate")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "RAIL_DATA_DIR=" + dir, "RAIL_ADDR=" + addr},
		environ...)
	// The log is shown where the server does not start.
	var log strings.Builder
	cmd.Stderr = &log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return running{}, 0, err
	}
	for time.Since(began) < time.Minute {
		// Two milliseconds between attempts are the error of the figure.
		if res, err := http.Get("http://" + addr + "/readyz"); err == nil && res.Body.Close() == nil &&
			res.StatusCode == http.StatusOK {
			return running{cmd, addr}, time.Since(began), nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return running{}, 0, errors.Join(fmt.Errorf("the server does not become ready:\n%s", log.String()), cmd.Process.Kill(),
		cmd.Wait())
}

// end stops the binary and returns its peak memory in megabytes, as the system counts it.
func (r running) end() (memory float64, err error) {
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	err = r.cmd.Wait()
	if used, ok := r.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		memory = float64(used.Maxrss) / 1024
		if runtime.GOOS == "darwin" { // Maxrss is in bytes there, in kilobytes elsewhere
			memory /= 1024
		}
	}
	return memory, err
}
