package postgres

import (
	"net"
	"time"
)

const (
	// connectWithin is how long one host may take to answer at all, of several.
	connectWithin = 3 * time.Second
	// goneAfter is how long a server may leave unanswered what its machine alone answers: not a statement, which may
	// take its time, but TCP.
	goneAfter = 10 * time.Second
)

// dialer connects so that a machine that is gone, or cut off, is noticed: by default what was sent to one is
// waited for a quarter of an hour, with a connection of the pool each.
func dialer() *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: time.Second, Count: 5},
		Control:         unanswered,
	}
}
