// Package bench is a load test. It measures the server over HTTP beside pgbench running the
// same statements on the same data, in turn.
//
// pgbench is the limit of one transaction per request: the database without a server in front. The ratio of the two
// shows the cost of the server and the gain of sharing transactions. It is comparable between machines, unlike
// requests a second. The same holds for the ratio of processor time. Everything runs on one machine: a private
// PostgreSQL, the server in this process and the load generator in another. A run also measures the binary as
// operators run it (footprint), and the sender of webhooks. It is saved, compared with the previous one, and checked
// against the goals.
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

	"rail/server/app/config"
)

// Options selects the measurements. Seconds is the length of one slice, Rounds the number of slices per load; Clients
// are connections that send one request after the other.
type Options struct {
	Rows, Seconds, Rounds int
	Clients               []int     // each load runs with each number of them
	Only                  []string  // names of loads; all when empty
	Jobs                  bool      // run the server's background jobs meanwhile
	Session               string    // a setting to change, name=value; "" for none
	Profiles              string    // directory for CPU profiles and scripts; "" for none
	Base, Save            string    // files of the run to compare with and of this one; "" for the last run's
	Goals                 bool      // a goal that is missed is an error
	Out                   io.Writer // gets the table
}

// bench is a load test that is set up.
type bench struct {
	Options
	size          size
	loads         []load
	db            *Private
	config        config.Config
	server, floor *server
	key           string
	meter         meter
	pgbench       pgbench
	sent          map[string]captured
}

// org is the organization of the data.
const org = "org_bench"

// check refuses what cannot be measured.
func (o Options) check() error {
	if o.Rows < partners || o.Seconds < 1 || o.Rounds < 1 || len(o.Clients) == 0 {
		return fmt.Errorf("-rows must be at least %d, -seconds and -rounds at least 1, -clients one number or more", partners)
	}
	if slices.Min(o.Clients) < 1 || slices.Max(o.Clients) > maxClients {
		return fmt.Errorf("-clients must be from 1 to %d", maxClients)
	}
	return nil
}

// Run sets everything up, measures, prints tables and saves the figures. It returns an error for what
// could not be measured, and for a figure that misses its goal only if that was asked for:
// figures are for people to read.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	now := run{At: time.Now().UTC(), Load: loadAverages(), Rows: o.Rows}
	base, err := baseRun(o.Base)
	if err != nil {
		return err
	}
	b := &bench{Options: o, size: newSize(o.Rows), sent: map[string]captured{}}
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
	defer func() { err = errors.Join(err, b.floor.stop(), b.server.stop()) }()
	missed, err := b.stages(ctx, &now, base)
	if err != nil {
		fmt.Fprintf(o.Out, "\nthe end of the database's log:\n%s\n", b.db.logEnd())
		return err
	}
	if err := now.save(o.Save); err != nil || missed == 0 || !o.Goals {
		return err
	}
	return fmt.Errorf("%d goals are missed", missed)
}

// stages runs the stages that were asked for, and returns how many goals they miss. Pages come first: the loads write
// more sales of today to one program than it has in a year, and reports read the rows of today.
func (b *bench) stages(ctx context.Context, now *run, base run) (missed int, err error) {
	if b.wants("pages") {
		if now.Pages, missed, err = b.pages(ctx); err != nil {
			return missed, err
		}
	}
	if err := b.all(ctx, now, base); err != nil {
		return missed, err
	}
	missed += b.judge(*now)
	if b.wants("origins") {
		dear, err := b.origins(ctx)
		if err != nil {
			return missed, err
		}
		missed += dear
	}
	return missed, nil
}

// all measures and prints the loads, memory, events and webhooks.
func (b *bench) all(ctx context.Context, now *run, base run) (err error) {
	if now.Figures, err = b.measure(ctx); err != nil {
		return err
	}
	b.table(*now, base)
	if b.wants("footprint") {
		if now.Footprint, err = b.footprint(ctx); err != nil {
			return err
		}
	}
	if b.wants("events") {
		if now.Events, err = b.events(ctx, base); err != nil {
			return err
		}
	}
	if b.wants("webhooks") {
		now.Deliveries, now.Delay, err = b.webhooks(ctx, base)
	}
	return err
}

// others are the further names of -only.
var others = []string{"footprint", "events", "webhooks", "origins", "pages"}

// wants reports whether a load is to be measured.
func (b *bench) wants(name string) bool { return len(b.Only) == 0 || slices.Contains(b.Only, name) }

// chosen returns the loads with these names, or all of them.
func chosen(names []string) ([]load, error) {
	if len(names) == 0 {
		return loads, nil
	}
	var out []load
	for _, name := range names {
		if slices.Contains(others, name) {
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
	if b.config, err = config.Load(map[string]string{
		"RAIL_DATA_DIR": filepath.Join(b.db.dir, "rail"), "RAIL_ADDRESS_RATE_LIMIT": addressLimit,
	}); err != nil {
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
	if b.floor, err = serveFloor(ctx, b.server.pool); err != nil {
		return err
	}
	b.meter = newMeter(filepath.Join(b.db.dir, "pg"), b.server.pool)
	settings := b.server.pool.Config().ConnConfig.RuntimeParams
	b.pgbench, err = newPgbench(b.db.server.DSN("bench"), dir, settings, b.Seconds, b.meter)
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
