//go:build !linux

package embedded

// Memory returns 0: it is unknown.
func Memory() uint64 { return 0 }
