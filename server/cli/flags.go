package cli

import (
	"flag"
	"strings"

	"rail/server/config"
)

// plainer rewrites the messages of package flag: two hyphens, and what a number
// must be.
var plainer = strings.NewReplacer(" for flag -", " for --", " for -", " for --", "boolean ", "",
	"parse error", "it must be a number", "value out of range", "the number is too large")

// misused returns the usage error for an argument that package flag has refused,
// with the flag that was probably meant.
func misused(fs *flag.FlagSet, err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		var known []string
		fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
		return usagef("there is no flag --%s%s", name, meant("--", name, known))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return usagef("--%s needs a value", name)
	}
	return usagef("%s", plainer.Replace(text))
}

// toggled is a flag that is on or off, in the same words as the variables of the
// environment.
type toggled bool

func (t *toggled) String() string {
	if t == nil || !bool(*t) {
		return "false"
	}
	return "true"
}

// IsBoolFlag lets the flag stand without a value.
func (t *toggled) IsBoolFlag() bool { return true }

// Set turns the flag on or off.
func (t *toggled) Set(v string) error {
	on, err := config.Switch(v)
	*t = toggled(on)
	return err
}

// toggle declares a flag that is off unless it is given.
func toggle(fs *flag.FlagSet, name, about string) *bool {
	on := new(bool)
	fs.Var((*toggled)(on), name, about)
	return on
}

// list is a flag that may be repeated and takes commas.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Set adds the values of one flag.
func (l *list) Set(v string) error {
	for s := range strings.SplitSeq(v, ",") {
		if s = strings.TrimSpace(s); s != "" {
			*l = append(*l, s)
		}
	}
	return nil
}

// given returns which flags were set, whatever their values.
func given(fs *flag.FlagSet) map[string]bool {
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	return set
}
