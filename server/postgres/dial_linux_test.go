package postgres

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A server that becomes unreachable is detected by the system within the timeout, not after 15 minutes.
func TestDeadPeerIsDetected(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	cfg, err := configure("postgres://u@"+l.Addr().String()+"/x", Options{})
	require.NoError(t, err)
	require.Equal(t, connectTimeout, cfg.ConnConfig.ConnectTimeout)
	conn, err := cfg.ConnConfig.DialFunc(t.Context(), "tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	tcp, ok := conn.(*net.TCPConn)
	require.True(t, ok)
	raw, err := tcp.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		require.NoError(t, err)
		require.EqualValues(t, unackedTimeout.Milliseconds(), got)
	}))
	cfg, err = configure("postgres://u@h/x?connect_timeout=7", Options{})
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, cfg.ConnConfig.ConnectTimeout)
}
