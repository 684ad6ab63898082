package payout

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMinorOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		input  string
		digits int
		want   int64 // -1 for none
	}{
		{"-1,250.00", 2, 125000}, {"1.250,00", 2, 125000}, {"1 250,5", 2, 125050}, {"150", 2, 15000}, {"$1,250", 2, 125000},
		{"0.01", 2, 1}, {"150.0000", 2, 15000}, {"1.005,00", 0, 1005}, {"40,377", 0, 40377}, {"1.250", 3, 1250}, {"1,250.125", 3, 1250125},
		{"150.5", 0, -1}, {"1.2345", 2, -1}, {"", 2, -1}, {"none", 2, -1}, {"99999999999999999999", 2, -1},
	} {
		got, ok := minorOf(c.input, c.digits)
		if !ok {
			got = -1
		}
		require.Equal(t, c.want, got, "%s with %d digits", c.input, c.digits)
	}
}
