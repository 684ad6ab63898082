// Package cli is the command rail: the server and everything that an operator does by hand.
//
// A command is an entry of one table, which the help is made of too. Every command works on
// the configured database, also while a server runs, and opens it through an opening, which
// decides what may be made or migrated on the way. What a command prints is for people, or
// JSON with --json; errors go to standard error.
//
// The package has no rules of its own: it calls the domain as the operator, who has no tenant.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"rail/server/clock"
	"rail/server/money/payout"
)

// Exit codes. Scripts and health checks of containers rely on them.
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
}

// action does the work of a command, given its positional arguments.
type action func(ctx context.Context, env *Env, args []string) error

// command is one entry of the table. setUp declares the flags and returns what to do with them;
// it must touch nothing, since the help declares flags as well.
type command struct {
	name  string // one or two words
	args  string // the positional arguments, for the help
	about string
	setUp func(fs *flag.FlagSet) action
	more  func() string // further help, or nil
}

// commands returns the table in the order of the help.
func commands() []command {
	return append([]command{
		{name: "serve", about: "run the server", setUp: serve, more: serveHelp},
		{name: "migrate up", about: "bring the database to this binary's schema", setUp: migrateUp},
		{name: "migrate down", about: "undo the last migration; its data is lost", setUp: migrateDown},
		{name: "migrate version", about: "show the database's schema version", setUp: migrateVersion},
		{name: "org create", about: "add an organization", setUp: orgCreate},
		{name: "org list", about: "list the organizations", setUp: orgList},
		{
			name: "org plan", args: "ORG_ID", about: "show or change the limits of an organization", setUp: orgPlan,
			more: planHelp,
		},
		{name: "key create", about: "make an API key and show it, this once", setUp: keyCreate},
		{name: "key list", about: "list an organization's API keys", setUp: keyList},
		{name: "key revoke", args: "KEY_ID", about: "revoke an API key", setUp: keyRevoke},
	}, slices.Concat(users(), processors(), pages(), operations())...)
}

// users is the part of the table that is about who works in the console.
func users() []command {
	return []command{
		{name: "user create", about: "make a user of the console, and a link to set the password", setUp: userCreate, more: userHelp},
		{name: "user list", about: "list an organization's users", setUp: userList},
		{name: "user role", args: "USER", about: "give a user another role", setUp: userRole, more: userHelp},
		{
			name: "user reset", args: "USER", about: "make a link for a user who cannot sign in", setUp: userReset,
			more: userHelp,
		},
		{name: "user disable", args: "USER", about: "end a user's sessions, and let no new ones begin", setUp: userDisable},
		{name: "user enable", args: "USER", about: "let a disabled user sign in again", setUp: userEnable},
	}
}

// processors is the part of the table that is about payment processors.
func processors() []command {
	return []command{
		{
			name: "processor connect", args: "PROCESSOR", about: "connect a program to a payment processor",
			setUp: processorConnect, more: processorHelp,
		},
		{name: "processor list", about: "list a program's connections to payment processors", setUp: processorList},
		{
			name: "processor check", args: "CONNECTION_ID", about: "show a connection; status 1 when it takes no events",
			setUp: processorCheck,
		},
		{
			name: "processor disconnect", args: "CONNECTION_ID", about: "end a connection for ever", setUp: processorDisconnect,
		},
		{
			name: "stripe backfill", about: "read from Stripe what happened since a day, and record what is missing",
			setUp: stripeBackfill, more: backfillHelp,
		},
	}
}

// pages is the part of the table that is about the keys of pages.
func pages() []command {
	return []command{
		{name: "pubkey create", about: "make a publishable key, for a program's pages", setUp: pubkeyCreate},
		{name: "pubkey list", about: "list a program's publishable keys, whole", setUp: pubkeyList},
		{name: "pubkey revoke", args: "KEY_ID", about: "revoke a publishable key", setUp: pubkeyRevoke},
	}
}

// operations is the part of the table that works on the data. It is apart only because one
// function of all commands would be too long.
func operations() []command {
	return []command{
		{
			name: "link rate-override", args: "LINK_ID", about: "set the rate of one link above every rule",
			setUp: linkRateOverride,
		},
		{name: "sample load", about: "load the sample program", setUp: sampleLoad},
		{name: "sample clear", about: "remove every sample row", setUp: sampleClear},
		{
			name: "secrets rotate", about: "seal everything with the current secret key that a former one has sealed",
			setUp: secretsRotate, more: rotateHelp,
		},
		{
			name: "secrets adopt", about: "make the secret key that is given the one of a database that does not know its own",
			setUp: secretsAdopt, more: adoptHelp,
		},
		{name: "listen", about: "send an organization's events to your own machine as they happen", setUp: listen},
		{
			name: "payouts export", about: "write what is left to pay of a batch as a file for PayPal, Wise or a bank",
			setUp: payoutsExport, more: exportHelp,
		},
		{
			name: "payouts paid", args: "PAYOUT_ID_OR_BATCH_ID", about: "end payouts that left in a file and were paid",
			setUp: payoutsPaid, more: paidHelp,
		},
		{
			name: "payouts fail", args: "PAYOUT_ID",
			about: "end a payout as failed that left in a file, or that a payment rail has in flight and will not end",
			setUp: payoutsFail,
		},
		{name: "job run", args: "NAME", about: "run a background job once, now", setUp: jobRun, more: jobHelp},
		{
			name: "health", about: "ask a running server whether it can answer requests; status 1 when it cannot", setUp: health,
		},
		{
			name: "doctor", args: "URL", about: "look at a page that loads rail.js, and say what is wrong; status 1 when something is",
			setUp: examine, more: doctorHelp,
		},
		{
			name: "audit", about: "check the data against its invariants; status 1 when one is broken", setUp: runAudit,
			more: auditHelp,
		},
		{
			name: "backup", args: "FILE", about: "write the database, while servers use it, and its secret key into a file",
			setUp: backUp, more: backupHelp,
		},
		{
			name: "restore", args: "FILE", about: "fill an empty database from a backup, and check it", setUp: restore,
			more: restoreHelp,
		},
		{name: "restore key", args: "FILE", about: "show the secret key that a backup holds", setUp: restoreKey},
		{name: "version", about: "show the version", setUp: showVersion},
	}
}

// Run runs the command that args name and returns its exit status: 0, or 1 if it failed, or 2
// if it was called wrongly. Results go to env.Out, messages to env.Err.
func Run(ctx context.Context, env *Env, args []string) int {
	if len(args) == 0 {
		overview(env.Err, "")
		return exitUsage
	}
	// The usual ways to ask for help and version, which are not commands here.
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return help(env, args[1:])
	case "-v", "-version", "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	cmd, rest, ok := find(args)
	if !ok {
		return unknown(env, args)
	}
	return report(env, cmd, cmd.run(ctx, env, rest))
}

// find returns the command that the first words name, and what follows them. Two words go
// first: "restore key" is not "restore" with the argument key.
func find(args []string) (command, []string, bool) {
	for words := min(2, len(args)); words > 0; words-- {
		for _, c := range commands() {
			if c.name == strings.Join(args[:words], " ") {
				return c, args[words:], true
			}
		}
	}
	return command{}, nil, false
}

// run parses the arguments and does the work. Flags are declared on each run, so
// that commands share no state.
func (c command) run(ctx context.Context, env *Env, args []string) error {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	// Package flag would print its own usage; report and help do.
	fs.SetOutput(io.Discard)
	do := c.setUp(fs)
	positional, err := parse(fs, args)
	if err != nil {
		return err
	}
	if want := len(strings.Fields(c.args)); len(positional) != want {
		return usagef("%d arguments given, %d wanted", len(positional), want)
	}
	return do(ctx, env, positional)
}

// parse reads flags and positional arguments in any order. Package flag stops at the first
// positional argument, so it is called again behind each.
func parse(fs *flag.FlagSet, args []string) (positional []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, misused(fs, err)
		}
		if fs.NArg() == 0 {
			return positional, nil
		}
		positional, args = append(positional, fs.Arg(0)), fs.Args()[1:]
	}
}

// usageError is a mistake in how the command was called; it ends with exitUsage.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// usagef returns a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// errFindings ends a command with status 1 and without a message: the command has
// printed everything itself.
var errFindings = errors.New("findings")

// report prints how a command ended and returns its exit status.
func report(env *Env, c command, err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, flag.ErrHelp):
		c.help(env.Out)
		return exitOK
	case errors.Is(err, errFindings):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(env.Err, "rail %s: %s\nSee rail %s --help.\n", c.name, err, c.name)
		return exitUsage
	default:
		fmt.Fprintf(env.Err, "rail %s: %s\n", c.name, err)
		return exitFailed
	}
}
