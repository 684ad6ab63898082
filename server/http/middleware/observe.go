package middleware

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// observe writes the error, if any, logs the request in one line, and counts it. The line has the
// route's pattern. It never has the path, the body, a header, an email or an address.
func (f *Front) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		ctx, span := f.Tracer.Request(c.Request().Context(), c.Request(), s.id)
		if span != nil {
			c.SetRequest(c.Request().WithContext(ctx))
		}
		if err := next(c); err != nil {
			f.writeError(err, c)
		}
		took := time.Since(s.started)
		status := c.Response().Status
		operation := cmp.Or(f.exempt[c.Path()], area(c.Path()), "-")
		if s.route != nil {
			operation = s.route.ID
		}
		if f.Metrics != nil {
			f.Metrics.request(operation, s.via, status, took)
		}
		f.logLine(c, s, operation, status, took)
		span.Answered(operation, c.Path(), s.via, status)
		return nil
	}
}

// logLine logs a request, with level error for a fault of the server.
func (f *Front) logLine(c echo.Context, s *state, operation string, status int, took time.Duration) {
	level := slog.LevelInfo
	// Large enough for all attributes below, so that append does not allocate.
	attrs := make([]slog.Attr, 0, 13)
	attrs = append(attrs,
		slog.String("request_id", s.id), slog.String("method", c.Request().Method), slog.String("route", c.Path()),
		slog.String("operation", operation), slog.Int("status", status), slog.Duration("took", took),
		slog.Int64("bytes", c.Response().Size))
	if s.keyed {
		by := "key"
		if s.actor.Person {
			by = "user"
		}
		attrs = append(attrs, slog.String(by, s.actor.ID), slog.String("org", s.actor.OrgID))
	}
	if s.via != "" {
		attrs = append(attrs, slog.String("via", s.via))
	}
	if s.replayed {
		attrs = append(attrs, slog.Bool("replayed", true))
	}
	if s.limited {
		attrs = append(attrs, slog.Bool("limited", true))
	}
	if s.standby {
		attrs = append(attrs, slog.Bool("standby", true))
	}
	if p := s.problem; p != nil {
		attrs = append(attrs, slog.String("code", string(p.Code)))
		if p.Cause != nil {
			attrs = append(attrs, slog.String("cause", p.Cause.Error()))
		}
		if status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
	}
	f.Log.LogAttrs(context.Background(), level, "request", attrs...)
}
