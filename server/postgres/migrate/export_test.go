package migrate

import "testing"

// Attempts has migrations give up sooner, for one test at a time.
func Attempts(t *testing.T, n int) {
	before := attempts
	attempts = n
	t.Cleanup(func() { attempts = before })
}
