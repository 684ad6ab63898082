// Package cli is the command rail: the server and everything that an operator does by hand.
//
// A command is an entry of one table (commands.go), of which the tree of package cobra is made, and so the help,
// the completion and the man pages. Most commands work on the configured database, also while a server runs, and
// open it through an opening, which decides what may be made or migrated on the way; those that developers use
// on their own machines (listen, trigger, demo) ask a server over its API.
//
// A command prints its result once, through Env.print: for people, or with --json as {"data": …}. Messages and
// errors go to standard error; with --json an error is {"error": {"message": …}}.
//
// The package has no rules of its own: it calls the domain as the operator, who has no tenant.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"rail/server/clock"
	"rail/server/money/payout"
)

// Exit statuses. Scripts and health checks of containers rely on them.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Env is what a command talks to besides the database. Tests put their own in.
type Env struct {
	Out, Err io.Writer
	// In is standard input; nil means the process's own.
	In    io.Reader
	Clock clock.Clock
	// Environ are the environment's variables; nil means the process's own.
	Environ map[string]string
	// Rails are the operator's payment rails; the binary as it is has none.
	Rails []payout.Rail

	// Terminal says that somebody looks at Out; it is found out unless set.
	Terminal bool

	json     bool // results and errors are printed as JSON
	progress *progress
	log      *slog.Logger // of which messages are records; nil where they are text
}

// Run runs the command that args name and returns its exit status: 0, or 1 if it failed, or 2
// if it was called wrongly. Results go to env.Out, messages to env.Err.
func Run(ctx context.Context, env *Env, args []string) int {
	e := *env
	e.Terminal = e.Terminal || isTerminal(e.Out)
	e.progress = newProgress(env.Err)
	e.Err = e.progress
	root := tree(&e)
	// Not nil, for which package cobra would take the process's own.
	root.SetArgs(append([]string{}, args...))
	cmd, err := root.ExecuteContextC(ctx)
	// A call that went wrong before --json was read asked for it all the same.
	e.json = e.json || slices.Contains(args, "--json")
	return e.report(cmd.CommandPath(), err)
}

// usageError is a mistake in how the command was called; it ends with exitUsage.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// usagef returns a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// errFindings ends with status 1 and without a message: the command has printed everything itself.
var errFindings = errors.New("findings")

// failure is how an error is printed as JSON.
type failure struct {
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// report prints how a command ended and returns its exit status.
func (env *Env) report(command string, err error) int {
	var usage usageError
	status := exitFailed
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFailed
	case errors.As(err, &usage):
		status = exitUsage
	}
	if env.log != nil {
		env.log.Error(err.Error(), "command", command)
		return status
	}
	if env.json {
		var out failure
		out.Error.Message = err.Error()
		_ = json.NewEncoder(env.Err).Encode(out) // nobody is left to tell
		return status
	}
	fmt.Fprintf(env.Err, "%s: %s\n", command, err)
	if status == exitUsage {
		fmt.Fprintf(env.Err, "See %s --help.\n", command)
	}
	return status
}
