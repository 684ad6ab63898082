package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"

	"rail/server/http/middleware"
)

// Serve answers on l, and runs the jobs, until ctx ends. Then it stops accepting, lets running requests finish
// within the configured time, ends the jobs, and returns nil if nothing failed.
func (a *App) Serve(ctx context.Context, l net.Listener) error {
	servers, err := a.listen(l)
	if err != nil {
		return err
	}
	// Jobs continue while requests finish, so they do not end with ctx.
	jobsCtx, endJobs := context.WithCancel(context.WithoutCancel(ctx))
	var jobsDone sync.WaitGroup
	for _, j := range a.jobs {
		if j.First {
			a.runner.Round(jobsCtx, j)
		}
		jobsDone.Go(func() { a.runner.Loop(jobsCtx, j) })
	}
	jobsDone.Go(func() { a.sender.Run(jobsCtx) })
	jobsDone.Go(func() { a.Follow(jobsCtx) })
	if a.tls != nil {
		go a.tls.watch(jobsCtx) // not waited for: the authority may be slow
	}
	// Room for all, so that no server blocks after the reader has returned.
	failed := make(chan error, len(servers))
	for _, s := range servers {
		go func() { failed <- s.serve() }()
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	for _, s := range servers {
		err = errors.Join(err, a.stop(s))
	}
	endJobs()
	jobsDone.Wait()
	return err
}

// bound is a server with its listener.
type bound struct {
	*http.Server
	listener net.Listener
}

// serve answers until the server is stopped.
func (b bound) serve() error {
	if b.TLSConfig != nil {
		return b.ServeTLS(b.listener, "", "")
	}
	return b.Serve(b.listener)
}

// listen returns the server of the API and, if configured, those of the console, the metrics and plain http.
func (a *App) listen(l net.Listener) ([]bound, error) {
	servers := []bound{{a.server(a.Handler()), l}}
	if a.tls != nil {
		servers[0].TLSConfig, servers[0].Handler = a.tls.config(), a.strict(a.Handler())
	}
	for _, more := range []struct {
		variable, address string
		handler           http.Handler
	}{
		{"RAIL_CONSOLE_ADDR", a.config.ConsoleAddr, a.consoleHandler()},
		{"RAIL_METRICS_ADDR", a.config.MetricsAddr, a.metricsHandler()},
		{"RAIL_TLS_HTTP_ADDR", a.config.RedirectAddr, http.HandlerFunc(a.redirect)},
	} {
		if more.address == "" {
			continue
		}
		l, err := Listen(more.variable, more.address)
		if err != nil {
			return nil, err
		}
		servers = append(servers, bound{a.server(more.handler), l})
	}
	return servers, nil
}

// consoleHandler serves the console and its assets, if it has a separate address.
func (a *App) consoleHandler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/console", "/console/", "/assets/", "/favicon.ico", "/healthz", "/readyz"} {
		mux.Handle(path, a.handler)
	}
	mux.Handle("/{$}", http.RedirectHandler("/console", http.StatusFound))
	return mux
}

// withoutConsole serves everything else.
func withoutConsole(all http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path+"/", "/console/") {
			http.NotFound(w, r)
			return
		}
		all.ServeHTTP(w, r)
	})
}

// ErrInUse means that another program listens on an address.
var ErrInUse = errors.New("is in use")

// Listen listens on a variable's address. The error explains what to do.
func Listen(variable, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s %w: is Rail already running there? Set %s to another address", address, ErrInUse, variable)
	}
	// The cause alone, since the error of package net repeats the address.
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen on %s: %w", variable, address, errors.Unwrap(err))
	}
	return l, nil
}

// server returns an HTTP server with the limits of the request path, and a separate limit on connections.
// Clients' protocol errors are logged at debug level only.
func (a *App) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ConnState:         newConnections(maxConnections, maxOfAddress, a.config.TrustedProxies, a.log).follow,
		ReadHeaderTimeout: middleware.ReadHeaderTimeout,
		ReadTimeout:       middleware.ReadTimeout,
		WriteTimeout:      middleware.WriteTimeout,
		IdleTimeout:       middleware.IdleTimeout,
		MaxHeaderBytes:    middleware.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
}

// stop lets running requests finish; after the time-out their connections are closed.
func (a *App) stop(s bound) error {
	ctx, cancel := context.WithTimeout(context.Background(), a.config.ShutdownTimeout)
	defer cancel()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(fmt.Errorf("requests were still running after %s", a.config.ShutdownTimeout), s.Close())
	}
	return err
}
