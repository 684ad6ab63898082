package bench

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/app"
	"rail/server/app/config"
	"rail/server/auth/keyring"
	"rail/server/clock"
	"rail/server/harness/dataset"
	"rail/server/http/middleware"
	"rail/server/ident"
	"rail/server/postgres"
	"rail/server/secret"
)

// server is the real server in this process, on a loopback listener. stop ends it and closes the pool.
type server struct {
	addr string
	pool *pgxpool.Pool
	stop func() error
}

// newApp wires the server over a pool, which may be traced. It formats a log line for
// each request, as in production, and discards it.
func newApp(ctx context.Context, cfg config.Config, dsn string, t pgx.QueryTracer) (*app.App, *pgxpool.Pool, error) {
	pool, err := postgres.Open(ctx, dsn, postgres.Options{MaxConns: cfg.DBMaxConns, Tracer: t, Check: true})
	if err != nil {
		return nil, nil, err
	}
	// A real file, so that each line costs a system call.
	sink, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	a, err := app.New(cfg, pool, clock.System{}, slog.New(slog.NewTextHandler(sink, nil)))
	return a, pool, err
}

// serve starts the server. Without jobs it is just the handler, with the time limits of the real one:
// a job in the middle of a run would make the rounds differ.
func serve(ctx context.Context, cfg config.Config, dsn string, jobs bool) (*server, error) {
	a, pool, err := newApp(ctx, cfg, dsn, nil)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	// As the binary does: the collector is a part of the cost.
	app.EaseGC(ctx)
	ended := make(chan error, 1)
	web := &http.Server{
		Handler: a.Handler(), ReadHeaderTimeout: middleware.ReadHeaderTimeout, ReadTimeout: middleware.ReadTimeout,
		WriteTimeout: middleware.WriteTimeout, IdleTimeout: middleware.IdleTimeout, MaxHeaderBytes: middleware.MaxHeaderBytes,
	}
	go func() {
		if jobs {
			ended <- a.Serve(ctx, l)
		} else {
			ended <- web.Serve(l)
		}
	}()
	return &server{l.Addr().String(), pool, func() error {
		cancel()
		err := web.Close()
		// Only now has the server let go of the pool.
		if last := <-ended; !errors.Is(last, http.ErrServerClosed) {
			err = errors.Join(err, last)
		}
		pool.Close()
		return err
	}}, nil
}

// addressLimit lets all browsers of a run come from one address.
const addressLimit = "1000000"

// newKey adds a publishable key for each program, and an API key above any rate limit of a run and returns its token. It records
// the secret key of its hash in the database, since the binary checks that.
func newKey(ctx context.Context, cfg config.Config, pool *pgxpool.Pool) (string, error) {
	keeper, err := secret.New(cfg.SecretKey)
	if err != nil {
		return "", err
	}
	now := clock.System{}.Now()
	if err := keyring.Adopt(ctx, pool, keyring.SecretKey{Keeper: keeper, Now: now}); err != nil {
		return "", err
	}
	for program := int64(programBase); program < programBase+programs; program++ {
		err := db.New().PublishableKeyInsert(ctx, pool, db.PublishableKeyInsertParams{
			ID: ident.New(ident.Publishable), OrgID: org, ProgramID: id("prg", program), Key: publishable(program),
			AllowedHosts: []string{"shop.example"}, URLParams: []string{"ref"}, CreatedAt: now,
		})
		if err != nil {
			return "", err
		}
	}
	return dataset.Key{Org: org, Live: true, Limit: dataset.NoLimit, Scopes: []string{"read", "write"}}.Insert(ctx, pool,
		keeper, now)
}
