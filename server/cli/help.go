package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"rail/server/problem"
)

// help answers `rail help [COMMAND]`. The first word of several commands, such as "key", lists
// them.
func help(env *Env, args []string) int {
	if len(args) == 0 || args[0] == "help" {
		overview(env.Out, "")
		return exitOK
	}
	if c, _, ok := find(args); ok {
		c.help(env.Out)
		return exitOK
	}
	if len(args) == 1 && overview(env.Out, args[0]) > 0 {
		return exitOK
	}
	return unknown(env, args)
}

// wantsHelp reports whether a word is a flag for help.
func wantsHelp(word string) bool { return word == "-h" || word == "-help" || word == "--help" }

// unknown answers a name that is no command: it lists the commands that begin with it, or names
// the nearest one. `rail key --help` is a question and succeeds.
func unknown(env *Env, args []string) int {
	if len(args) > 1 && wantsHelp(args[1]) && overview(env.Out, args[0]) > 0 {
		return exitOK
	}
	if len(args) == 1 && overview(env.Err, args[0]) > 0 {
		return exitUsage
	}
	name := strings.Join(args[:min(2, len(args))], " ")
	fmt.Fprintf(env.Err, "rail: there is no command %q%s. rail help lists them.\n", name,
		meant("rail ", name, commandNames()))
	return exitUsage
}

// commandNames returns the names of all commands.
func commandNames() []string {
	var out []string
	for _, c := range commands() {
		out = append(out, c.name)
	}
	return out
}

// meant returns a question for the known name that is nearest to a mistyped one,
// or "".
func meant(before, name string, known []string) string {
	near := problem.Nearest(name, known)
	if near == "" {
		return ""
	}
	return "; did you mean " + before + near + "?"
}

// overview lists the commands that begin with a word, or all, and returns how
// many there are.
func overview(w io.Writer, word string) int {
	var lines []string
	for _, c := range commands() {
		if word == "" || strings.HasPrefix(c.name, word+" ") {
			lines = append(lines, fmt.Sprintf("  rail %-28s %s\n", strings.TrimSpace(c.name+" "+c.args), c.about))
		}
	}
	if len(lines) == 0 {
		return 0
	}
	fmt.Fprintf(w, "Rail runs affiliate programs behind a REST API.\n\n%s\n", strings.Join(lines, ""))
	fmt.Fprintln(w, "rail help COMMAND tells more. rail serve --help lists the environment variables,")
	fmt.Fprintln(w, "of which every command heeds RAIL_DATABASE_URL and RAIL_DATA_DIR.")
	return len(lines)
}

// help prints the usage, the flags and what else there is to say. It declares the flags anew,
// as run does, and drops what is to be done with them.
func (c command) help(w io.Writer) {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.setUp(fs)
	usage := strings.TrimSpace(c.name + " " + c.args)
	flags := 0
	fs.VisitAll(func(*flag.Flag) { flags++ })
	if flags > 0 {
		usage += " [flags]"
	}
	// What a command does is written in the table without a capital, for the overview.
	fmt.Fprintf(w, "usage: rail %s\n\n%s%s.\n", usage, strings.ToUpper(c.about[:1]), c.about[1:])
	if flags > 0 {
		fmt.Fprint(w, "\nFlags:\n")
		fs.VisitAll(func(f *flag.Flag) { fmt.Fprint(w, flagLine(f)) })
	}
	if c.more != nil {
		fmt.Fprintf(w, "\n%s", c.more())
	}
}

// flagLine returns the help of one flag. A default that is the type's zero value is not
// mentioned.
func flagLine(f *flag.Flag) string {
	value, about := flag.UnquoteUsage(f)
	line := fmt.Sprintf("  --%-22s %s", strings.TrimSpace(f.Name+" "+value), about)
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
		line += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	return line + "\n"
}
