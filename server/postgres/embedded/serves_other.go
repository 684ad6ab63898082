//go:build !linux

package embedded

// serves says yes in doubt: without /proc any live process may be the server.
func serves(int, string) bool { return true }
