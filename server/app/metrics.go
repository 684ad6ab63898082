package app

import (
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// registry returns the metrics of the process and of its pool of connections.
func registry(pool *pgxpool.Pool) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge := func(name, help string, value func(*pgxpool.Stat) float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return value(pool.Stat()) }))
	}
	gauge("rail_db_connections", "Open database connections.",
		func(s *pgxpool.Stat) float64 { return float64(s.TotalConns()) })
	gauge("rail_db_connections_busy", "Database connections in use.",
		func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) })
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "rail_db_wait_seconds_total", Help: "Time spent waiting for a free database connection.",
	}, func() float64 { return pool.Stat().EmptyAcquireWaitTime().Seconds() }))
	return r
}

// metricsHandler serves the metrics on an address of their own, since they are
// not for the public.
func (a *App) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{}))
	return mux
}
