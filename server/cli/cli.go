// Package cli is the command rail: the server and all operator commands.
//
// A command is an entry of one table (commands.go), from which the cobra command tree is built, and so the help,
// the completion and the man pages. Most commands work on the configured database, also while a server runs, and
// open it through an opening, which decides what may be created or migrated first; commands for developers'
// machines (listen, trigger, demo) use a server's API.
//
// A command prints its result once, through Env.print: for people, or with --json as {"data": …}. Messages and
// errors go to standard error; with --json an error is {"error": {"message": …}}.
//
// The package has no rules itself: it calls the domain as the operator, who has no tenant.
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

// Env is a command's environment besides the database. Tests replace it.
type Env struct {
	Out, Err io.Writer
	// In is standard input; nil means the process's.
	In    io.Reader
	Clock clock.Clock
	// Environ are the environment's variables; nil means the process's.
	Environ map[string]string
	// Rails are the operator's payment rails; the standard binary has none.
	Rails []payout.Rail

	// Terminal reports whether Out is a terminal; it is detected unless set.
	Terminal bool

	json     bool // results and errors are printed as JSON
	progress *progress
	log      *slog.Logger // logs messages as records; nil for text
}

// Run runs the command in args and returns its exit status: 0, or 1 if it failed, or 2 for wrong usage. Results
// go to env.Out, messages to env.Err.
func Run(ctx context.Context, env *Env, args []string) int {
	e := *env
	e.Terminal = e.Terminal || isTerminal(e.Out)
	e.progress = newProgress(env.Err)
	e.Err = e.progress
	root := tree(&e)
	// Not nil, for which cobra would use the process's arguments.
	root.SetArgs(append([]string{}, args...))
	cmd, err := root.ExecuteContextC(ctx)
	// If parsing failed before --json was read, it still applies.
	e.json = e.json || slices.Contains(args, "--json")
	return e.report(cmd.CommandPath(), err)
}

// usageError is a wrong use of a command; the exit status is exitUsage.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// usagef returns a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// errFindings ends with status 1 and without a message, since the command has printed everything.
var errFindings = errors.New("findings")

// failure is the JSON of an error.
type failure struct {
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// report prints a command's error and returns its exit status.
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
		_ = json.NewEncoder(env.Err).Encode(out) // there is no other place to report it
		return status
	}
	fmt.Fprintf(env.Err, "%s: %s\n", command, err)
	if status == exitUsage {
		fmt.Fprintf(env.Err, "See %s --help.\n", command)
	}
	return status
}
