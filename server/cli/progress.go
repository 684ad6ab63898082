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

// progress is standard error with a line that says what a command does, once it has taken two seconds: every second
// on a terminal, over the same line, else every ten seconds.
type progress struct {
	w             io.Writer
	every         time.Duration
	before, after string
	mu            sync.Mutex
	doing         string
	shown         bool // the line stands on the terminal
	held          bool // somebody is asked something on the same terminal
}

// silence is how long a command may work without a word.
const silence = 2 * time.Second

// isTerminal reports whether somebody reads what is written there.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// newProgress returns the progress that is shown on w.
func newProgress(w io.Writer) *progress {
	p := &progress{w: w, every: 10 * time.Second, after: "\n", doing: "at work"}
	if isTerminal(w) {
		p.every, p.before, p.after = time.Second, "\r\x1b[K", ""
	}
	return p
}

// Write writes a message in the place of the line.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.w.Write(text)
}

// clear takes the line of a terminal away.
func (p *progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.w, p.before) // the next write fails as well
	}
	p.shown = false
}

// say tells what is done now. The next line shows it. Without a progress nobody hears it.
func (p *progress) say(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = fmt.Sprintf(format, args...)
}

// start shows the line from now on, until the function that it returns is called.
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

// hold shows no line while somebody is asked, until the function that it returns is called.
func (p *progress) hold() (release func()) {
	set := func(held bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.held = held
	}
	set(true)
	return func() { set(false) }
}
