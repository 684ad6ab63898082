package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"

	"rail/server/app"
	"rail/server/config"
	"rail/server/ledger"
)

func serve(fs *flag.FlagSet) action {
	up := fs.Bool("migrate", false, "first bring the database to this binary's schema")
	first := fs.Bool("first-run", false, "while there is no organization, make one with a key and the sample program; show how to call the API")
	return func(ctx context.Context, env *Env, _ []string) error {
		logf := func(format string, args ...any) { fmt.Fprintf(env.Err, format+"\n", args...) }
		return opening{fresh: true, fill: true, up: *up, logf: logf}.with(ctx, env, func(d *database) error {
			l, err := net.Listen("tcp", d.config.Addr)
			if err != nil {
				return err
			}
			defer l.Close() //nolint:errcheck // Serve has closed it, or nothing was served
			d.config.BaseURL = reachable(d.config, l)
			if err := ledger.Unfold(ctx, d.pool); err != nil {
				return err
			}
			app.EaseGC(ctx)
			a, err := app.New(ctx, d.config, d.pool, env.Clock, logger(env.Err, d.config), env.Rails...)
			if err != nil {
				return err
			}
			if d.private() {
				go d.server.Keep(ctx)
			}
			if *first {
				err = firstRun(ctx, env, d)
			} else {
				err = greet(env.Out, d.config.BaseURL)
			}
			if err != nil {
				return err
			}
			return a.Serve(ctx, l)
		})
	}
}

func serveHelp() string { return "Environment:\n" + config.Usage() }

// reachable returns the service's address. Where it follows from RAIL_ADDR, it
// is that of the listener, with a port that the system chose and a host that
// can be called.
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

func logger(w io.Writer, cfg config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil { // the configuration was checked
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
