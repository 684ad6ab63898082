package embedded

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Memory returns the bytes of memory that this process and its children may use: those of the
// machine, or fewer if a control group limits them. It returns 0 if they are unknown.
func Memory() uint64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // without the file there is no limit
	return limited(info.Totalram*uint64(info.Unit), "/sys/fs/cgroup", string(groups))
}

// limited returns the least of the machine's memory and the limits of the control groups, which are in files below
// root. A group lists "hierarchy:controllers:path"; version 2 has one line, without controllers. In a container the
// group is mounted as the root itself.
func limited(machine uint64, root, groups string) uint64 {
	least := machine
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, name := root, "memory.max"
		if parts[1] != "" {
			if parts[1] != "memory" {
				continue
			}
			base, name = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		}
		for dir := filepath.Clean("/" + parts[2]); ; dir = filepath.Dir(dir) {
			if text, err := os.ReadFile(filepath.Join(base, dir, name)); err == nil {
				// "max" is no limit.
				if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
					least = min(least, n)
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}
