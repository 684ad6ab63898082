// Package embedded runs a private PostgreSQL cluster in a data directory, from
// server binaries that are already on the machine. It lets Rail start with no
// database set up beforehand. The cluster listens on a Unix socket only, ends
// with the process that started it, and recovers by itself when either of the
// two was killed.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// startLimit is how long a start may go without progress, a waiting shutdown included. Tests have less patience.
var startLimit = 90 * time.Second

const (
	stopLimit  = 30 * time.Second // a fast shutdown writes a checkpoint
	pollEvery  = 10 * time.Millisecond
	pollSlowly = 500 * time.Millisecond // in a recovery, whose log has a line for each refused connection

	defaultMaxConnections = 100
	defaultPort           = 5432 // only a part of the socket's name
)

// Options says where and how a cluster runs.
type Options struct {
	// Dir contains the cluster, its log and its lock. Made when absent.
	Dir string
	// Durable makes commits survive a loss of power. Only tests leave it false.
	Durable bool
	// MaxConnections is the server's limit; 0 means 100.
	MaxConnections int
	// ArchiveDir gets every file of WAL within a minute, packed; none unless set.
	ArchiveDir string
	// Tuned says that the cluster may take its part of Memory, and logs slow statements.
	Tuned bool
	// BinDir has the server programs; those of RAIL_PG_BINDIR, or else of the machine, unless set.
	BinDir string
	// Logf gets a line for each step that takes time; may be nil.
	Logf func(format string, args ...any)
}

// Server is a running cluster, started or joined by this process.
type Server struct {
	socketDir string
	port      int
	options   Options
	mu        sync.Mutex
	proc      *process // nil when joined
	stopped   bool
	stop      sync.Once
	stopErr   error
}

// process returns the child that runs the cluster, or nil if another process runs
// it.
func (s *Server) process() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

// DSN is the connection URL of one database of the cluster.
func (s *Server) DSN(db string) string {
	q := url.Values{
		"host":    {s.socketDir},
		"port":    {strconv.Itoa(s.port)},
		"user":    {superuser},
		"sslmode": {"disable"},
	}
	u := url.URL{Scheme: "postgres", Path: "/" + db, RawQuery: q.Encode()}
	return u.String()
}

// Joined reports whether another process runs the cluster, so that this one
// neither stops it nor keeps it alive.
func (s *Server) Joined() bool { return s.process() == nil }

// Stop shuts the cluster down, ending open sessions. It does nothing to a
// joined one, and a second call returns what the first did. The error says
// that the server had died before or did not end cleanly.
func (s *Server) Stop() error {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	p := s.process()
	if p == nil {
		return nil
	}
	s.stop.Do(func() {
		if s.stopErr = p.stop(stopLimit); s.stopErr != nil {
			s.stopErr = fmt.Errorf("%s: %w", ended(lastWordsOf(layout{dir: s.options.Dir}.log())), s.stopErr)
		}
	})
	return s.stopErr
}

// Start runs the cluster in o.Dir, making it first when there is none, and
// returns when it answers. A cluster that another process runs there is joined.
// It fails with ErrNoBinaries where no PostgreSQL is installed, with
// ErrOtherMajor where only such is that cannot read the cluster, with
// ErrUnreachable where the account to run as cannot enter the directory, and
// with ctx's error when that ends.
func Start(ctx context.Context, o Options) (*Server, error) {
	o = o.withDefaults()
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := patient(ctx, layout{dir: dir}.log(), startLimit)
	defer cancel()
	s, err := start(ctx, o)
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		err = fmt.Errorf("%w for %s: %w", errStalled, startLimit, err)
	}
	if err != nil {
		return nil, fmt.Errorf("private PostgreSQL in %s: %w", o.Dir, err)
	}
	s.options = o
	return s, nil
}

// withDefaults replaces zero values.
func (o Options) withDefaults() Options {
	if o.MaxConnections == 0 {
		o.MaxConnections = defaultMaxConnections
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	return o
}

// start makes, joins or launches the cluster under a lock on the directory, so that
// of processes that start at once one does it and the others join.
func start(ctx context.Context, o Options) (_ *Server, err error) {
	c, unlock, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := c.initialise(ctx); err != nil {
		return nil, err
	}
	return c.joinOrLaunch(ctx)
}

// open makes the directory of a cluster and locks it.
func open(ctx context.Context, o Options) (c cluster, unlock func() error, err error) {
	c.Options = o
	if c.layout.dir, err = filepath.Abs(o.Dir); err != nil {
		return c, nil, err
	}
	if c.account, err = accountFor(c.layout); err != nil {
		return c, nil, err
	}
	if c.bin, err = c.programs(); err != nil {
		return c, nil, err
	}
	if c.layout, err = prepare(o.Dir, c.account); err != nil {
		return c, nil, err
	}
	unlock, err = lockFile(ctx, c.lock())
	return c, unlock, err
}
