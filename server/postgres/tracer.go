package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"

	"rail/server/telemetry/outage"
)

// tracer returns what sees all that the options ask for, nil for nothing: then a query costs no more for it.
func (o Options) tracer() pgx.QueryTracer {
	if o.Outages == nil {
		return o.Tracer
	}
	if o.Tracer == nil {
		return connects{outages: o.Outages}
	}
	return multitracer.New(o.Tracer, connects{outages: o.Outages})
}

// connects sees how attempts to connect end.
type connects struct{ outages *outage.Log }

// TraceConnectStart returns the context of an attempt.
func (connects) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return ctx
}

// TraceConnectEnd notes how it ended, unless whoever wanted the connection has gone.
func (c connects) TraceConnectEnd(ctx context.Context, d pgx.TraceConnectEndData) {
	if !errors.Is(ctx.Err(), context.Canceled) {
		c.outages.Note("", d.Err)
	}
}

// TraceQueryStart and TraceQueryEnd make it a tracer, as pgx wants it.
func (connects) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd does nothing.
func (connects) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
