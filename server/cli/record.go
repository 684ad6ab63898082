package cli

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"time"

	"rail/server/app/config"
)

// record makes every message a log record if the log is JSON, so that a log collector can parse each line. The
// server does so, and the steps before it.
func (env *Env) record() {
	// Mistakes in the configuration are reported later; the log format is known anyway.
	if cfg, _ := config.Read(env.Environ); cfg.LogFormat == "json" {
		env.log = logger(env.Err, cfg)
		env.Err = recorder{env.Err, env.log}
	}
}

// recorder converts each message to a record, and passes records through.
type recorder struct {
	w   io.Writer
	log *slog.Logger
}

func (r recorder) Write(text []byte) (int, error) {
	line := strings.TrimSpace(string(text))
	if strings.HasPrefix(line, "{") {
		return r.w.Write(text)
	}
	if warning, ok := strings.CutPrefix(line, "warning: "); ok {
		r.log.Warn(warning)
	} else if line != "" {
		r.log.Info(line)
	}
	return len(text), nil
}

// say writes a message for the operator.
func (env *Env) say(format string, args ...any) { fmt.Fprintf(env.Err, format+"\n", args...) }

// milliseconds adds the unit to durations in JSON, which has only numbers: "took":50802680 would be unclear.
func milliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	ms := float64(a.Value.Duration()) / float64(time.Millisecond)
	return slog.Float64(a.Key+"_ms", math.Round(ms*1000)/1000)
}
