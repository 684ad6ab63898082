package outage

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
)

var errAway = errors.New("away")

// fixture is a Log with a manual clock and its output.
type fixture struct {
	*Log
	clock *clock.Manual
	out   bytes.Buffer
}

func newFixture(kind, key string) *fixture {
	t := &fixture{clock: clock.NewManual(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))}
	plain := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	t.Log = New(slog.New(slog.NewTextHandler(&t.out, plain)), t.clock, kind, key)
	return t
}

func (t *fixture) lines() []string {
	all := strings.Split(strings.TrimSpace(t.out.String()), "\n")
	t.out.Reset()
	return all
}

func TestOneLineAtEachEnd(t *testing.T) {
	t.Parallel()
	l := newFixture("a webhook endpoint", "endpoint")
	for range 20 {
		l.Note("wep_1", errAway)
		l.clock.Advance(time.Hour)
	}
	l.Note("wep_2", nil)
	l.Note("wep_1", nil)
	l.Note("wep_1", nil)
	require.Equal(t, []string{
		`level=WARN msg="a webhook endpoint began to fail" endpoint=wep_1 error=away`,
		`level=INFO msg="a webhook endpoint recovered" endpoint=wep_1 failures=20 after=20h0m0s`,
	}, l.lines())
	l.Note("wep_1", errAway)
	l.Note("wep_2", errAway)
	require.Len(t, l.lines(), 2, "each again, by itself")
}

// A thing that fails every other time is logged once a minute.
func TestAlternatingFailures(t *testing.T) {
	t.Parallel()
	l := newFixture("the mail server", "")
	for range 600 {
		l.Note("", errAway)
		l.Note("", nil)
		l.clock.Advance(time.Second)
	}
	lines := l.lines()
	require.Len(t, lines, 20, "ten minutes")
	require.Equal(t, `level=WARN msg="the mail server began to fail" error=away`, lines[0])
	l.Note("", errAway)
	l.Note("", nil)
	l.Note("", errAway)
	l.clock.Advance(time.Minute)
	l.lines()
	l.Note("", errAway)
	require.Len(t, l.lines(), 1, "a lasting failure is logged in the end")
}

func TestBounded(t *testing.T) {
	t.Parallel()
	l := newFixture("a webhook endpoint", "endpoint")
	for i := range maxTracked + 50 {
		l.Note(fmt.Sprint(i), errAway)
	}
	require.Len(t, l.lines(), maxTracked)
	require.Len(t, l.Log.out, maxTracked)
	l.clock.Advance(trackFor + time.Second)
	l.Note("new", errAway)
	require.Len(t, l.Log.out, 1, "what was not heard of for days")
	l.Forget("new")
	require.Empty(t, l.Log.out)
	var none *Log
	none.Note("x", errAway)
	none.Forget("x")
}
