package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rail/server/problem"
)

// action runs a command, given its positional arguments.
type action func(ctx context.Context, env *Env, args []string) error

// command is one entry of the table. setUp declares the flags and returns the action; it must have no side
// effects, since the help declares flags as well.
type command struct {
	name     string // one or two words
	args     string // the positional arguments, for the help
	about    string
	setUp    func(fs *pflag.FlagSet) action
	more     func() string   // further help, or nil
	examples string          // a line each
	words    func() []string // completions of the argument, or nil
	lasting  bool            // runs until it is stopped, and so shows no progress
	pasted   bool            // prints lines to paste, so that no progress may be among them
	records  bool            // its messages become log records if the log is JSON
	hidden   bool            // internal, and not in the help
}

// group is a section of the help. families are the first words shared by several of its commands, with a
// description.
type group struct {
	title    string
	families map[string]string
	commands []command
}

// rootHelp is the end of the first help.
const rootHelp = `Rail runs affiliate programs behind a REST API.

Every command uses RAIL_DATABASE_URL and RAIL_DATA_DIR; rail serve --help lists all variables of the environment.
With --json a command prints {"data": …}, and an error as {"error": {"message": …}} on standard error.

Exit status: 0 for success; 1 if something failed, or audit, doctor or a check has findings; 2 for wrong usage.`

// tree returns the commands for cobra.
func tree(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use: "rail COMMAND", Long: rootHelp, Version: versionLine(), SilenceErrors: true, SilenceUsage: true,
		DisableFlagsInUseLine: true, Args: cobra.ArbitraryArgs, RunE: missing,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	// A family is not a command: its usage line asks for another word.
	root.SetUsageTemplate(strings.NewReplacer("\n  {{.CommandPath}} [command]", "", "{{.CommandPath}} [command] --help",
		"{{.CommandPath}} COMMAND --help").Replace(root.UsageTemplate()))
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SetFlagErrorFunc(misused)
	root.PersistentFlags().BoolVar(&env.json, "json", false, "print the result as JSON")
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			parent := root
			if family, _, two := strings.Cut(c.name, " "); two {
				parent = g.family(root, family)
			}
			child := c.cobra(env)
			if parent == root {
				child.GroupID = g.title
			}
			parent.AddCommand(child)
		}
	}
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID(develop)
	root.SetCompletionCommandGroupID(develop)
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		strict(completion)
	}
	return root
}

// strict makes cobra's completion refuse wrong usage as all commands do.
func strict(completion *cobra.Command) {
	completion.Args, completion.RunE = cobra.ArbitraryArgs, missing
	completion.Use, completion.Short = "completion SHELL", "Write a shell completion script"
	completion.DisableFlagsInUseLine = true
	for _, shell := range completion.Commands() {
		shell.Args, shell.DisableFlagsInUseLine = exactly(""), true
		shell.Short = "Write it for " + shell.Name()
	}
}

// exactly refuses a wrong number of arguments, and names the missing or extra ones. The last argument may be repeated if
// its name ends in dots, and left out if its name is in brackets.
func exactly(named string) cobra.PositionalArgs {
	wanted := strings.Fields(named)
	if strings.HasSuffix(named, "...") {
		return func(_ *cobra.Command, args []string) error {
			if len(args) < len(wanted) {
				return usagef("%s is missing", strings.TrimSuffix(wanted[len(wanted)-1], "..."))
			}
			return nil
		}
	}
	least := len(wanted)
	if strings.HasSuffix(named, "]") {
		least--
	}
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s is missing", strings.Join(wanted[len(args):], " and "))
		case len(args) > len(wanted) && len(wanted) == 0:
			return usagef("%s takes no arguments: %q is not expected", cmd.CommandPath(), args[0])
		case len(args) > len(wanted):
			return usagef("%s takes only %s: %q is not expected", cmd.CommandPath(), named, args[len(wanted)])
		}
		return nil
	}
}

// family returns the command of the first word shared by several commands. It may be a command itself, as
// restore is beside restore key.
func (g group) family(root *cobra.Command, name string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	c := &cobra.Command{
		Use: name + " COMMAND", Short: capital(g.families[name]), GroupID: g.title, DisableFlagsInUseLine: true,
		Args: cobra.ArbitraryArgs, RunE: missing,
	}
	root.AddCommand(c)
	return c
}

// cobra converts the command for cobra.
func (c command) cobra(env *Env) *cobra.Command {
	out := &cobra.Command{
		Use:   strings.TrimSpace(c.name[strings.LastIndex(c.name, " ")+1:] + " " + c.args),
		Short: capital(c.about), Long: capital(c.about) + ".", Example: indented(c.examples), Hidden: c.hidden,
	}
	if c.more != nil {
		out.Long += "\n\n" + strings.TrimSpace(c.more())
	}
	do := c.setUp(out.Flags())
	out.Args = exactly(c.args)
	out.RunE = func(cmd *cobra.Command, args []string) error {
		env.progress.say("%s is running", cmd.CommandPath())
		if c.records {
			env.record()
		}
		if c.showsProgress(env) {
			defer env.progress.start()()
		}
		return do(cmd.Context(), env, args)
	}
	out.ValidArgsFunction = cobra.NoFileCompletions
	if c.words != nil {
		out.ValidArgs, out.ValidArgsFunction = c.words(), nil
	}
	if strings.Contains(c.args, "FILE") {
		out.ValidArgsFunction = nil // the shell's own completion of files
	}
	return out
}

// showsProgress reports whether a command shows its progress. Lines to paste may be on the same terminal, or in the same
// file: beside them it is shown only on a terminal without them.
func (c command) showsProgress(env *Env) bool {
	if c.lasting || env.json || env.log != nil {
		return false
	}
	return !c.pasted || env.progress.onTerminal() && !env.Terminal
}

// capital capitalizes a description in the table.
func capital(about string) string { return strings.ToUpper(about[:1]) + about[1:] }

// indented indents lines by two columns, as the help does.
func indented(lines string) string {
	if lines == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n  ")
}

// missing reports an incomplete or unknown command name, with the existing commands or the closest one.
func missing(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		if asJSON, err := c.Flags().GetBool("json"); err != nil || !asJSON {
			fmt.Fprint(c.ErrOrStderr(), c.UsageString()+"\n")
		}
		return usagef("a COMMAND is missing")
	}
	var names []string
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	return usagef("there is no command %q%s", args[0], suggestion(c.CommandPath()+" ", args[0], names))
}

// suggestion returns a question with the known name closest to a mistyped one, or "".
func suggestion(before, name string, candidates []string) string {
	near := problem.Nearest(name, candidates)
	if near == "" {
		return ""
	}
	return "; did you mean " + before + near + "?"
}

// helpCommand returns `rail help`, which unlike cobra's own fails for an unknown command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command", DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return missing(about, rest)
			}
			return about.Help()
		},
	}
}
