package tracing

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Statements returns a tracer that makes a span for each statement and each batch within a recorded
// span, or nil without tracing. The spans have the names of the queries, but neither texts nor
// values.
func (t *Tracer) Statements() pgx.QueryTracer {
	if t == nil {
		return nil
	}
	return statements{t.tracer}
}

type statements struct{ tracer trace.Tracer }

// TraceQueryStart begins the span of a statement.
func (s statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return s.start(ctx, nameOf(d.SQL))
}

// TraceQueryEnd ends the span of a statement.
func (statements) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	end(ctx, d.Err)
}

// TraceBatchStart begins the span of a batch.
func (s statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	return s.start(ctx, "batch", attribute.Int("db.operation.batch.size", d.Batch.Len()))
}

// TraceBatchQuery records the end of one of its statements.
func (statements) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	if own(ctx) {
		trace.SpanFromContext(ctx).AddEvent(nameOf(d.SQL))
	}
}

// TraceBatchEnd ends the span of a batch.
func (statements) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchEndData) {
	end(ctx, d.Err)
}

// within is the context key of a statement's span.
type within struct{}

// own reports whether the span of a context is that of its statement.
func own(ctx context.Context) bool { return ctx.Value(within{}) != nil }

func (s statements) start(ctx context.Context, name string, more ...attribute.KeyValue) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	ctx, _ = s.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), //nolint:spancheck // end ends it
		trace.WithAttributes(append(more, attribute.String("db.system.name", "postgresql"))...))
	return context.WithValue(ctx, within{}, true)
}

func end(ctx context.Context, err error) {
	if !own(ctx) {
		return
	}
	span := trace.SpanFromContext(ctx)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		span.SetStatus(codes.Error, "the statement failed") // its text may hold values
	}
	span.End()
}

// nameOf returns the name of a query, or the first word of another statement.
func nameOf(sql string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(sql), "\n")
	if name, ok := strings.CutPrefix(first, "-- name: "); ok {
		name, _, _ = strings.Cut(name, " ")
		return name
	}
	word, _, _ := strings.Cut(first, " ")
	return strings.ToUpper(word)
}
