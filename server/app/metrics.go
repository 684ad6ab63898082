package app

import (
	"net/http"
	"runtime"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rail/server/postgres/pgtx"
	"rail/server/postgres/standby"
)

// registry returns the metrics of the process and its connection pool.
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

// watched adds the state of each standby.
func watched(r prometheus.Registerer, standbys *standby.Set) {
	for _, s := range standbys.All() {
		gauge := func(name, help string, value func() float64) {
			r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: name, Help: help, ConstLabels: prometheus.Labels{"standby": s.Name},
			}, value))
		}
		gauge("rail_standby_up", "1 while the standby serves reads.", func() float64 {
			if s.Up() {
				return 1
			}
			return 0
		})
		gauge("rail_standby_lag_seconds", "Upper bound of the standby's lag behind the primary, when it was last measured.",
			func() float64 { return s.Lag().Seconds() })
	}
}

// BuiltAs adds a metric with the binary's version.
func (a *App) BuiltAs(version string) {
	a.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "rail_build_info", Help: "1, with the version of the binary and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	}, func() float64 { return 1 }))
}

// sharing collects the metrics of batched work of one kind.
type sharing struct {
	kind string
	read func() pgtx.Shared
}

// The descriptions of its metrics.
var (
	trips = prometheus.NewDesc("rail_shared_trips_total",
		"Batches: transactions and reads shared by requests.", []string{"kind"}, nil)
	riders  = prometheus.NewDesc("rail_shared_riders_total", "Requests in batches.", []string{"kind"}, nil)
	retried = prometheus.NewDesc("rail_shared_again_total",
		"Requests in batches that were retried alone.", []string{"kind"}, nil)
)

// Describe sends nothing, since each kind repeats the same names.
func (sharing) Describe(chan<- *prometheus.Desc) {}

// Collect sends the present counts.
func (s sharing) Collect(out chan<- prometheus.Metric) {
	n := s.read()
	for desc, value := range map[*prometheus.Desc]uint64{trips: n.Trips, riders: n.Riders, retried: n.Again} {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value), s.kind)
	}
}

// metricsHandler serves the metrics on a separate address, since they are not public.
func (a *App) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{}))
	return mux
}
