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

// misused returns the usage error for an argument that pflag refused, and suggests the closest flag.
func misused(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		return usagef("there is no flag --%s%s", name, suggestion("--", name, names))
	case errors.As(err, &bare):
		return usagef("--%s needs a value", bare.GetSpecifiedName())
	case errors.As(err, &wrong):
		return usagef("--%s is %q: %s", wrong.GetFlag().Name, wrong.GetValue(), cause(wrong))
	}
	return usagef("%s", err)
}

// cause returns the requirement of a value, in Rail's own words unless it is a number.
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

// toggled is a boolean flag with the same values as the environment's variables.
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

// toggle declares a flag that is off by default, and may be given with or without a value.
func toggle(fs *pflag.FlagSet, name, about string) *bool {
	on := new(bool)
	fs.VarPF((*toggled)(on), name, "", about).NoOptDefVal = "true"
	return on
}

// list is a flag that may be repeated and accepts commas.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Type is shown in the help unless the flag names its value.
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

// checkWeb refuses a value that is not a server's address; what is the flag or argument with it. A path alone,
// or an address without a scheme, would fail later with a misleading message.
func checkWeb(what, address string) error {
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usagef("%s must be an http:// or https:// address", what)
	}
	return nil
}

// setFlags returns which flags were set, whatever their values, except --json, which every command has.
func setFlags(fs *pflag.FlagSet) map[string]bool {
	set := map[string]bool{}
	fs.Visit(func(f *pflag.Flag) {
		if f.Name != "json" {
			set[f.Name] = true
		}
	})
	return set
}
