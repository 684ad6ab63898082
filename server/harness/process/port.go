package process

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports that FreePort chooses from. Systems hand out others, from 32768 on: no
// listener at port 0 and no connection takes one of these in the meantime.
const firstPort, lastPort = 20000, 32000

// FreePort returns a free port of 127.0.0.1, for a program that needs its port as an argument.
func FreePort() (string, error) {
	var err error
	for range 100 {
		port := strconv.Itoa(firstPort + rand.IntN(lastPort-firstPort))
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			return port, l.Close()
		}
	}
	return "", fmt.Errorf("no free port: %w", err)
}
