package migrate

import "testing"

// Attempts sets the number of attempts, for one test at a time.
func Attempts(t *testing.T, n int) {
	before := attempts
	attempts = n
	t.Cleanup(func() { attempts = before })
}
