package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// easyMemory is the memory, in bytes, up to which the process favours speed.
const easyMemory = 64 << 20

// EaseGC lets the heap grow to five times the live data before a collection: little survives a request, so that
// the default would collect all the time. Above easyMemory the heap grows to twice the live data, as by default.
// GOGC and GOMEMLIMIT, if set, take precedence.
func EaseGC(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(easyMemory)
	go func() {
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				debug.SetMemoryLimit(max(easyMemory, enough()))
			}
		}
	}()
}

// enough returns twice the live data of the last collection, plus the memory that no collection frees, in bytes.
func enough() int64 {
	seen := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"},
	}
	metrics.Read(seen)
	live, stacks, other := seen[0].Value.Uint64(), seen[1].Value.Uint64(), seen[2].Value.Uint64()
	return int64(2*live + stacks + other)
}
