package app

import "rail/server/telemetry/tracing"

// Trace enables tracing of requests and webhooks; statements are traced if the pool has the tracer, too. It must
// be called before Serve.
func (a *App) Trace(t *tracing.Tracer) { a.path.Tracer, a.sender.Tracer = t, t }
