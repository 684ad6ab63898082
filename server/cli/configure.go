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

// configShow prints what is in force and where it is from, also of a configuration with mistakes, which it says then.
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

// configInit writes a file of all variables with what they mean, to begin with. It replaces none.
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
		return env.print(map[string]string{"file": args[0]}, line("%s has every variable; none is set", args[0]))
	}
}

// configCheck reads the configuration as serve does, makes nothing, and says all that is wrong.
func configCheck(fs *pflag.FlagSet) action {
	connect := toggle(fs, "connect", "open the database too: is it there, with tables for this binary, and is this its key?")
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

// findings are what a look at the configuration found: what keeps a server from starting, and what is only worth
// saying.
type findings struct {
	wrong error
	notes []string
}

func (c *findings) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// key looks for the secret key, which serve makes where it makes the database.
func (c *findings) key(cfg config.Config) {
	if cfg.Fresh() {
		c.note("There is no database in %s yet: rail serve makes it, with its secret key.", cfg.DataDir)
		return
	}
	c.wrong = errors.Join(c.wrong, cfg.LoadKey())
}

// programs looks for PostgreSQL's, of the version that the private database needs, and for room on its disk.
func (c *findings) programs(cfg config.Config) {
	if cfg.DatabaseURL != "" {
		return
	}
	_, err := embedded.Programs(private(cfg, nil))
	c.wrong = errors.Join(c.wrong, err, app.Room(cfg))
}

// addresses tries to listen. Those that are in use may be in use by the server that this configuration is for.
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

// database opens it, and brings it to no other version.
func (c *findings) database(ctx context.Context, env *Env, cfg config.Config) {
	if cfg.DatabaseURL == "" && !embedded.Exists(cfg.DataDir) {
		return // key has said so
	}
	err := opening{look: true}.with(ctx, env, func(*database) error { return nil })
	if cfg.DatabaseURL == "" && errors.Is(err, migrate.ErrOlder) {
		c.note("The database is of an older release: rail serve brings it to this one.")
		return
	}
	c.wrong = err
}
