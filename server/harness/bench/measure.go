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
	"slices"
)

// measure runs every load with every number of clients once each round. So the rounds of a load
// lie apart, and what else the machine does for a while falls on all of them.
func (b *bench) measure(ctx context.Context) ([]figure, error) {
	rounds := make([][]figure, len(b.loads)*len(b.Clients))
	for round := range b.Rounds {
		for i, l := range b.loads {
			for j, clients := range b.Clients {
				f, err := b.slice(ctx, l, clients, round)
				if err != nil {
					return nil, err
				}
				at := i*len(b.Clients) + j
				rounds[at] = append(rounds[at], f)
			}
		}
	}
	out := make([]figure, len(rounds))
	for i := range rounds {
		if err := b.repeat(ctx, rounds[i]); err != nil {
			return nil, err
		}
		out[i] = middle(rounds[i])
	}
	return out, nil
}

// maxSpoiled is the processor time of a request in a slice, to that of the row's best, above which another process
// spoiled the slice.
const maxSpoiled = 1.4

// spoiled returns the indexes of the slices in which the server or pgbench took too much processor time.
func spoiled(rounds []figure) (out []int) {
	best := rounds[0]
	for _, f := range rounds {
		best.CPU, best.PgbenchCPU = min(best.CPU, f.CPU), min(best.PgbenchCPU, f.PgbenchCPU)
	}
	for i, f := range rounds {
		if f.CPU > maxSpoiled*best.CPU || f.PgbenchCPU > maxSpoiled*best.PgbenchCPU {
			out = append(out, i)
		}
	}
	return out
}

// repeat measures the spoiled slices of a row again, each once.
func (b *bench) repeat(ctx context.Context, rounds []figure) error {
	for _, i := range spoiled(rounds) {
		f := rounds[i]
		fmt.Fprintf(b.Out, "repeats a slice of %s, %d clients: %.0f us of processor time, of pgbench %.0f\n",
			f.Load, f.Clients, f.CPU, f.PgbenchCPU)
		var err error
		if rounds[i], err = b.slice(ctx, b.load(f.Load), f.Clients, i); err != nil {
			return err
		}
	}
	return nil
}

// slice runs one load once in each way, so that all had the same state of the machine. Odd rounds go backwards,
// because the database grows, and the second way finds warm caches.
func (b *bench) slice(ctx context.Context, l load, clients, round int) (figure, error) {
	f := figure{Load: l.name, Clients: clients}
	ways := []func() error{
		func() error { return b.rail(ctx, l, &f) },
		func() error { return b.direct(ctx, l, &f) },
	}
	if l.name == "retrieve" {
		ways = append(ways, func() error { return b.measureFloor(ctx, l, &f) })
	}
	if round%2 == 1 {
		slices.Reverse(ways)
	}
	for _, way := range ways {
		if err := way(); err != nil {
			return f, fmt.Errorf("%s, %d clients: %w", l.name, clients, err)
		}
	}
	f.Ratio, f.CPURatio = f.Rate/f.Pgbench, f.CPU/f.PgbenchCPU
	if f.FloorCPU > 0 {
		f.FloorRatio = f.CPU / f.FloorCPU
	}
	return f, nil
}

// rail measures the server.
func (b *bench) rail(ctx context.Context, l load, f *figure) error {
	seen, used, err := b.http(ctx, l, f.Clients, b.server.addr)
	if err != nil {
		return err
	}
	n := float64(seen.Requests)
	f.Rate, f.P50, f.P99 = n/seen.Seconds, float64(seen.P50), float64(seen.P99)
	f.Server, f.CPU = used.of(n)
	f.Log, f.Files = float64(used.log)/n, float64(used.files)/n
	f.Objects, f.Heap = float64(used.objects)/n, float64(used.heap)/n
	return nil
}

// measureFloor measures the floor.
func (b *bench) measureFloor(ctx context.Context, l load, f *figure) error {
	seen, used, err := b.http(ctx, l, f.Clients, b.floor.addr)
	if err != nil {
		return err
	}
	f.FloorRate = float64(seen.Requests) / seen.Seconds
	_, f.FloorCPU = used.of(float64(seen.Requests))
	return nil
}

// direct measures pgbench. The script is made anew each time, since its times follow the clock.
func (b *bench) direct(ctx context.Context, l load, f *figure) error {
	seen, used, err := b.pgbench.run(ctx, l.name, f.Clients, newScript(b.sent[l.name], l, b.size, f.Clients))
	if err != nil {
		return err
	}
	f.Pgbench = float64(seen.Requests) / seen.Seconds
	_, f.PgbenchCPU = used.of(float64(seen.Requests))
	return nil
}

// http runs the load generator as another process, so that the processor time of this one is the
// server's.
func (b *bench) http(ctx context.Context, l load, clients int, addr string) (seen outcome, used spent, err error) {
	self, err := os.Executable()
	if err != nil {
		return seen, used, err
	}
	input, err := json.Marshal(orders{addr, b.key, l.name, b.size, clients, b.Seconds})
	if err != nil {
		return seen, used, err
	}
	// This program again, as its own child.
	cmd := exec.CommandContext(ctx, self, "-load")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return seen, used, err
	}
	if err := cmd.Start(); err != nil {
		return seen, used, err
	}
	profile := ""
	if b.Profiles != "" && addr == b.server.addr {
		profile = filepath.Join(b.Profiles, fmt.Sprintf("%s-%d.pprof", l.name, clients))
	}
	seen, used, err = b.watch(bufio.NewScanner(pipe), profile)
	return seen, used, errors.Join(err, cmd.Wait())
}

// watch reads the load generator's output, and measures the processor time between its start and its
// end, and profiles that time into a file if it is named.
func (b *bench) watch(lines *bufio.Scanner, path string) (seen outcome, used spent, err error) {
	var profile *os.File
	var began spent
	for lines.Scan() {
		switch lines.Text() {
		case "start":
			if path != "" {
				if profile, err = os.Create(path); err != nil {
					return seen, used, err
				}
				if err := pprof.StartCPUProfile(profile); err != nil {
					return seen, used, err
				}
			}
			// The server's work until this line is read is not counted; it is little.
			began = b.meter.read(0)
		case "done":
			used = b.meter.read(0).since(began)
			if profile != nil {
				pprof.StopCPUProfile()
				err = profile.Close()
			}
		default:
			return seen, used, errors.Join(err, json.Unmarshal(lines.Bytes(), &seen))
		}
	}
	return seen, used, errors.New("the load generator ended early")
}
