package app

import "testing"

// LeastRoom has servers want more room than there is.
func LeastRoom(t *testing.T, bytes uint64) {
	before := least
	least = bytes
	t.Cleanup(func() { least = before })
}
