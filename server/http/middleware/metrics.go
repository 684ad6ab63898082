package middleware

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts requests by operation, status and via, and measures the time of those from outside by
// operation. Paths are not labels: each id would make a series.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	reads    *prometheus.CounterVec
}

// NewMetrics registers the metrics of the request path.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rail_requests_total", Help: "HTTP requests by operation, status and via (console: made by its pages).",
		}, []string{"operation", "status", "via"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rail_request_seconds", Help: "Duration of requests from outside in seconds by operation.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"operation"}),
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rail_reads_total", Help: "API reads by the database server that answered them: primary or standby.",
		}, []string{"target"}),
	}
	r.MustRegister(m.requests, m.seconds, m.reads)
	for _, target := range []string{"primary", "standby"} {
		m.reads.WithLabelValues(target) // so that the series exists from the start
	}
	return m
}

// read counts a read by the server that answered it.
func (m *Metrics) read(target string) {
	if m != nil {
		m.reads.WithLabelValues(target).Inc()
	}
}

// request counts an answered request. via is "" for a request from outside.
func (m *Metrics) request(operation, via string, status int, took time.Duration) {
	m.requests.WithLabelValues(operation, strconv.Itoa(status), via).Inc()
	if via == "" {
		m.seconds.WithLabelValues(operation).Observe(took.Seconds())
	}
}
