package app

import "rail/server/telemetry/tracing"

// Trace has requests and webhooks traced; statements are where the pool has the tracer, too. It comes before Serve.
func (a *App) Trace(t *tracing.Tracer) { a.path.Tracer, a.sender.Tracer = t, t }
