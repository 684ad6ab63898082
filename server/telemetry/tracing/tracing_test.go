package tracing_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/telemetry/outage"
	"rail/server/telemetry/tracing"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// receiver is a collector of traces.
type receiver struct {
	URL string

	mu    sync.Mutex
	spans []*traces.Span
	heads []http.Header
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		raw, err := io.ReadAll(q.Body)
		var got traces.TracesData // of the same form as a request
		if err != nil || q.URL.Path != "/v1/traces" || proto.Unmarshal(raw, &got) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.heads = append(r.heads, q.Header)
		for _, of := range got.GetResourceSpans() {
			for _, scope := range of.GetScopeSpans() {
				r.spans = append(r.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(web.Close)
	r.URL = web.URL
	return r
}

// all returns the received spans of a test.
func (r *receiver) all(which func(*traces.Span) bool) (out []*traces.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if which(s) {
			out = append(out, s)
		}
	}
	return out
}

// one waits for a span.
func (r *receiver) one(t *testing.T, what string, which func(*traces.Span) bool) *traces.Span {
	t.Helper()
	wait.Until(t, func() bool { return len(r.all(which)) > 0 }, "no span of %s", what)
	return r.all(which)[0]
}

func attribute(s *traces.Span, key string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// of selects spans by name and request.
func of(name, request string) func(*traces.Span) bool {
	return func(s *traces.Span) bool { return s.GetName() == name && attribute(s, "rail.request_id") == request }
}

// TestTraces: a request is a span that contains its statements. The webhook that it caused is in
// the same trace and linked to it. A caller's trace is continued.
func TestTraces(t *testing.T) {
	t.Parallel()
	r, sink := newReceiver(t), apitest.NewSink(t)
	s := apitest.StartProcess(t, apitest.Real(t), "OTEL_EXPORTER_OTLP_ENDPOINT="+r.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
		"OTEL_EXPORTER_OTLP_HEADERS=api-key=hush", "RAIL_WEBHOOK_ALLOW_CIDRS=127.0.0.0/8")
	program := s.Program()
	s.Must(201, s.Post("/v1/webhook_endpoints", apitest.M{"program_id": program, "url": sink.URL + "/in"}))
	partner := s.Do(http.MethodPost, "/v1/partners", s.Key,
		apitest.M{"program_id": program, "email": "ada@example.com", "handle": "ada"})
	s.Must(201, partner)
	id := partner.Header.Get("Rail-Request-Id")

	request := r.one(t, "the request", of("createPartner", id))
	require.Equal(t, "/v1/partners", attribute(request, "http.route"))
	require.Empty(t, request.GetParentSpanId())
	statement := r.one(t, "its statements", func(s *traces.Span) bool {
		return string(s.GetParentSpanId()) == string(request.GetSpanId()) && attribute(s, "db.system.name") == "postgresql"
	})
	require.Equal(t, request.GetTraceId(), statement.GetTraceId())
	named := r.all(func(s *traces.Span) bool {
		return slices.ContainsFunc(s.GetEvents(), func(e *traces.Span_Event) bool { return e.GetName() == "PartnerInsert" })
	})
	require.NotEmpty(t, named, "statements have their names")
	webhook := r.one(t, "the webhook", of("webhook affiliate.created", id))
	require.Equal(t, request.GetTraceId(), webhook.GetTraceId())
	require.Equal(t, request.GetSpanId(), webhook.GetLinks()[0].GetSpanId())
	require.NotEqual(t, request.GetSpanId(), webhook.GetSpanId())

	trace := "4bf92f3577b34da6a3ce929d0e0e4736"
	again := s.Do(http.MethodPost, "/v1/partners", s.Key,
		apitest.M{"program_id": program, "email": "ben@example.com", "handle": "ben"},
		"Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	request = r.one(t, "the request", of("createPartner", again.Header.Get("Rail-Request-Id")))
	require.Equal(t, trace, hex.EncodeToString(request.GetTraceId()))
	require.Equal(t, "00f067aa0ba902b7", hex.EncodeToString(request.GetParentSpanId()))
	webhook = r.one(t, "the webhook", of("webhook affiliate.created", again.Header.Get("Rail-Request-Id")))
	require.Equal(t, webhook.GetTraceId(), request.GetLinks()[0].GetTraceId(), "the request leads to what it caused")

	text := ""
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		text += s.String()
	}
	for _, secret := range []string{"example.com", s.Key, "INSERT"} {
		require.NotContains(t, text, secret, "neither values nor statements are sent")
	}
	require.Equal(t, "hush", r.heads[0].Get("Api-Key"), "the standard variables count")
}

// TestCollectorFails: the loss of spans is logged once, and blocks nothing.
func TestCollectorFails(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	var log bytes.Buffer
	outages := outage.New(slog.New(slog.NewTextHandler(&log, nil)), clock.System{}, "the collector of traces", "")
	tracer, err := tracing.New(t.Context(), web.URL, "v1", outages)
	require.NoError(t, err)
	for range 3 {
		_, span := tracer.Request(t.Context(), httptest.NewRequest(http.MethodGet, "/", nil), "req_1")
		span.Answered("x", "/", "", 200)
	}
	require.NoError(t, tracer.Stop(t.Context()))
	require.Equal(t, 1, strings.Count(log.String(), "the collector of traces began to fail"))
}

// TestVia marks the span of a request that the console made.
func TestVia(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	outages := outage.New(slog.New(slog.DiscardHandler), clock.System{}, "the collector of traces", "")
	tracer, err := tracing.New(t.Context(), r.URL, "v1", outages)
	require.NoError(t, err)
	for _, via := range []string{"", "console"} {
		_, span := tracer.Request(t.Context(), httptest.NewRequest(http.MethodGet, "/", nil), "req_"+via)
		span.Answered("listSales", "/v1/sales", via, 200)
	}
	require.NoError(t, tracer.Stop(t.Context()))
	for _, via := range []string{"", "console"} {
		require.Equal(t, via, attribute(r.one(t, via, of("listSales", "req_"+via)), "rail.via"))
	}
}

// TestWithout: without a collector nothing is traced, and requests work as usual.
func TestWithout(t *testing.T) {
	t.Parallel()
	var none *tracing.Tracer
	require.Nil(t, none.Statements())
	q := httptest.NewRequest(http.MethodGet, "/", nil)
	ctx, span := none.Request(t.Context(), q, "req_1")
	require.Equal(t, t.Context(), ctx)
	span.Answered("x", "/", "", 200)
	_, span = none.Deliver(t.Context(), tracing.Delivery{})
	span.Attempted(200, "")
	require.NoError(t, none.Stop(t.Context()))
}
