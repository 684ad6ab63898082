// Package bench is a load test. It measures the server over HTTP beside pgbench running the
// same statements on the same data, in turn.
//
// pgbench is the limit: the database with no server in front of it. The ratio of the two says
// what the server costs, and stays comparable between machines, as requests a second do not.
// Everything runs on one machine: a PostgreSQL of its own, the server in this process and the
// load generator in another. A run also measures what the binary needs as operators run it
// (footprint), and the sender of webhooks.
//
// Run does all of it; Generate is the other process; NewDatabase is for package scale too.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rail/server/config"
)

// Options says what to measure. Seconds is the length of one run, Rounds how often each load
// is run; Clients are connections that send one request after the other.
type Options struct {
	Rows, Seconds, Rounds, Clients int
	Only                           []string  // names of loads; all when empty
	Jobs                           bool      // run the server's background jobs meanwhile
	Session                        string    // a setting to change, name=value; "" for none
	Profiles                       string    // directory for CPU profiles and scripts; "" for none
	Out                            io.Writer // gets the table
}

// bench is a load test that is set up.
type bench struct {
	Options
	size    size
	loads   []load
	db      *Private
	config  config.Config
	server  *server
	key     string
	pgbench pgbench
	sent    map[string]captured
	before  string // load averages at the start, or ""
}

// Run sets everything up, measures, and prints one table. It returns an error for what could
// not be measured, never for a figure that misses its goal: those are for people to read.
func Run(ctx context.Context, o Options) (err error) {
	if o.Rows < partners || o.Seconds < 1 || o.Rounds < 1 || o.Clients < 1 {
		return fmt.Errorf("-rows must be at least %d, -seconds, -rounds and -clients at least 1", partners)
	}
	b := &bench{Options: o, size: newSize(o.Rows), sent: map[string]captured{}, before: loadAverages()}
	if b.loads, err = chosen(o.Only); err != nil {
		return err
	}
	if b.db, err = NewDatabase(ctx, ""); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.db.Close()) }()
	// The same setting for the server and, by its pool's configuration, for pgbench.
	if o.Session != "" {
		b.db.DSN += "&" + o.Session
	}
	began := time.Now()
	if err := fill(ctx, b.db.DSN, b.size); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "%d sales loaded in %.0f s\n", o.Rows, time.Since(began).Seconds())
	if err := b.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.server.stop()) }()
	results, err := b.measure(ctx)
	if err != nil {
		return err
	}
	b.table(results)
	// The footprint belongs to a whole run or is asked for by name, the webhooks to a whole run.
	if len(o.Only) > 0 && !slices.Contains(o.Only, "footprint") {
		return nil
	}
	if err := b.footprint(ctx); err != nil || len(o.Only) > 0 {
		return err
	}
	return b.webhooks(ctx)
}

// chosen returns the loads with these names, or all of them. The footprint is no load; its name
// is accepted here and looked for in Run.
func chosen(names []string) ([]load, error) {
	if len(names) == 0 {
		return loads, nil
	}
	var out []load
	for _, name := range names {
		if name == "footprint" {
			continue
		}
		l, err := find(name)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// start captures the statements of each load from a server with a tracer, and then
// starts the server to measure, which has none.
func (b *bench) start(ctx context.Context) error {
	var err error
	if b.config, err = config.Load(map[string]string{"RAIL_DATA_DIR": filepath.Join(b.db.dir, "rail")}); err != nil {
		return err
	}
	if err := b.capture(ctx); err != nil {
		return err
	}
	if b.server, err = serve(ctx, b.config, b.db.DSN, b.Jobs); err != nil {
		return err
	}
	dir := b.db.dir
	if b.Profiles != "" {
		dir = b.Profiles
		if err := os.MkdirAll(dir, 0o755); err != nil { // nothing secret
			return err
		}
	}
	b.pgbench, err = newPgbench(b.db.server.DSN("bench"), dir, b.server.pool.Config().ConnConfig.RuntimeParams, b.Options)
	return err
}

// capture records the statements of every load. The server that it starts for that is traced,
// which costs time, and is not the one to be measured.
func (b *bench) capture(ctx context.Context) error {
	t := &tracer{}
	a, pool, err := newApp(ctx, b.config, b.db.DSN, t)
	if err != nil {
		return err
	}
	defer pool.Close()
	if b.key, err = newKey(ctx, b.config, pool); err != nil {
		return err
	}
	// All loads use one traced server, whose key the measured one takes too.
	for _, l := range b.loads {
		if b.sent[l.name], err = capture(a.Handler(), t, b.key, l, b.size); err != nil {
			return err
		}
	}
	return nil
}
