// Package tracing sends traces of requests to an OpenTelemetry collector, with their statements and webhooks.
//
// The trace id of a request derives from its request id, unless the caller sent a trace. An event
// has the request id, so no other data is stored (decisions, 277). A nil Tracer traces nothing.
package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"rail/server/telemetry/outage"
)

// Tracer makes spans and sends them in batches in the background. It drops them if the collector is
// unavailable.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// New returns a tracer that sends to a collector by OTLP over HTTP, without waiting for it. The
// other variables of OpenTelemetry, such as OTEL_EXPORTER_OTLP_HEADERS and OTEL_TRACES_SAMPLER, are
// read from the environment. outages logs failures of the collector; may be nil.
func New(ctx context.Context, endpoint, version string, outages *outage.Log) (*Tracer, error) {
	exporter, err := newExporter(endpoint)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	// The environment overrides these.
	of, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "rail"), attribute.String("service.version", version),
	), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	p := sdk.NewTracerProvider(
		sdk.WithBatcher(logged{exporter, outages}), sdk.WithResource(of), sdk.WithIDGenerator(ids{}))
	return &Tracer{p, p.Tracer("rail")}, nil
}

// logged is an exporter that logs the start of a failure once; the library would log each batch.
type logged struct {
	sdk.SpanExporter

	outages *outage.Log
}

// ExportSpans sends spans, or drops them.
func (e logged) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	e.outages.Note("", e.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

// Stop sends the remaining spans.
func (t *Tracer) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Span is a span that has begun and must be ended; a nil Span does nothing.
type Span struct{ span trace.Span }

// Answered ends the span of a request. route is the pattern of its path. via is "console" for a request that a page
// of the console made, and "" for one from outside.
func (s *Span) Answered(operation, route, via string, status int) {
	if s == nil {
		return
	}
	s.span.SetName(operation)
	s.span.SetAttributes(attribute.String("http.route", route))
	if via != "" {
		s.span.SetAttributes(attribute.String("rail.via", via))
	}
	fault := ""
	if status >= http.StatusInternalServerError {
		fault = http.StatusText(status)
	}
	s.end(status, fault)
}

// Attempted ends the span of an attempt to deliver; code is 0 without an answer, fault "" for an acknowledgement.
func (s *Span) Attempted(code int, fault string) {
	if s != nil {
		s.end(code, fault)
	}
}

func (s *Span) end(code int, fault string) {
	if code > 0 {
		s.span.SetAttributes(attribute.Int("http.response.status_code", code))
	}
	if fault != "" {
		s.span.SetStatus(codes.Error, fault)
	}
	s.span.End()
}

// Request begins the span of a request, in the caller's trace if it sent one. The operation is set at its end.
func (t *Tracer) Request(ctx context.Context, r *http.Request, id string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	at := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("rail.request_id", id)),
	}
	if !trace.SpanContextFromContext(ctx).IsValid() { // else the request comes from this server
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	if trace.SpanContextFromContext(ctx).IsValid() {
		at = append(at, trace.WithLinks(trace.Link{SpanContext: of(id)}))
	}
	ctx, span := t.tracer.Start(context.WithValue(ctx, wanted{}, of(id)), "request", at...) //nolint:spancheck // Answered ends it
	return ctx, &Span{span}                                                                 //nolint:spancheck // as above
}

// Delivery is an attempt to deliver an event. RequestID is that of the request that caused it, or "".
type Delivery struct {
	ID, Endpoint, Event, RequestID string
	Attempt                        int
}

// Deliver begins the span of an attempt, in the trace of the request's id and linked to the request.
func (t *Tracer) Deliver(ctx context.Context, d Delivery) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	at := []trace.SpanStartOption{
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("rail.delivery_id", d.ID), attribute.String("rail.endpoint_id", d.Endpoint),
			attribute.Int("rail.attempt", d.Attempt), attribute.String("rail.request_id", d.RequestID)),
	}
	if d.RequestID != "" {
		cause := of(d.RequestID)
		ctx = context.WithValue(ctx, wanted{}, cause.WithSpanID(random()))
		at = append(at, trace.WithLinks(trace.Link{SpanContext: cause}))
	}
	ctx, span := t.tracer.Start(ctx, "webhook "+d.Event, at...) //nolint:spancheck // Attempted ends it
	return ctx, &Span{span}                                     //nolint:spancheck // as above
}

// of returns the trace of a request, and the span of the request itself.
func of(requestID string) trace.SpanContext {
	sum := sha256.Sum256([]byte("rail/trace/" + requestID))
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(sum[:16]), SpanID: trace.SpanID(sum[16:24]), TraceFlags: trace.FlagsSampled,
	})
}

// wanted is the context key of the ids for the next span.
type wanted struct{}

// ids gives a span the ids in its context, once, and other spans random ids.
type ids struct{}

// NewIDs returns the ids of a span that begins a trace.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if at, ok := ctx.Value(wanted{}).(trace.SpanContext); ok {
		return at.TraceID(), at.SpanID()
	}
	var id trace.TraceID
	binary.BigEndian.PutUint64(id[:8], rand.Uint64()|1) // not zero
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	return id, random()
}

// NewSpanID returns the id of a span within a trace.
func (ids) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return random() }

func random() (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1) // not zero
	return id
}
