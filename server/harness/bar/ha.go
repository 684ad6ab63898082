package bar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"rail/server/postgres/migrate"
)

// HAOptions sets the number of kills and cuts, and the time limit for an unexpected failure; 0 for no limit.
type HAOptions struct {
	Kills, Cuts int
	Within      time.Duration
	Seed        uint64
	Out         io.Writer
}

// patient is the longest wait of a write for its answer: the leader key's time-to-live is 20 s, and PostgreSQL, its
// standby and the servers add theirs.
const patient = 90 * time.Second

// drill is a run: three nodes, the storm over them, and the stops of writes that each kind of failure has made.
type drill struct {
	*storm

	out   io.Writer
	nodes []*node
	stops map[string][]time.Duration
}

// HA kills the primary of three PostgreSQL under Patroni, and cuts it off, while two servers take writes. Every write
// that was acknowledged must be there afterwards, once; no two primaries may confirm a write at the same time.
func HA(ctx context.Context, o HAOptions) (err error) {
	binary, remove, err := build(ctx, nil)
	if err != nil {
		return err
	}
	defer remove()
	dir, err := temporary()
	if err != nil {
		return err
	}
	// After a failure the logs of Patroni, etcd and PostgreSQL stay.
	defer func() {
		if err == nil {
			err = os.RemoveAll(dir)
			return
		}
		err = fmt.Errorf("%w\nthe nodes' folders are in %s", err, dir)
	}()
	nodes, err := startNodes(ctx, dir)
	defer func() { err = errors.Join(err, stopNodes(nodes)) }()
	if err != nil {
		return err
	}
	dsn, err := haDatabase(ctx, nodes)
	if err != nil {
		return err
	}
	sys, err := newSystemOn(ctx, dsn, binary, o.Seed)
	if err != nil {
		return err
	}
	defer sys.close()
	r := sys.stage(ctx, stage{"ha", "high availability", func(ctx context.Context, sys *system, _ Size) (figures, error) {
		return failOver(ctx, sys, filepath.Join(dir, "journals"), nodes, o)
	}}, Size{})
	fmt.Fprintln(o.Out, r)
	return r.err
}

// haDatabase makes the database on whichever node is the primary, and returns the DSN that servers get.
func haDatabase(ctx context.Context, nodes []*node) (string, error) {
	conn, err := pgx.Connect(ctx, haDSN(nodes, "postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is lost
	if _, err := conn.Exec(ctx, "CREATE DATABASE rail"); err != nil {
		return "", err
	}
	dsn := haDSN(nodes, "rail")
	// The standbys have to know of it, too: a host where there is no such database ends the search for the primary.
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		one, err := pgx.Connect(ctx, dsn)
		if err == nil {
			return dsn, errors.Join(one.Close(ctx), migrate.Up(ctx, dsn))
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return "", err
		}
	}
}

// failOver runs the load during the failures, and compares the acknowledged writes with the database.
func failOver(ctx context.Context, sys *system, dir string, nodes []*node, o HAOptions) (f figures, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	organization, err := sys.org(ctx, "Failures")
	if err != nil {
		return nil, err
	}
	d := &drill{
		storm: &storm{sys: sys, o: organization, dir: dir, patience: patient},
		out:   o.Out, nodes: nodes, stops: map[string][]time.Duration{},
	}
	if err := d.prepare(ctx); err != nil {
		return nil, err
	}
	if err := d.rage(ctx, o); err != nil {
		return nil, err
	}
	if err := d.verify(ctx, &f); err != nil {
		return f, err
	}
	d.figures(&f)
	return f, d.delivered(ctx, &f)
}

// rage runs the clients during the failures; they finish their last writes afterwards.
func (d *drill) rage(ctx context.Context, o HAOptions) error {
	d.sys.unavailable.Store(true)
	defer d.sys.unavailable.Store(false)
	g, run := errgroup.WithContext(ctx)
	for i := range d.journals {
		g.Go(func() error { return d.client(run, i) })
	}
	err := d.failures(run, o)
	d.quiet.Store(true)
	return errors.Join(err, g.Wait())
}

// failures goes through the cuts, and then through the kinds of kills in turn.
func (d *drill) failures(ctx context.Context, o HAOptions) error {
	all := slices.Repeat([]failure{cut}, o.Cuts)
	for n := range o.Kills {
		all = append(all, kills[n%len(kills)])
	}
	began := time.Now()
	for n, what := range all {
		if o.Within > 0 && time.Since(began) > o.Within {
			break
		}
		if err := d.fail(ctx, n+1, what); err != nil {
			return err
		}
	}
	return nil
}

// failure is one kind of failure of a node, and how it ends.
type failure struct {
	name        string
	begin, heal func(*node) error
}

// kills are the kinds of kills: PostgreSQL, which Patroni notices; Patroni, whose PostgreSQL runs on as the primary;
// and all processes of the machine.
var kills = []failure{
	{"PostgreSQL killed", (*node).killPostgres, func(*node) error { return nil }},
	{"Patroni killed", (*node).killPatroni, (*node).startPatroni},
	{"machine killed", (*node).killAll, (*node).startAll},
}

// cut takes the primary off the network, with all that runs on it.
var cut = failure{"network cut", (*node).unplug, (*node).plug}

// fail has the primary fail, waits for the next one, looks for two of them, heals the first and waits until it follows.
func (d *drill) fail(ctx context.Context, n int, what failure) error {
	primary, err := healthy(ctx, d.nodes)
	if err != nil {
		return err
	}
	if err := pause(ctx, 2*time.Second); err != nil { // some load between two failures
		return err
	}
	d.mu.Lock()
	d.stop = 0
	d.mu.Unlock()
	began := time.Now()
	if err := what.begin(primary); err != nil {
		return err
	}
	d.storm.crashes++
	next, err := elected(ctx, d.nodes, primary)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", what.name, primary.name, err)
	}
	took := time.Since(began)
	if primary.confirms(ctx) {
		d.sys.fault("two primaries: %s confirms a write after %s was elected", primary.name, next.name)
	}
	if err := what.heal(primary); err != nil {
		return err
	}
	if _, err := healthy(ctx, d.nodes); err != nil {
		return fmt.Errorf("after %s of %s: %w", what.name, primary.name, err)
	}
	d.mu.Lock()
	stop := d.stop
	d.mu.Unlock()
	d.stops[what.name] = append(d.stops[what.name], stop)
	fmt.Fprintf(d.out, "%s %d: %s, then %s after %.1f s; writes stopped for %.1f s\n", what.name, n, primary.name, next.name,
		took.Seconds(), stop.Seconds())
	return nil
}

// figures adds the stops of writes.
func (d *drill) figures(f *figures) {
	for _, what := range append(slices.Clone(kills), cut) {
		stops := slices.Sorted(slices.Values(d.stops[what.name]))
		if n := len(stops); n > 0 {
			f.add(fmt.Sprintf("× %s (writes stopped for %.1f s in the middle, %.1f s at most)", what.name, stops[n/2].Seconds(),
				stops[n-1].Seconds()), n)
		}
	}
}
