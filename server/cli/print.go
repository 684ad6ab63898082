package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"rail/server/clock"
)

// output is the --json flag with the two ways to print.
type output struct{ json *bool }

// outputFlag declares --json.
func outputFlag(fs *flag.FlagSet) output {
	return output{toggle(fs, "json", "print JSON")}
}

// print writes v as JSON where --json is given, else as the table that rows
// returns: a line of tab-separated cells each, the heading first.
func (o output) print(w io.Writer, v any, rows func() []string) error {
	if *o.json {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows() {
		if _, err := fmt.Fprintln(t, r); err != nil {
			return err
		}
	}
	return t.Flush()
}

// lines reports long work: every second on a terminal, over the same line, else every
// ten seconds.
type lines struct {
	w             io.Writer
	every         time.Duration
	before, after string
	began, last   time.Time
}

// newLines returns lines of which the first may come after two seconds.
func newLines(w io.Writer) *lines {
	// By the machine's clock: env.Clock may stand still.
	l := &lines{w: w, every: 10 * time.Second, after: "\n", began: clock.Real()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		l.every, l.before, l.after = time.Second, "\r\x1b[K", ""
	}
	l.last = l.began.Add(2*time.Second - l.every)
	return l
}

// say prints a line unless the last one is too young.
func (l *lines) say(format string, args ...any) {
	if now := clock.Real(); now.Sub(l.last) >= l.every {
		l.last = now
		fmt.Fprintf(l.w, "%s%s: %s%s", l.before, now.Sub(l.began).Round(time.Second), fmt.Sprintf(format, args...), l.after)
	}
}

// clear takes the line of a terminal away.
func (l *lines) clear() { fmt.Fprint(l.w, l.before) }
