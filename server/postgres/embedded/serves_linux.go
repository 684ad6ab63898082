package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// serves reports whether the process pid is a server of the data directory: it is not a zombie, and
// has the directory as its working directory. In doubt it returns true, because two servers would
// damage the files.
func serves(pid int, data string) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	// The name in parentheses may contain anything; the state follows the last one.
	_, after, ok := lastCut(string(stat), ") ")
	if ok && strings.HasPrefix(after, "Z") {
		return false
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return true
	}
	if target, err := filepath.EvalSymlinks(data); err == nil {
		data = target
	}
	return cwd == data
}

// lastCut is strings.Cut around the last sep.
func lastCut(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
