package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"rail/server/app"
	"rail/server/app/config"
	"rail/server/money/ledger"
)

// serve runs the server until its context ends. It creates or joins the private database if no other is
// configured; an external one is migrated only with --migrate.
func serve(fs *pflag.FlagSet) action {
	up := toggle(fs, "migrate", "first migrate the database to this binary's schema")
	first := toggle(fs, "first-run",
		"if there is no organization, create one with a key and the sample program; show what to try "+
			"and how to call the API; write mails into RAIL_DATA_DIR unless RAIL_SMTP_URL is set")
	return func(ctx context.Context, env *Env, _ []string) error {
		logf := env.say
		app.EaseGC(ctx)
		err := opening{fresh: true, fill: true, up: *up, watch: true, logf: logf, before: prepare}.with(ctx, env,
			func(d *database) error {
				// Listening precedes the slow steps below: the address is known, and a second server fails here.
				l, err := app.Listen("RAIL_ADDR", d.config.Addr)
				if err != nil {
					return err
				}
				defer l.Close() //nolint:errcheck // Serve has closed it, or nothing was served
				d.config.BaseURL = reachable(d.config, l)
				moved, err := d.takeClock(ctx, env)
				if err != nil {
					return err
				}
				if moved != nil {
					defer moved.Close(ctx) //nolint:errcheck // the lock goes with the connection
				}
				if *first {
					d.config.SMTPURL = cmp.Or(d.config.SMTPURL, mailFolder(d))
				}
				// Before balances are read: entries folded by another cluster, as before a restore, are folded again.
				if err := ledger.Unfold(ctx, d.pool); err != nil {
					return err
				}
				a, err := app.New(d.config, d.pool, env.Clock, logger(env.Err, d.config), env.Rails...)
				if err != nil {
					return err
				}
				a.BuiltAs(build())
				a.Test(moved)
				a.Trace(d.tracer)
				defer d.endTraces(ctx)
				// Restarts the private database if it died.
				if d.private() {
					go d.server.Keep(ctx)
				}
				if d.config.ArchiveDir != "" {
					go d.keepArchive(ctx, env)
				}
				if *first {
					err = firstRun(ctx, env, d)
				} else {
					err = greet(ctx, env, d)
				}
				if err != nil {
					return err
				}
				d.warn(logf)
				return a.Serve(ctx, l)
			})
		return orRunning(ctx, env, err)
	}
}

// warn prints the configuration's warnings.
func (d *database) warn(logf func(string, ...any)) {
	for _, w := range d.config.Warnings {
		logf("warning: %s", w)
	}
	if os.Geteuid() == 0 {
		logf("warning: the server runs as root: use a separate user account")
	}
}

// orRunning names the server that uses the address, if it is Rail.
func orRunning(ctx context.Context, env *Env, err error) error {
	if !errors.Is(err, app.ErrInUse) {
		return err
	}
	at, name, unknown := ownServer(env)
	if unknown != nil || probe(ctx, at+"/healthz", name) != nil {
		return err
	}
	return fmt.Errorf("Rail is already running: open %s, or set RAIL_ADDR to another address", at) //nolint:staticcheck // a name
}

// listening returns the addresses of a server by their variables, in a fixed order.
func listening(cfg config.Config) iter.Seq2[string, string] {
	return func(yield func(variable, address string) bool) {
		for _, at := range [][2]string{
			{"RAIL_ADDR", cfg.Addr}, {"RAIL_CONSOLE_ADDR", cfg.ConsoleAddr}, {"RAIL_METRICS_ADDR", cfg.MetricsAddr},
			{"RAIL_TLS_HTTP_ADDR", cfg.RedirectAddr},
		} {
			if at[1] != "" && !yield(at[0], at[1]) {
				return
			}
		}
	}
}

// prepare fails if another program listens, or the disk is full, before a database is started. The description is
// read meanwhile.
func prepare(cfg config.Config) error {
	app.ReadDescription(cfg)
	if err := app.Room(cfg); err != nil {
		return err
	}
	for variable, address := range listening(cfg) {
		if err := tryAddress(variable, address); err != nil {
			return err
		}
	}
	return nil
}

// tryAddress listens and closes again: until there is a database, callers should be refused rather than kept
// waiting.
func tryAddress(variable, address string) error {
	l, err := app.Listen(variable, address)
	if err != nil {
		return err
	}
	return l.Close()
}

// mailFolder returns the folder for a first run's mails unless RAIL_SMTP_URL is set: the data directory, or ""
// without a private database.
func mailFolder(d *database) string {
	if !d.private() {
		return ""
	}
	return "dir:" + filepath.Join(d.config.DataDir, "mail")
}

// serveHelp lists the environment's variables.
func serveHelp() string { return "Environment:\n" + config.Usage() }

// reachable returns the service's address for links and messages. If it follows from RAIL_ADDR, it is the
// listener's: with the port that the system chose, and a host that can be called.
func reachable(cfg config.Config, l net.Listener) string {
	if cfg.BaseURL != "http://"+cfg.Addr {
		return cfg.BaseURL
	}
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return cfg.BaseURL
	}
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return cfg.BaseURL
	}
	if at.IP.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// logger returns the configured logger.
func logger(w io.Writer, cfg config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil { // the configuration was checked
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		o.ReplaceAttr = milliseconds
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
