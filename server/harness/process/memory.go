package process

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// ErrNoMemory is returned where the system does not report the memory of processes.
var ErrNoMemory = errors.New("the system does not report the memory of processes")

// Memory is the resident memory of a process, in MB (1,000,000 bytes).
type Memory struct {
	Own  float64 // its heap, stacks and data
	File float64 // pages of its binary, which the system can drop
}

var ownMemory, fileMemory = regexp.MustCompile(`RssAnon:\s*(\d+) kB`), regexp.MustCompile(`RssFile:\s*(\d+) kB`)

// MemoryOf returns the memory of a process.
func MemoryOf(pid int) (m Memory, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, errors.Join(ErrNoMemory, err)
	}
	for pattern, to := range map[*regexp.Regexp]*float64{ownMemory: &m.Own, fileMemory: &m.File} {
		found := pattern.FindSubmatch(text)
		if found == nil {
			return m, ErrNoMemory
		}
		kib, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return m, err
		}
		*to = kib * 1024 / 1e6
	}
	return m, nil
}

var peakMemory = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// PeakMemory returns the largest resident memory of a process so far, in MiB.
func PeakMemory(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, errors.Join(ErrNoMemory, err)
	}
	found := peakMemory.FindSubmatch(text)
	if found == nil {
		return 0, ErrNoMemory
	}
	kib, err := strconv.Atoi(string(found[1]))
	return kib >> 10, err
}
