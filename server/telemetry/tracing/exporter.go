package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resources "go.opentelemetry.io/proto/otlp/resource/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// exporter sends spans by OTLP over HTTP. OpenTelemetry's exporter would link gRPC.
type exporter struct {
	url     string
	client  http.Client
	headers http.Header
	packed  bool
}

// variable returns OpenTelemetry's variable for traces, or the one for all signals.
func variable(name string) string {
	if v := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); v != "" {
		return v
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_" + name)
}

// newExporter returns the exporter to a collector. OpenTelemetry's variables set headers, timeout,
// compression and the collector's certificate authority.
func newExporter(endpoint string) (*exporter, error) {
	e := &exporter{
		url: strings.TrimSuffix(endpoint, "/") + "/v1/traces", headers: http.Header{}, packed: variable("COMPRESSION") == "gzip",
	}
	e.client.Timeout = 10 * time.Second
	if ms, err := strconv.Atoi(variable("TIMEOUT")); err == nil && ms > 0 {
		e.client.Timeout = time.Duration(ms) * time.Millisecond
	}
	e.headers.Set("Content-Type", "application/x-protobuf")
	for pair := range strings.SplitSeq(variable("HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			e.headers.Set(strings.TrimSpace(name), plain)
		}
	}
	path := variable("CERTIFICATE")
	if path == "" {
		return e, nil
	}
	pem, err := os.ReadFile(path)
	pool := x509.NewCertPool()
	if err == nil && !pool.AppendCertsFromPEM(pem) {
		err = errors.New("it has no certificate")
	}
	e.client.Transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}
	return e, err
}

// ExportSpans sends spans once. Spans that the collector refuses are dropped.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := proto.Marshal(message(spans))
	if err != nil {
		return err
	}
	headers := e.headers
	if e.packed {
		headers = headers.Clone()
		headers.Set("Content-Encoding", "gzip")
		body = pack(body)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = headers
	res, err := e.client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection is reused
	if err = errors.Join(err, res.Body.Close()); err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s answers %d", e.url, res.StatusCode)
	}
	return err
}

// Shutdown has nothing to end.
func (*exporter) Shutdown(context.Context) error { return nil }

func pack(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // a buffer never fails
	_ = w.Close()
	return out.Bytes()
}

// message converts spans to the protocol's form. All belong to one resource and one scope.
func message(spans []sdk.ReadOnlySpan) *traces.TracesData {
	scope := &traces.ScopeSpans{Scope: &common.InstrumentationScope{Name: spans[0].InstrumentationScope().Name}}
	for _, s := range spans {
		scope.Spans = append(scope.Spans, spanOf(s))
	}
	return &traces.TracesData{ResourceSpans: []*traces.ResourceSpans{{
		Resource:  &resources.Resource{Attributes: attributes(spans[0].Resource().Attributes())},
		SchemaUrl: spans[0].Resource().SchemaURL(), ScopeSpans: []*traces.ScopeSpans{scope},
	}}}
}

func spanOf(s sdk.ReadOnlySpan) *traces.Span {
	of := s.SpanContext()
	traceID, spanID := of.TraceID(), of.SpanID()
	out := &traces.Span{
		TraceId:    traceID[:],
		SpanId:     spanID[:],
		TraceState: of.TraceState().String(),
		Flags:      uint32(of.TraceFlags()),
		Name:       s.Name(),
		// The protocol uses the numbers of package trace.
		Kind:              traces.Span_SpanKind(s.SpanKind()),
		StartTimeUnixNano: uint64(s.StartTime().UnixNano()),
		EndTimeUnixNano:   uint64(s.EndTime().UnixNano()),
		Status:            statusOf(s.Status()),
		Attributes:        attributes(s.Attributes()),
	}
	if parent := s.Parent().SpanID(); parent.IsValid() {
		out.ParentSpanId = parent[:]
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, &traces.Span_Event{
			Name: e.Name, TimeUnixNano: uint64(e.Time.UnixNano()), Attributes: attributes(e.Attributes),
		})
	}
	for _, l := range s.Links() {
		out.Links = append(out.Links, linkOf(l))
	}
	return out
}

func linkOf(l sdk.Link) *traces.Span_Link {
	traceID, spanID := l.SpanContext.TraceID(), l.SpanContext.SpanID()
	return &traces.Span_Link{
		TraceId: traceID[:], SpanId: spanID[:], TraceState: l.SpanContext.TraceState().String(),
		Attributes: attributes(l.Attributes), Flags: uint32(l.SpanContext.TraceFlags() & trace.FlagsSampled),
	}
}

func statusOf(s sdk.Status) *traces.Status {
	out := &traces.Status{Message: s.Description}
	switch s.Code {
	case codes.Ok:
		out.Code = traces.Status_STATUS_CODE_OK
	case codes.Error:
		out.Code = traces.Status_STATUS_CODE_ERROR
	}
	return out
}

// attributes supports the types of values in Rail's spans and resources; others become texts.
func attributes(all []attribute.KeyValue) []*common.KeyValue {
	out := make([]*common.KeyValue, 0, len(all))
	for _, a := range all {
		v := &common.AnyValue{}
		switch a.Value.Type() {
		case attribute.BOOL:
			v.Value = &common.AnyValue_BoolValue{BoolValue: a.Value.AsBool()}
		case attribute.INT64:
			v.Value = &common.AnyValue_IntValue{IntValue: a.Value.AsInt64()}
		case attribute.FLOAT64:
			v.Value = &common.AnyValue_DoubleValue{DoubleValue: a.Value.AsFloat64()}
		default:
			v.Value = &common.AnyValue_StringValue{StringValue: a.Value.String()}
		}
		out = append(out, &common.KeyValue{Key: string(a.Key), Value: v})
	}
	return out
}
