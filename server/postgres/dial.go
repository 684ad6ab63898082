package postgres

import (
	"net"
	"time"
)

const (
	// connectTimeout bounds the connection to one of several hosts.
	connectTimeout = 3 * time.Second
	// unackedTimeout is how long TCP data may stay unacknowledged. It does not bound statements:
	// the server's kernel acknowledges TCP data.
	unackedTimeout = 10 * time.Second
)

// dialer detects a server that is down or unreachable. By default TCP waits 15 minutes for an
// acknowledgement, and each such connection blocks one of the pool.
func dialer() *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: time.Second, Count: 5},
		Control:         unanswered,
	}
}
