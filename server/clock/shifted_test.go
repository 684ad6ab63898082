package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShifted(t *testing.T) {
	t.Parallel()
	base := NewManual(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))
	s := NewShifted(base, time.Hour)
	require.Equal(t, "2026-09-01T01:00:00.000Z", s.Now().String())
	base.Advance(time.Minute)
	require.Equal(t, "2026-09-01T01:01:00.000Z", s.Now().String(), "it runs with its base")

	require.Equal(t, "2026-09-01T01:01:00.000Z", s.Stop().String())
	base.Advance(time.Minute)
	require.Equal(t, "2026-09-01T01:01:00.000Z", s.Now().String(), "it stands")
	require.Equal(t, 24*time.Hour, s.Move(base.Now().Days(1)))
	require.Equal(t, 24*time.Hour, s.Move(base.Now()), "it does not go back")
	require.Equal(t, "2026-09-02T00:02:00.000Z", s.Now().String())
	base.Advance(time.Minute)
	s.Continue()
	require.Equal(t, "2026-09-02T00:02:00.000Z", s.Now().String(), "it continues from where it stood")
	base.Advance(time.Minute)
	require.Equal(t, "2026-09-02T00:03:00.000Z", s.Now().String())
	s.Continue()
	require.Equal(t, "2026-09-02T00:03:00.000Z", s.Now().String())
}

func TestWall(t *testing.T) {
	t.Parallel()
	base := NewManual(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))
	require.Equal(t, base.Now(), Wall(NewShifted(base, time.Hour)).Now())
	require.Equal(t, base, Wall(base))
}
