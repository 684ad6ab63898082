package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"rail/server/clock"
)

// errBusy means that an earlier server, or one of its sessions, is still running.
var errBusy = errors.New("an earlier server still holds the directory")

// joinOrLaunch repeats until a server answers. It waits for a server that is
// shutting down, and for the sessions of a server that was killed.
func (c cluster) joinOrLaunch(ctx context.Context) (*Server, error) {
	var last error
	for {
		s, err := c.attempt(ctx)
		if s != nil || !errors.Is(err, errBusy) {
			return s, err
		}
		if ctx.Err() == nil {
			last = err
		}
		if err := clock.Wait(ctx, pollEvery); err != nil {
			return nil, errors.Join(err, last)
		}
	}
}

// attempt joins a running server, or launches one. The process id in a stale file may belong to
// another program.
func (c cluster) attempt(ctx context.Context) (*Server, error) {
	pm, err := c.readPostmaster()
	if err != nil {
		return nil, err
	}
	if pm == nil || !exists(pm.pid) {
		return c.launch(ctx)
	}
	if !serves(pm.pid, c.data()) {
		if err := c.disown(pm); err != nil {
			return nil, fmt.Errorf("stale postmaster.pid: %w", err)
		}
		return c.launch(ctx)
	}
	return c.join(ctx, pm)
}

// join uses a server of another process as soon as it is ready.
func (c cluster) join(ctx context.Context, pm *postmaster) (*Server, error) {
	if pm.socket == "" {
		return nil, errBusy
	}
	s := &Server{socketDir: pm.socket, port: pm.port}
	if err := s.ping(ctx); err != nil {
		return nil, fmt.Errorf("%w (process %d): %w", errBusy, pm.pid, err)
	}
	// Read after the ping: a server whose parent was just killed still answers.
	now, err := c.readPostmaster()
	if err != nil {
		return nil, err
	}
	if now == nil || now.pid != pm.pid || !now.ready {
		return nil, errBusy
	}
	c.Logf("joined the PostgreSQL server that process %d runs", pm.pid)
	return s, nil
}

// launch starts the server, with archiving if configured.
func (c cluster) launch(ctx context.Context) (*Server, error) {
	settings, err := c.continues()
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return c.run(ctx, settings)
}

// run starts the server as a child with additional settings, and waits until it answers.
func (c cluster) run(ctx context.Context, settings []string) (_ *Server, err error) {
	log, from, err := openLog(c.log())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	// Not under ctx, because the server continues after Start.
	cmd := c.command(context.Background(), "postgres", syscall.SIGINT, c.serverArgs(settings)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.data(), log, log
	p, err := spawn(cmd)
	if err != nil {
		return nil, err
	}
	s := &Server{socketDir: c.socket, port: defaultPort, proc: p}
	if err := s.ready(ctx); err != nil {
		if !p.ended() {
			err = errors.Join(err, s.Stop())
		}
		return nil, explain(err, log, from)
	}
	c.Logf("PostgreSQL runs as process %d in %s", cmd.Process.Pid, c.data())
	return s, nil
}

// serverArgs returns the server's settings: more, a socket without a network, UTC, and the
// durability that Durable sets.
func (c cluster) serverArgs(more []string) []string {
	durable := "off"
	if c.Durable {
		durable = "on"
	}
	if c.Tuned {
		more = append(tuned(Memory()), more...)
	}
	args := []string{"-D", c.data(), "-k", c.socket}
	for _, set := range append(more,
		"listen_addresses=", "unix_socket_permissions=0700", "port="+strconv.Itoa(defaultPort),
		"max_connections="+strconv.Itoa(c.MaxConnections),
		"fsync="+durable, "full_page_writes="+durable, "synchronous_commit="+durable,
		"timezone=UTC", "log_timezone=UTC", "logging_collector=off", "log_destination=stderr",
	) {
		args = append(args, "-c", set)
	}
	return args
}

// ready waits until the server answers, has ended, or ctx ends.
func (s *Server) ready(ctx context.Context) error {
	for pause := pollEvery; ; pause = min(pause*11/10, pollSlowly) {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		if p := s.process(); p.ended() {
			return fmt.Errorf("PostgreSQL did not start: %w", exitError(p.err))
		}
		if cause := clock.Wait(ctx, pause); cause != nil {
			return errors.Join(cause, err)
		}
	}
}

// ping connects once; a server that is starting or stopping refuses.
func (s *Server) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// openLog opens the log for appending. It also returns its size, at which the lines of this start begin.
func openLog(path string) (f *os.File, size int64, err error) {
	if err := boundLog(path); err != nil {
		return nil, 0, err
	}
	if f, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600); err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}

// maxLog is the approximate limit of the log, and of its retained end.
const maxLog = 10 << 20

// boundLog empties a log beyond maxLog, and saves its end in another file. It does not rename the
// log, because the running server appends to the same file.
func boundLog(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // truncated by then
	st, err := f.Stat()
	if err != nil || st.Size() <= maxLog {
		return err
	}
	previous, err := os.OpenFile(path+".1", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(previous, io.NewSectionReader(f, st.Size()-maxLog, maxLog))
	return errors.Join(err, previous.Close(), f.Truncate(0))
}

// explain adds the reason of the server's end to an error, and returns errBusy if the directory is
// in use.
func explain(err error, log io.ReaderAt, from int64) error {
	text, readErr := io.ReadAll(io.NewSectionReader(log, from, 1<<20))
	if why := lastWords(string(text)); why != "" {
		err = fmt.Errorf("%w: %s", err, why)
	}
	output := quiet(string(text))
	err = errors.Join(fmt.Errorf("%w\n%s", err, output[:min(len(output), 16<<10)]), readErr)
	for _, sign := range []string{"pre-existing shared memory block", `" already exists`} {
		if strings.Contains(string(text), sign) {
			return fmt.Errorf("%w: %w", errBusy, err)
		}
	}
	return err
}
