package middleware

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
)

// TestMetricsVia counts requests of the console's pages and leaves them out of the API's latency.
func TestMetricsVia(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	m := NewMetrics(r)
	m.request("createSale", "", 201, time.Second)
	m.request("createSale", console, 201, time.Second)
	m.request("listSales", console, 200, time.Second)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := w.Body.String()
	require.Contains(t, text, `rail_requests_total{operation="createSale",status="201",via=""} 1`)
	require.Contains(t, text, `rail_requests_total{operation="createSale",status="201",via="console"} 1`)
	require.Contains(t, text, `rail_requests_total{operation="listSales",status="200",via="console"} 1`)
	require.Contains(t, text, `rail_request_seconds_count{operation="createSale"} 1`)
	require.NotContains(t, text, `rail_request_seconds_count{operation="listSales"}`)
}
