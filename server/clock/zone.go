package clock

import (
	"fmt"
	"time"
	_ "time/tzdata" // zones where the machine has none, as in a container
)

// Zone returns the time zone with an IANA name, such as Australia/Sydney. The empty name
// and Local, which Go takes for UTC and the machine's zone, are refused.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q is no IANA time zone", name)
	}
	return time.LoadLocation(name)
}
