package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"rail/server/postgres"
	"rail/server/postgres/migrate"
)

// maxUpgrades is the number of schemas of which the newest pre-upgrade backup is kept. An upgrade that fails halfway
// makes another backup at each start, which the previous release cannot read.
const maxUpgrades = 3

// raise migrates a database to this binary's version if o allows it, and refuses it otherwise: the operator
// decides on upgrading an external database.
func (d *database) raise(ctx context.Context, env *Env, o opening) error {
	at, refused, err := d.version(ctx)
	if err != nil {
		return err
	}
	empty, older := errors.Is(refused, migrate.ErrEmpty), errors.Is(refused, migrate.ErrOlder)
	switch {
	case older && o.asIs:
		return nil
	case empty && o.fill:
		return d.migrate(ctx, env)
	case older && !o.neverMigrate && (d.private() || o.up):
		return d.upgrade(ctx, env, at, o.reporter(env))
	case empty:
		return fmt.Errorf("%w: run rail serve or rail migrate up to create them", refused)
	case older:
		return fmt.Errorf("%w: run rail migrate up", refused)
	case errors.Is(refused, migrate.ErrNewer):
		return fmt.Errorf("%w. Start the newer release, or restore a backup from before the upgrade%s", refused, d.lastUpgrade())
	case refused == nil && o.watch:
		return o.warnAhead(env, at)
	}
	return refused
}

// version returns the version of the database, and why it does not serve this binary; refused is nil if it does.
func (d *database) version(ctx context.Context) (at uint, refused, err error) {
	conn, err := pgx.Connect(ctx, d.direct)
	if err != nil {
		return 0, nil, fmt.Errorf("database: %w", err)
	}
	refused = migrate.Serves(ctx, conn)
	at, _, err = migrate.At(ctx, conn)
	return at, refused, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

// reporter returns a reporter of slow steps.
func (o opening) reporter(env *Env) func(string, ...any) {
	if o.logf != nil {
		return o.logf
	}
	return env.say
}

// warnAhead warns that a newer release has upgraded the database, which this binary can still serve.
func (o opening) warnAhead(env *Env, at uint) error {
	latest, err := migrate.Latest()
	if err == nil && at > latest {
		o.reporter(env)("warning: the database is at schema %d, and this binary has %d: it can serve it, but start the newer release soon",
			at, latest)
	}
	return err
}

// upgrade migrates an older database to this binary's version. It first makes a backup of a private one, since
// the upgrade is automatic and the previous release cannot read a newer one.
func (d *database) upgrade(ctx context.Context, env *Env, from uint, say func(string, ...any)) error {
	latest, err := migrate.Latest()
	if err != nil {
		return err
	}
	n, err := migrate.Schema().Missing(from)
	if err != nil {
		return err
	}
	say("Upgrading the database: schema %d → %d, %s", from, latest, counted(n, "migration"))
	if d.private() && d.config.UpgradeBackup {
		path, err := d.backedUp(ctx, env, from)
		if err != nil {
			return fmt.Errorf("the backup before the upgrade failed, so nothing was upgraded: %w; free some space, "+
				"or set RAIL_UPGRADE_BACKUP=off", err)
		}
		say("A backup from before the upgrade is in %s", path)
	}
	if err := d.migrate(ctx, env); err != nil {
		return err
	}
	say("The database is at schema %d", latest)
	return nil
}

// migrate applies the missing migrations. An error includes the resulting version.
func (d *database) migrate(ctx context.Context, env *Env) error {
	tell := func(version int) { env.progress.say("migrating the database to schema version %d", version) }
	failed := migrate.Schema().Telling(tell).Up(ctx, d.direct)
	if failed == nil {
		return nil
	}
	at, _, err := migrate.Version(context.WithoutCancel(ctx), d.direct)
	latest, unread := migrate.Latest()
	if errors.Join(err, unread) != nil {
		return failed
	}
	return fmt.Errorf("%w. The database is at schema %d of %d", failed, at, latest)
}

// upgrades returns the folder of pre-upgrade backups.
func (d *database) upgrades() string { return filepath.Join(d.config.DataDir, "upgrades") }

// backedUp writes a pre-upgrade backup, and deletes the superseded ones. The secret key is not in it: its file
// is beside the database, and an upgrade does not change it.
func (d *database) backedUp(ctx context.Context, env *Env, from uint) (path string, err error) {
	// With the session settings of other commands, and no longer than the backup.
	if d.pool, err = postgres.Open(ctx, d.dsn, postgres.Options{MaxConns: 2}); err != nil {
		return "", err
	}
	defer d.pool.Close()
	m, err := d.manifest(ctx, env)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(d.upgrades(), 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(d.upgrades(), fmt.Sprintf("%s-schema-%d.backup", m.CreatedAt.UTC().Format("20060102T150405.000Z"), from))
	if _, err := d.writeBackup(ctx, env, path, m); err != nil {
		return "", err
	}
	return path, d.pruneUpgrades()
}

// pruneUpgrades deletes all pre-upgrade backups but the newest of each of the last schemas.
func (d *database) pruneUpgrades() error {
	keep := map[uint]bool{}
	for _, path := range slices.Backward(d.madeUpgrades()) {
		if of := schemaOf(path); len(keep) < maxUpgrades && !keep[of] {
			keep[of] = true
		} else if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// schemaOf returns the schema of a pre-upgrade backup, which is in its name.
func schemaOf(path string) (schema uint) {
	_, last, _ := strings.Cut(filepath.Base(path), "-schema-")
	_, _ = fmt.Sscanf(last, "%d", &schema) // 0 for another name
	return schema
}

// madeUpgrades returns the pre-upgrade backups, oldest first.
func (d *database) madeUpgrades() []string {
	backups, _ := filepath.Glob(filepath.Join(d.upgrades(), "*-schema-*.backup")) // the pattern is well-formed
	slices.SortFunc(backups, strings.Compare)
	return backups
}

// lastUpgrade names the last pre-upgrade backup that this binary, which is too old for the database, can read.
func (d *database) lastUpgrade() string {
	latest, err := migrate.Latest()
	for _, path := range slices.Backward(d.madeUpgrades()) {
		if err == nil && d.private() && schemaOf(path) <= latest {
			return ", such as " + path + ", into another folder"
		}
	}
	return ""
}

// upgradeable is the JSON of a check before an upgrade.
type upgradeable struct {
	Schema     uint     `json:"schema"`
	Latest     uint     `json:"latest"`
	Migrations int      `json:"migrations"`
	Floor      uint     `json:"serves_from"` // the oldest schema of servers that can continue afterwards
	Notes      []string `json:"notes"`
	Problems   []string `json:"problems"`
}

// oldTransactions finds transactions that a migration would have to wait for.
const oldTransactions = `SELECT format('session %s (%s) has been in a transaction for %s s: a migration of its tables waits for it',
	a.pid, a.application_name, extract(epoch FROM now() - a.xact_start)::int) FROM pg_stat_activity a
	WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.xact_start < now() - interval '10 seconds'
	ORDER BY a.xact_start LIMIT 5`

// upgradeCheck reports what rail migrate up would do, and changes nothing.
func upgradeCheck(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, _ []string) error {
		var out upgradeable
		err := onDSN(ctx, env, func(dsn string) (err error) {
			out, err = checkUpgrade(ctx, dsn)
			return err
		})
		if err != nil {
			return err
		}
		if err := env.print(out, out.lines); err != nil || len(out.Problems) == 0 {
			return err
		}
		return errFindings
	}
}

// checkUpgrade checks a database of any version.
func checkUpgrade(ctx context.Context, dsn string) (out upgradeable, err error) {
	set := migrate.Schema()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	at, dirty, err := migrate.At(ctx, conn)
	if err != nil {
		return out, err
	}
	out.Schema, out.Notes, out.Problems = at, []string{}, []string{}
	latest, err := set.Latest()
	if out.Latest = latest; err != nil {
		return out, err
	}
	if out.Floor, err = set.Floor(); err != nil {
		return out, err
	}
	if dirty {
		out.Problems = append(out.Problems, fmt.Sprintf("migration %d failed halfway: repair it first", at))
	}
	if at > latest {
		out.Problems = append(out.Problems, "the database is newer than this binary")
		return out, nil
	}
	if at > 0 {
		out.Migrations, err = set.Missing(at)
	}
	if err == nil {
		err = out.addNotes(ctx, conn)
	}
	return out, err
}

// addNotes adds what an operator should know before an upgrade.
func (u *upgradeable) addNotes(ctx context.Context, conn *pgx.Conn) error {
	if u.Schema == 0 {
		u.Notes = append(u.Notes, "the database has no tables yet")
		return nil
	}
	if u.Schema == u.Latest {
		return nil
	}
	if u.Schema < u.Floor {
		u.Notes = append(u.Notes, fmt.Sprintf("servers of schema %d are refused after the upgrade: stop them before it, or expect "+
			"them to answer /readyz with 503", u.Schema))
	} else {
		u.Notes = append(u.Notes, fmt.Sprintf("servers of schema %d can continue", u.Schema))
	}
	rows, err := conn.Query(ctx, oldTransactions)
	if err != nil {
		return err
	}
	old, err := pgx.CollectRows(rows, pgx.RowTo[string])
	u.Notes = append(u.Notes, old...)
	return err
}

// lines returns the check for people.
func (u upgradeable) lines() []string {
	first := fmt.Sprintf("schema %d → %d, %s", u.Schema, u.Latest, counted(u.Migrations, "migration"))
	if u.Schema == u.Latest {
		first = fmt.Sprintf("schema %d: the database is at the version of this binary", u.Schema)
	}
	out := append([]string{first}, u.Notes...)
	for _, p := range u.Problems {
		out = append(out, "blocked by: "+p)
	}
	return out
}
