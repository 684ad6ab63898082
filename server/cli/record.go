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

// record has every message of a command be a record of the log where the log is JSON, so that what collects it can read
// each line. Servers do, and what runs before them.
func (env *Env) record() {
	// What is wrong with the configuration is said later; the format of the log is known all the same.
	if cfg, _ := config.Read(env.Environ); cfg.LogFormat == "json" {
		env.log = logger(env.Err, cfg)
		env.Err = recorder{env.Err, env.log}
	}
}

// recorder makes a record of each message that is written. What is a record already stays as it is.
type recorder struct {
	w   io.Writer
	log *slog.Logger
}

func (r recorder) Write(text []byte) (int, error) {
	said := strings.TrimSpace(string(text))
	if strings.HasPrefix(said, "{") {
		return r.w.Write(text)
	}
	if warning, ok := strings.CutPrefix(said, "warning: "); ok {
		r.log.Warn(warning)
	} else if said != "" {
		r.log.Info(said)
	}
	return len(text), nil
}

// say writes a message for the operator.
func (env *Env) say(format string, args ...any) { fmt.Fprintf(env.Err, format+"\n", args...) }

// milliseconds has a duration tell its unit in JSON, which has numbers alone: "took":50802680 would say neither.
func milliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	ms := float64(a.Value.Duration()) / float64(time.Millisecond)
	return slog.Float64(a.Key+"_ms", math.Round(ms*1000)/1000)
}
