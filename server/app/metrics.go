package app

import (
	"net/http"
	"runtime"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rail/server/postgres/pgtx/share"
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

// batchMetrics collects the metrics of one kind of batches.
type batchMetrics struct {
	kind  string
	stats func() share.Stats
}

var (
	batches = prometheus.NewDesc("rail_batches_total",
		"Shared transactions (transactions, clicks) and batches of reads (reads).", []string{"kind"}, nil)
	batchRequests = prometheus.NewDesc("rail_batch_requests_total",
		"Requests that ran in a batch.", []string{"kind"}, nil)
	batchRetries = prometheus.NewDesc("rail_batch_retries_total",
		"Requests that were repeated alone after their batch failed.", []string{"kind"}, nil)
)

// Describe sends nothing, because every kind has the same metrics.
func (batchMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the current counts.
func (m batchMetrics) Collect(out chan<- prometheus.Metric) {
	n := m.stats()
	counts := map[*prometheus.Desc]uint64{batches: n.Batches, batchRequests: n.Members, batchRetries: n.Retries}
	for desc, value := range counts {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value), m.kind)
	}
}

// metricsHandler serves the metrics on a separate address, since they are not public.
func (a *App) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{}))
	return mux
}
