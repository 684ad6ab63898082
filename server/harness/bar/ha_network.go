package bar

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// The network of the nodes is a bridge of this machine, with a namespace for each node. An unplugged node reaches no
// other and is not reached, while its processes still reach each other.
const (
	bridge  = "rail-ha"
	network = "10.213.77."
)

// ip runs the command of that name.
func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// layBridge makes the bridge, on which this machine has an address, too.
func layBridge() error {
	_ = ip("link", "del", bridge) // of a run that was killed
	return errors.Join(ip("link", "add", bridge, "type", "bridge"), ip("addr", "add", network+"254/24", "dev", bridge),
		ip("link", "set", bridge, "up"))
}

// lay makes the node's namespace and plugs it in.
func (n *node) lay() error {
	_ = ip("netns", "del", n.space) // as above
	_ = ip("link", "del", n.space)  // it goes with the namespace, but by and by
	return errors.Join(
		ip("netns", "add", n.space),
		ip("link", "add", n.space, "type", "veth", "peer", "name", "eth0", "netns", n.space),
		ip("link", "set", n.space, "master", bridge, "up"),
		ip("-n", n.space, "addr", "add", n.addr+"/24", "dev", "eth0"),
		ip("-n", n.space, "link", "set", "eth0", "up"),
		ip("-n", n.space, "link", "set", "lo", "up"),
	)
}

// unplug cuts the node off.
func (n *node) unplug() error { return ip("link", "set", n.space, "down") }

// plug ends that.
func (n *node) plug() error { return ip("link", "set", n.space, "up") }
