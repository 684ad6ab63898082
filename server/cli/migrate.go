package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/pflag"

	"rail/server/auth/keyring"
	"rail/server/postgres/migrate"
)

// onDSN runs work on the configured database whatever its version, past any pooler, since migrations need a
// session.
func onDSN(ctx context.Context, env *Env, work func(dsn string) error) error {
	cfg, err := opening{}.configure(env)
	if err != nil {
		return err
	}
	at, err := locate(ctx, cfg, nil)
	if err != nil {
		return err
	}
	return errors.Join(work(at.direct), at.close())
}

// migrateUp creates or upgrades the tables. Unlike serve without --migrate, it also upgrades an external
// database. It succeeds even if the database has no key fingerprint yet; starting a server reports that.
func migrateUp(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, _ []string) error {
		admit := func(ctx context.Context, pool *pgxpool.Pool, g keyring.SecretKey) error {
			err := keyring.Admit(ctx, pool, g)
			if errors.Is(err, keyring.ErrUnproven) {
				fmt.Fprintf(env.Err, "The tables are ready. Before a server starts: %s\n", err)
				return nil
			}
			return err
		}
		return opening{fill: true, up: true, admit: admit}.with(ctx, env, func(d *database) error {
			return printVersion(ctx, env, d.direct)
		})
	}
}

// migrateDown reverts migrations, and only with --yes: their tables are dropped with their data. The previous
// binary can then run on the database.
func migrateDown(fs *pflag.FlagSet) action {
	steps := fs.Int("steps", 1, "`N` migrations to revert")
	yes := toggle(fs, "yes", "confirm that the data of these migrations is lost")
	return func(ctx context.Context, env *Env, _ []string) error {
		if !*yes {
			return usagef("this drops tables with their data; add --yes to confirm")
		}
		return onDSN(ctx, env, func(dsn string) error {
			if err := migrate.Down(ctx, dsn, *steps); err != nil {
				return err
			}
			return printVersion(ctx, env, dsn)
		})
	}
}

// migrateVersion prints the version without changing anything, even of a database that no other command would
// open.
func migrateVersion(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, _ []string) error {
		return onDSN(ctx, env, func(dsn string) error { return printVersion(ctx, env, dsn) })
	}
}

// schemaVersion is the JSON of a database's version. Version 0 is a database without tables; dirty means that a
// migration failed halfway.
type schemaVersion struct {
	Version uint `json:"version"`
	Latest  uint `json:"latest"`
	Dirty   bool `json:"dirty"`
}

// printVersion prints the version of a database beside this binary's.
func printVersion(ctx context.Context, env *Env, dsn string) error {
	at, dirty, err := migrate.Version(ctx, dsn)
	if err != nil {
		return err
	}
	latest, err := migrate.Latest()
	if err != nil {
		return err
	}
	if env.log != nil && !env.json {
		env.log.Info("the schema of the database", "version", at, "latest", latest)
		return nil
	}
	return env.print(schemaVersion{at, latest, dirty}, func() []string {
		line := fmt.Sprintf("schema version %d of %d", at, latest)
		if dirty {
			line += ", halfway through a migration that failed"
		}
		return []string{line}
	})
}
