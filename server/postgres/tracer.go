package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"

	"rail/server/telemetry/outage"
)

// tracer returns the tracers of the options as one, or nil for none, which costs nothing.
func (o Options) tracer() pgx.QueryTracer {
	if o.Outages == nil {
		return o.Tracer
	}
	if o.Tracer == nil {
		return connects{outages: o.Outages}
	}
	return multitracer.New(o.Tracer, connects{outages: o.Outages})
}

// connects traces the results of connection attempts.
type connects struct{ outages *outage.Log }

// TraceConnectStart returns the context of an attempt.
func (connects) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return ctx
}

// TraceConnectEnd records the result, unless the caller's context has ended.
func (c connects) TraceConnectEnd(ctx context.Context, d pgx.TraceConnectEndData) {
	if !errors.Is(ctx.Err(), context.Canceled) {
		c.outages.Note("", d.Err)
	}
}

// TraceQueryStart and TraceQueryEnd implement pgx's interface and do nothing.
func (connects) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd does nothing.
func (connects) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
