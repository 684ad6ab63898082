package postgres

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// unanswered bounds the wait for an acknowledgement of sent data, which keep-alives do not.
func unanswered(network, _ string, c syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	controlled := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unackedTimeout.Milliseconds()))
	})
	return errors.Join(controlled, err)
}
