package jobs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"rail/server/clock"
)

func TestLoopOutlivesFailuresAndPanics(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	job := Job{Name: "shaky", Every: time.Millisecond, Run: func(context.Context, clock.Time) error {
		switch runs++; runs {
		case 1:
			return errors.New("lost")
		case 2:
			panic("a mistake")
		case 3:
			cancel()
		}
		return nil
	}}
	var log bytes.Buffer
	NewRunner(clock.System{}, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), nil).Loop(ctx, job)
	if runs != 3 {
		t.Errorf("%d runs", runs)
	}
	for _, want := range []string{"job began to fail", "job=shaky", "error=lost", "panic of type string"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log", want)
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, j := range All(Deps{}) {
		if seen[j.Name] || j.Every <= 0 || j.About == "" {
			t.Errorf("%+v", j)
		}
		seen[j.Name] = true
	}
}
