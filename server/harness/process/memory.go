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
