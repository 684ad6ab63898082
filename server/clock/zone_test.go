package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestZone refuses names of files that some systems have and that are not zones.
func TestZone(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"UTC", "Etc/UTC", "Australia/Sydney", "America/Argentina/Buenos_Aires"} {
		_, err := Zone(good)
		require.NoError(t, err, good)
	}
	for _, bad := range []string{
		"", "Local", "localtime", "posixrules", "Factory", "posix/Australia/Sydney", "right/UTC", "Mars/Phobos",
		"../etc/passwd", "/etc/localtime", "UTC+2",
	} {
		_, err := Zone(bad)
		require.Error(t, err, bad)
	}
	require.Equal(t, time.UTC, StoredZone("Mars/Phobos"))
}

// TestMidnight tests days that do not have 24 hours.
func TestMidnight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, day, from, hours string }{
		{"UTC", "2026-10-04", "2026-10-04T00:00:00.000Z", "24h0m0s"},
		{"Australia/Sydney", "2026-10-04", "2026-10-03T14:00:00.000Z", "23h0m0s"},
		{"Australia/Sydney", "2026-04-05", "2026-04-04T13:00:00.000Z", "25h0m0s"},
		{"America/Los_Angeles", "2026-03-08", "2026-03-08T08:00:00.000Z", "23h0m0s"},
		{"America/Los_Angeles", "2026-11-01", "2026-11-01T07:00:00.000Z", "25h0m0s"},
		{"Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30:00.000Z", "23h30m0s"},
		{"Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00.000Z", "24h30m0s"},
		{"Asia/Kolkata", "2026-04-05", "2026-04-04T18:30:00.000Z", "24h0m0s"},
		{"Asia/Kathmandu", "2026-04-05", "2026-04-04T18:15:00.000Z", "24h0m0s"},
		// Midnight occurs twice.
		{"Atlantic/Azores", "2025-10-26", "2025-10-26T00:00:00.000Z", "25h0m0s"},
		{"America/Havana", "2025-11-02", "2025-11-02T04:00:00.000Z", "25h0m0s"},
		// There is no midnight.
		{"America/Havana", "2025-03-09", "2025-03-09T05:00:00.000Z", "23h0m0s"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000Z", "23h0m0s"},
		// Clocks go back to the day before, at midnight and a minute later.
		{"America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00.000Z", "25h0m0s"},
		{"America/St_Johns", "2010-11-07", "2010-11-07T02:30:00.000Z", "25h0m0s"},
		// There is no such day.
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00.000Z", "0s"},
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00.000Z", "24h0m0s"},
	} {
		zone := StoredZone(c.zone)
		day, err := time.Parse(time.DateOnly, c.day)
		require.NoError(t, err)
		from, to := Midnight(day, zone), Midnight(day.AddDate(0, 0, 1), zone)
		require.Equal(t, []string{c.from, c.hours}, []string{from.String(), to.Sub(from.Time).String()}, "%s %s", c.zone, c.day)
		if from.Before(to.Time) {
			require.Equal(t, day, from.DayIn(zone), "%s %s", c.zone, c.day)
			require.True(t, from.Plus(-time.Microsecond).DayIn(zone).Before(day), "%s %s", c.zone, c.day)
		}
	}
}
