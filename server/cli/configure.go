package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"rail/server/app"
	"rail/server/app/config"
	"rail/server/postgres/embedded"
	"rail/server/postgres/migrate"
)

// configShow prints the effective settings with their sources, even of an invalid configuration, whose mistakes
// it reports.
func configShow(*pflag.FlagSet) action {
	return func(_ context.Context, env *Env, _ []string) error {
		cfg, wrong := config.Read(env.Environ)
		if wrong == nil && !cfg.Fresh() {
			wrong = cfg.LoadKey()
		}
		settings := cfg.Settings()
		err := env.print(settings, func() []string {
			rows := []string{"VARIABLE\tVALUE\tFROM"}
			for _, s := range settings {
				rows = append(rows, s.Variable+"\t"+s.Value+"\t"+s.From)
			}
			return rows
		})
		return errors.Join(err, wrong)
	}
}

// configInit writes a file of all variables with their descriptions, as a starting point. It does not overwrite
// a file.
func configInit(*pflag.FlagSet) action {
	return func(_ context.Context, env *Env, args []string) error {
		f, err := os.OpenFile(args[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(config.Example())
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		return env.print(map[string]string{"file": args[0]}, line("%s has every variable, commented out", args[0]))
	}
}

// configCheck reads the configuration as serve does, creates nothing, and reports all mistakes.
func configCheck(fs *pflag.FlagSet) action {
	connect := toggle(fs, "connect", "also open the database and check its tables and its secret key")
	return func(ctx context.Context, env *Env, _ []string) error {
		cfg, err := config.Read(env.Environ)
		if err != nil {
			return err
		}
		c := findings{notes: cfg.Warnings}
		c.key(cfg)
		c.programs(cfg)
		c.addresses(cfg)
		if *connect && c.wrong == nil {
			c.database(ctx, env, cfg)
		}
		if c.wrong != nil {
			return c.wrong
		}
		return env.print(map[string]any{"status": "ok", "notes": append([]string{}, c.notes...)},
			line("%s", strings.Join(append(c.notes, "The configuration is in order."), "\n")))
	}
}

// findings are the results of a configuration check: errors that keep a server from starting, and warnings.
type findings struct {
	wrong error
	notes []string
}

func (c *findings) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// key checks the secret key, which serve creates together with the database.
func (c *findings) key(cfg config.Config) {
	if cfg.Fresh() {
		c.note("There is no database in %s yet: rail serve creates it, with its secret key.", cfg.DataDir)
		return
	}
	c.wrong = errors.Join(c.wrong, cfg.LoadKey())
}

// programs checks for PostgreSQL's programs, in the version of the private database, and for free disk space.
func (c *findings) programs(cfg config.Config) {
	if cfg.DatabaseURL != "" {
		return
	}
	_, err := embedded.Programs(private(cfg, nil))
	c.wrong = errors.Join(c.wrong, err, app.Room(cfg))
}

// addresses tries to listen. An address in use may belong to a running server with this configuration.
func (c *findings) addresses(cfg config.Config) {
	for variable, address := range listening(cfg) {
		err := tryAddress(variable, address)
		if errors.Is(err, app.ErrInUse) {
			c.note("%s: %s is in use, as it is while Rail runs.", variable, address)
			continue
		}
		c.wrong = errors.Join(c.wrong, err)
	}
}

// database opens the database without migrating it.
func (c *findings) database(ctx context.Context, env *Env, cfg config.Config) {
	if cfg.DatabaseURL == "" && !embedded.Exists(cfg.DataDir) {
		return // key has reported that
	}
	err := opening{neverMigrate: true}.with(ctx, env, func(*database) error { return nil })
	if cfg.DatabaseURL == "" && errors.Is(err, migrate.ErrOlder) {
		c.note("The database is from an older release: rail serve upgrades it.")
		return
	}
	c.wrong = err
}
