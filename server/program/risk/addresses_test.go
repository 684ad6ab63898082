package risk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDistinctiveAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"203.0.113.9", "2001:db8::1", "::ffff:203.0.113.9"} {
		require.True(t, Identifies(address), address)
	}
	for _, address := range []string{
		"", "x", "127.0.0.1", "::1", "10.1.2.3", "172.17.0.1", "192.168.1.1", "100.64.0.1", "169.254.1.1", "fe80::1",
		"fd00::1", "::ffff:10.0.0.1", "0.0.0.0", "224.0.0.1",
	} {
		require.False(t, Identifies(address), address)
	}
}
