package cli

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rail/server/app/config"
)

// misused returns the usage error for an argument that package pflag has refused,
// with the flag that was probably meant.
func misused(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		name := unknown.GetSpecifiedName()
		return usagef("there is no flag --%s%s", name, meant("--", name, known))
	case errors.As(err, &bare):
		return usagef("--%s needs a value", bare.GetSpecifiedName())
	case errors.As(err, &wrong):
		return usagef("--%s is %q: %s", wrong.GetFlag().Name, wrong.GetValue(), cause(wrong))
	}
	return usagef("%s", err)
}

// cause says what a value must be, in words of Rail's own where it is no number.
func cause(wrong *pflag.InvalidValueError) string {
	switch err := errors.Unwrap(wrong); {
	case errors.Is(err, strconv.ErrSyntax):
		return "it must be a number"
	case errors.Is(err, strconv.ErrRange):
		return "the number is too large"
	default:
		return err.Error()
	}
}

// toggled is a flag that is on or off, in the same words as the variables of the
// environment.
type toggled bool

func (t *toggled) String() string { return strconv.FormatBool(bool(*t)) }

// Type is bool, so that the help shows no value.
func (t *toggled) Type() string { return "bool" }

// Set turns the flag on or off.
func (t *toggled) Set(v string) error {
	on, err := config.Switch(v)
	*t = toggled(on)
	return err
}

// toggle declares a flag that is off unless it is given, with or without a value.
func toggle(fs *pflag.FlagSet, name, about string) *bool {
	on := new(bool)
	fs.VarPF((*toggled)(on), name, "", about).NoOptDefVal = "true"
	return on
}

// list is a flag that may be repeated and takes commas.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Type is what the help shows where the flag names no value.
func (l *list) Type() string { return "list" }

// Set adds the values of one flag.
func (l *list) Set(v string) error {
	for s := range strings.SplitSeq(v, ",") {
		if s = strings.TrimSpace(s); s != "" {
			*l = append(*l, s)
		}
	}
	return nil
}

// checkWeb refuses what is no address of a server, which the flag or argument what gave. A path alone, or an address
// without its scheme, would fail later with a message about neither.
func checkWeb(what, address string) error {
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usagef("%s must be an http:// or https:// address", what)
	}
	return nil
}

// given returns which flags were set, whatever their values; --json, which every command has, is left out.
func given(fs *pflag.FlagSet) map[string]bool {
	set := map[string]bool{}
	fs.Visit(func(f *pflag.Flag) {
		if f.Name != "json" {
			set[f.Name] = true
		}
	})
	return set
}
