package postgres

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A machine that takes what is sent and is gone is noticed by the system, not by a quarter of an hour.
func TestGoneIsNoticed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	cfg, err := configure("postgres://u@"+l.Addr().String()+"/x", Options{})
	require.NoError(t, err)
	require.Equal(t, connectWithin, cfg.ConnConfig.ConnectTimeout)
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
		require.EqualValues(t, goneAfter.Milliseconds(), got)
	}))
	cfg, err = configure("postgres://u@h/x?connect_timeout=7", Options{})
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, cfg.ConnConfig.ConnectTimeout)
}
