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

// MemoryOf returns the memory of a process.
func MemoryOf(pid int) (Memory, error) {
	kib, err := status(pid, "RssAnon", "RssFile")
	if err != nil {
		return Memory{}, err
	}
	return Memory{Own: float64(kib[0]) * 1024 / 1e6, File: float64(kib[1]) * 1024 / 1e6}, nil
}

// PeakMemory returns the largest resident memory of a process so far, in MiB.
func PeakMemory(pid int) (int, error) {
	kib, err := status(pid, "VmHWM")
	if err != nil {
		return 0, err
	}
	return kib[0] >> 10, nil
}

// status returns figures of a process that the system reports in KiB.
func status(pid int, names ...string) ([]int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil, errors.Join(ErrNoMemory, err)
	}
	kib := make([]int, len(names))
	for i, name := range names {
		found := regexp.MustCompile(name + `:\s*(\d+) kB`).FindSubmatch(text)
		if found == nil {
			return nil, ErrNoMemory
		}
		if kib[i], err = strconv.Atoi(string(found[1])); err != nil {
			return nil, err
		}
	}
	return kib, nil
}
