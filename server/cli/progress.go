package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"rail/server/clock"
)

// progress is standard error with a progress line for commands that take more than two seconds: on a terminal
// updated in place every second, else every ten seconds.
type progress struct {
	w             io.Writer
	every         time.Duration
	before, after string
	mu            sync.Mutex
	doing         string
	shown         bool // the line is visible on the terminal
	held          bool // a question is open on the same terminal
}

// silence is how long a command works before it shows progress.
const silence = 2 * time.Second

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// newProgress returns a progress on w.
func newProgress(w io.Writer) *progress {
	p := &progress{w: w, every: 10 * time.Second, after: "\n", doing: "at work"}
	if isTerminal(w) {
		p.every, p.before, p.after = time.Second, "\r\x1b[K", ""
	}
	return p
}

// onTerminal reports whether the line is updated in place.
func (p *progress) onTerminal() bool { return p.before != "" }

// Write writes a message in place of the line.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.w.Write(text)
}

// clear erases the line on a terminal.
func (p *progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.w, p.before) // the next write fails as well
	}
	p.shown = false
}

// say sets the current step, which the next line shows. On a nil progress it does nothing.
func (p *progress) say(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = fmt.Sprintf(format, args...)
}

// start shows the line until the returned function is called.
func (p *progress) start() (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	// By the machine's clock: Env.Clock may stand still.
	began, next := clock.Real(), time.NewTimer(silence)
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-next.C:
				p.show(clock.Real().Sub(began))
				next.Reset(p.every)
			}
		}
	}()
	return func() {
		close(ended)
		<-done
		next.Stop()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clear()
	}
}

// show writes the line.
func (p *progress) show(since time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.held {
		fmt.Fprintf(p.w, "%s%s: %s%s", p.before, since.Round(time.Second), p.doing, p.after)
		p.shown = p.before != ""
	}
}

// hold hides the line during a question, until the returned function is called.
func (p *progress) hold() (release func()) {
	set := func(held bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.held = held
	}
	set(true)
	return func() { set(false) }
}
