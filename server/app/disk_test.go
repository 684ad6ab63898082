package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
)

// TestRoom: a nearly full disk is refused before anything is written to it, if Rail's own database is on it.
func TestRoom(t *testing.T) {
	cfg := config.Config{DataDir: t.TempDir()}
	require.NoError(t, Room(cfg))
	LeastRoom(t, 1<<60)
	require.ErrorContains(t, Room(cfg), "left, and a server needs")
	require.ErrorContains(t, Room(cfg), cfg.DataDir)
	cfg.DatabaseURL = "postgres://h/n"
	require.NoError(t, Room(cfg), "the disk of another's database is not this one")
}
