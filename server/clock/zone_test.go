package clock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestZone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Australia/Sydney", "America/Los_Angeles"} {
		zone, err := Zone(name)
		require.NoError(t, err)
		require.Equal(t, name, zone.String())
	}
	for _, name := range []string{"", "Local", "Mars/Olympus", "../etc/passwd", "+10:00"} {
		_, err := Zone(name)
		require.Error(t, err, name)
	}
}
