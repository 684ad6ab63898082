// Package embedded runs a private PostgreSQL cluster in a data directory with the server binaries
// of the machine, so that Rail needs no database setup. The cluster listens only on a Unix socket,
// ends with the process that started it, and recovers after either of the two was killed.
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

// startLimit is how long a start may take without progress, including the wait for a shutdown. Tests use less.
var startLimit = 90 * time.Second

const (
	stopLimit  = 30 * time.Second // a fast shutdown writes a checkpoint
	pollEvery  = 10 * time.Millisecond
	pollSlowly = 500 * time.Millisecond // in a recovery, whose log has a line for each refused connection

	defaultMaxConnections = 100
	defaultPort           = 5432 // part of the socket's name
)

// Options configures a cluster.
type Options struct {
	// Dir contains the cluster, its log and its lock. It is created if absent.
	Dir string
	// Durable makes commits survive a power failure. Only tests leave it false.
	Durable bool
	// MaxConnections is the server's limit; 0 means 100.
	MaxConnections int
	// ArchiveDir receives every WAL file within a minute, compressed; "" disables archiving.
	ArchiveDir string
	// Tuned sets the cluster's memory from Memory, and logs slow statements.
	Tuned bool
	// BinDir is the directory of the server programs. The default is RAIL_PG_BINDIR, or an installed version.
	BinDir string
	// Logf logs each slow step; may be nil.
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

// DSN returns the connection URL of one database of the cluster.
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

// Joined reports whether another process runs the cluster, so that this one neither stops nor
// restarts it.
func (s *Server) Joined() bool { return s.process() == nil }

// Stop shuts the cluster down and ends open sessions. It does nothing to a joined one, and a second
// call returns the first result. It returns an error if the server had died before or did not end
// cleanly.
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

// Start starts the cluster in o.Dir, creates it if necessary, and returns when it answers. It joins
// a cluster that another process runs there. It fails with ErrNoBinaries if PostgreSQL is not
// installed, with ErrOtherMajor if the cluster's major version is not installed, with
// ErrUnreachable if the server's account cannot enter the directory, and with ctx's error.
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

// start makes, joins or launches the cluster under a lock on the directory, so that one of several
// starting processes launches it and the others join.
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
