package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"syscall"
	"time"
)

// sample is one HTTP run and the pgbench run next to it, so that both had the same state of the
// machine. Times are in microseconds.
type sample struct {
	rps, tps, cpu float64 // cpu is in microseconds of this process for each request
	p50, p99      int64
}

// measure runs every load once each round, over HTTP and by pgbench, and changes the order of the
// two every round: the database grows, and whoever comes second finds warm caches.
func (b *bench) measure(ctx context.Context) (map[string][]sample, error) {
	out := map[string][]sample{}
	for round := range b.Rounds {
		for _, l := range b.loads {
			s, err := b.pair(ctx, l, round)
			if err != nil {
				return nil, err
			}
			out[l.name] = append(out[l.name], s)
		}
	}
	return out, nil
}

// pair runs one load both ways. The script is made anew each time, since its times follow the clock.
func (b *bench) pair(ctx context.Context, l load, round int) (sample, error) {
	var s sample
	http := func() (err error) { s, err = b.http(ctx, l, s); return err }
	direct := func() (err error) {
		s.tps, err = b.pgbench.run(ctx, l.name, newScript(b.sent[l.name], l, b.size, b.Clients))
		return err
	}
	// Odd rounds begin with pgbench.
	if round%2 == 1 {
		http, direct = direct, http
	}
	if err := http(); err != nil {
		return s, err
	}
	return s, direct()
}

// http runs the load generator as another process, so that the processor time of this one is the
// server's.
func (b *bench) http(ctx context.Context, l load, s sample) (sample, error) {
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	given, err := json.Marshal(orders{b.server.addr, b.key, l.name, b.size, b.Clients, b.Seconds})
	if err != nil {
		return s, err
	}
	// This program again, as its own child.
	cmd := exec.CommandContext(ctx, self, "-load")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(given), os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	seen, used, err := b.watch(bufio.NewScanner(pipe), l.name)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return s, fmt.Errorf("load %s: %w", l.name, err)
	}
	s.rps, s.p50, s.p99 = float64(seen.Requests)/seen.Seconds, seen.P50, seen.P99
	s.cpu = float64(used.Microseconds()) / float64(seen.Requests)
	return s, nil
}

// watch reads the load generator's output, and measures the processor time between its start and its
// end, and profiles that time if asked.
func (b *bench) watch(lines *bufio.Scanner, name string) (seen outcome, used time.Duration, err error) {
	var profile *os.File
	for lines.Scan() {
		switch lines.Text() {
		case "start":
			if b.Profiles != "" {
				if profile, err = os.Create(filepath.Join(b.Profiles, name+".pprof")); err != nil {
					return seen, 0, err
				}
				if err := pprof.StartCPUProfile(profile); err != nil {
					return seen, 0, err
				}
			}
			// What the server does until this line is read is not counted; that is little.
			used = -processorTime()
		case "done":
			used += processorTime()
			if profile != nil {
				pprof.StopCPUProfile()
				err = profile.Close()
			}
		default:
			return seen, used, errors.Join(err, json.Unmarshal(lines.Bytes(), &seen))
		}
	}
	return seen, used, errors.New("it ended early")
}

// processorTime returns what this process has used so far, in user and system mode.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
