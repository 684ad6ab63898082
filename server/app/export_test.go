package app

import "testing"

// LeastRoom makes servers require more free space than there is.
func LeastRoom(t *testing.T, bytes uint64) {
	before := least
	least = bytes
	t.Cleanup(func() { least = before })
}
