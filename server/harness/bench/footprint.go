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
	"slices"
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
	// starts is the number of starts with the existing database.
	starts = 5
)

// rest is the time after which a server without requests has returned its free memory, twice that of app.EaseGC.
const rest = 2 * time.Minute

// footprint measures the binary as operators run it: its memory at rest and with many connections, and its start time
// with an existing database and with a new one.
func (b *bench) footprint(ctx context.Context) (f footprint, err error) {
	rail := filepath.Join(b.db.dir, "binary")
	if err := process.Build(ctx, rail); err != nil {
		return f, err
	}
	if f.Start, f.Crowd, err = b.existing(ctx, rail); err != nil {
		return f, err
	}
	// The large database has commissions to mature, so only a server with a new one is at rest.
	p, took, err := launch(ctx, rail, filepath.Join(b.db.dir, "fresh"), "RAIL_LOG_LEVEL=error")
	if err != nil {
		return f, err
	}
	f.First = took.Seconds()
	f.Rest, err = b.idle(p)
	return f, errors.Join(err, p.end())
}

// existing starts the binary with the existing database several times. start is the median of the times, in seconds.
// crowd is the memory of the last process with many connections, in MB.
func (b *bench) existing(ctx context.Context, rail string) (start, crowd float64, err error) {
	var times []float64
	for len(times) < starts {
		p, took, err := launch(ctx, rail, b.db.dir, "RAIL_DATABASE_URL="+b.db.DSN, "RAIL_ADDRESS_RATE_LIMIT="+addressLimit,
			"RAIL_SECRET_KEY="+hex.EncodeToString(b.config.SecretKey[:]))
		if err != nil {
			return 0, 0, err
		}
		if times = append(times, took.Seconds()); len(times) == starts {
			crowd, err = b.busy(p)
		}
		if err = errors.Join(err, p.end()); err != nil {
			return 0, 0, err
		}
	}
	fmt.Fprintf(b.Out, "starts with the existing database: %.2f s\n", times)
	slices.Sort(times)
	return times[starts/2], crowd, nil
}

// idle returns the memory of a server without requests and jobs, in MB. It prints the pages of the binary in memory
// too: the system shares them among processes, and drops them when memory is short.
func (b *bench) idle(p running) (float64, error) {
	time.Sleep(rest)
	m, err := process.MemoryOf(p.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(b.Out, "memory: at rest %.0f MB, and %.0f MB of its binary\n", m.Own, m.File)
	return m.Own, nil
}

// busy returns the most memory of a server with all connections, in MB, and prints the pages of the binary too.
func (b *bench) busy(p running) (float64, error) {
	stop := make(chan struct{})
	most := make(chan process.Memory)
	go func() {
		var m process.Memory
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				most <- m
				return
			case <-tick.C:
				if now, err := process.MemoryOf(p.cmd.Process.Pid); err == nil && now.Own > m.Own {
					m = now
				}
			}
		}
	}()
	err := b.crowd(p.addr)
	close(stop)
	m := <-most
	fmt.Fprintf(b.Out, "memory: with %d connections and %d requests of every kind %.0f MB, and %.0f MB of its binary\n",
		connections, connections*each, m.Own, m.File)
	return m.Own, err
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

// end stops the binary.
func (r running) end() error {
	return errors.Join(r.cmd.Process.Signal(syscall.SIGTERM), r.cmd.Wait())
}
