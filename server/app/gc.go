package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// easyMemory is the memory, in bytes, up to which the process favours speed.
const easyMemory = 84 << 20

// restAllocations is the number of bytes a minute below which the process is at rest: its jobs allocate less.
const restAllocations = 32 << 20

// EaseGC lets the heap grow to five times the live data before a collection: little survives a request, so that
// the default would collect all the time. Above easyMemory the heap grows to twice the live data, as by default.
// A process at rest returns its free memory to the system once a minute.
// GOGC and GOMEMLIMIT, if set, take precedence.
func EaseGC(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(easyMemory)
	go func() {
		limit, rest := time.NewTicker(time.Second), time.NewTicker(time.Minute)
		defer limit.Stop()
		defer rest.Stop()
		for before := allocated(); ; {
			select {
			case <-ctx.Done():
				return
			case <-limit.C:
				debug.SetMemoryLimit(max(easyMemory, heapTarget()))
			case <-rest.C:
				now := allocated()
				if now-before < restAllocations {
					debug.FreeOSMemory()
				}
				before = now
			}
		}
	}()
}

// allocated returns the bytes that the process has allocated since its start.
func allocated() uint64 {
	seen := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(seen)
	return seen[0].Value.Uint64()
}

// heapTarget returns twice the live data of the last collection, plus the memory that no collection frees, in bytes.
func heapTarget() int64 {
	seen := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"},
	}
	metrics.Read(seen)
	live, stacks, other := seen[0].Value.Uint64(), seen[1].Value.Uint64(), seen[2].Value.Uint64()
	return int64(2*live + stacks + other)
}
