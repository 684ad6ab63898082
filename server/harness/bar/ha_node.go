package bar

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"rail/server/postgres/embedded"
)

// node is a machine with its own network namespace: etcd, Patroni and PostgreSQL.
type node struct {
	name, addr, space, dir, bin string

	etcd, patroni *exec.Cmd
}

// startNodes starts three nodes and waits until one is the primary and both others follow.
func startNodes(ctx context.Context, dir string) (nodes []*node, err error) {
	bin, err := embedded.BinDir()
	if err != nil {
		return nil, err
	}
	if err := layBridge(); err != nil {
		return nil, fmt.Errorf("this needs root, and Linux's network namespaces: %w", err)
	}
	for i := 1; i <= 3; i++ {
		name := fmt.Sprintf("node%d", i)
		nodes = append(nodes, &node{
			name: name, addr: network + strconv.Itoa(i), space: fmt.Sprintf("rail-ha-%d", i),
			dir: filepath.Join(dir, name), bin: bin,
		})
	}
	for _, n := range nodes {
		if err := errors.Join(n.lay(), n.configure(nodes), n.startAll()); err != nil {
			return nodes, err
		}
	}
	_, err = healthy(ctx, nodes)
	return nodes, err
}

// stopNodes ends everything, and takes the network away.
func stopNodes(nodes []*node) error {
	var err error
	for _, n := range nodes {
		_ = n.killAll() // some of it may have ended
		err = errors.Join(err, ip("netns", "del", n.space))
	}
	return errors.Join(err, ip("link", "del", bridge))
}

// patroniSettings have the shortest times that Patroni allows: a leader that is silent for 20 s is replaced. At least
// one standby confirms each write. Patroni 3.0.2 uses etcd's second API; with the third it would take the leader's
// key from a newly elected node.
const patroniSettings = `scope: rail
name: %[1]s
restapi: {listen: "%[2]s:8008", connect_address: "%[2]s:8008"}
etcd: {hosts: [%[3]s]}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    master_start_timeout: 0
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql: {use_pg_rewind: true, parameters: {max_connections: 150, wal_log_hints: "on"}}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, data-checksums]
  pg_hba: ["local all all trust", "host all all %[4]s0/24 trust", "host replication all %[4]s0/24 trust"]
postgresql:
  listen: "%[2]s:5432"
  connect_address: "%[2]s:5432"
  data_dir: %[5]s/data
  bin_dir: %[6]s
  pgpass: %[5]s/pgpass
  authentication:
    superuser: {username: postgres, password: postgres}
    replication: {username: standby, password: standby}
  parameters: {unix_socket_directories: %[5]s}
`

// configure makes the node's folder and writes what Patroni reads.
func (n *node) configure(nodes []*node) error {
	var etcds []string
	for _, other := range nodes {
		etcds = append(etcds, `"`+other.addr+`:2379"`)
	}
	text := fmt.Sprintf(patroniSettings, n.name, n.addr, strings.Join(etcds, ", "), network, n.dir, n.bin)
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(n.path("patroni.yml"), []byte(text), 0o600); err != nil {
		return err
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(account.Uid)
	gid, err2 := strconv.Atoi(account.Gid)
	return errors.Join(err, err2, filepath.WalkDir(n.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, uid, gid)) //nolint:gosec // G122: no other process writes there
	}))
}

func (n *node) path(name string) string { return filepath.Join(n.dir, name) }

// start starts a program in the node as PostgreSQL's account. Its output goes to a file.
func (n *node) start(name string, args ...string) (*exec.Cmd, error) {
	log, err := os.OpenFile(n.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	cmd := exec.Command("ip", append([]string{
		"netns", "exec", n.space, "setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", name,
	}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, log, log
	// /usr/bin first: Patroni's packages belong to the system's Python.
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + n.dir, "LC_ALL=C.UTF-8", "PYTHONUNBUFFERED=1"}
	// A separate process group: a terminal's ^C ends the run, which then ends the nodes.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, cmd.Start()
}

// startAll starts what a machine starts with.
func (n *node) startAll() (err error) {
	var cluster []string
	for i := 1; i <= 3; i++ {
		cluster = append(cluster, fmt.Sprintf("node%d=http://%s%d:2380", i, network, i))
	}
	client, peer := "http://"+n.addr+":2379", "http://"+n.addr+":2380"
	n.etcd, err = n.start("etcd", "--name", n.name, "--data-dir", n.path("etcd"), "--listen-client-urls", client,
		"--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
		"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", "new",
		"--heartbeat-interval", "200", "--election-timeout", "2000", "--pre-vote", "--enable-v2")
	if err != nil {
		return err
	}
	return n.startPatroni()
}

func (n *node) startPatroni() (err error) {
	n.patroni, err = n.start("patroni", n.path("patroni.yml"))
	return err
}

// killPostgres kills the parent of all of PostgreSQL's processes.
func (n *node) killPostgres() error { return killPostmaster(n.path("data")) }

// killPatroni kills Patroni alone.
func (n *node) killPatroni() error { return finish(n.patroni) }

// killAll kills all that runs on the node.
func (n *node) killAll() error {
	return errors.Join(n.killPatroni(), finish(n.etcd), n.killPostgres())
}

// finish kills a process and waits for its end.
func finish(cmd *exec.Cmd) error {
	if cmd == nil {
		return nil
	}
	err := cmd.Process.Kill()
	_ = cmd.Wait() // killed
	return err
}

// confirms reports whether the node's PostgreSQL confirms a write within three seconds, asked on the node itself,
// where no network is in the way. A primary that was replaced must not.
func (n *node) confirms(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ip", "netns", "exec", n.space, filepath.Join(n.bin, "psql"), "-qX", "-h", n.addr, "-U", "postgres",
		"-c", "SELECT pg_logical_emit_message(true, 'rail', 'two primaries')")
	return cmd.Run() == nil
}
